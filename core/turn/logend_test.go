package turn

import (
	"errors"
	"testing"
)

func TestLastWhere(t *testing.T) {
	t.Parallel()
	for _, last := range []uint64{0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 1023, 1024, 1025, 1<<40 + 12345} {
		looks := 0
		got, err := lastWhere(func(after uint64) (bool, error) { looks++; return after < last, nil })
		if err != nil || got != last || looks > 100 {
			t.Errorf("%d: got %d, %v after %d looks", last, got, err, looks)
		}
	}
	broken := errors.New("broken")
	if _, err := lastWhere(func(after uint64) (bool, error) { return true, map[bool]error{true: broken}[after > 6] }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
