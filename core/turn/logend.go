package turn

import (
	"context"
	"fmt"
)

// LastEvent is the number of the newest event of the log, 0 where it is empty: who follows the log from now
// on begins after it.
func (e *Engine) LastEvent(ctx context.Context) (uint64, error) {
	seq, err := lastWhere(func(after uint64) (bool, error) {
		evs, err := e.store.Events(ctx, "", after, 1)
		return len(evs) > 0, err
	})
	if err != nil {
		return 0, fmt.Errorf("find the end of the log: %w", err)
	}
	return seq, nil
}

// lastWhere is the greatest number that something stands at, by halving: a log is read forwards only, and may
// be long. more reports whether something stands after a number.
func lastWhere(more func(after uint64) (bool, error)) (uint64, error) {
	low, high := uint64(0), uint64(1)
	for { // until nothing stands after high
		yes, err := more(high)
		if err != nil {
			return 0, err
		}
		if !yes {
			break
		}
		low, high = high+1, high*2
	}
	for low < high {
		mid := low + (high-low)/2
		yes, err := more(mid)
		if err != nil {
			return 0, err
		}
		if yes {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low > 1 {
		return low, nil
	}
	yes, err := more(0) // 1 stands for an empty log too
	if !yes {
		return 0, err
	}
	return low, err
}
