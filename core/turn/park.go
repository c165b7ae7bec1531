package turn

import (
	"errors"
	"time"
)

// errParked ends a pass over a run whose tree has an agent that is not configured.
var errParked = errors.New("parked: an agent is gone")

// parkWait is how long a run is left alone that waits for an agent to be configured again.
const parkWait = 10 * time.Second

// park leaves the run with all that was answered: an agent that works below it is gone, and may come back.
func (d *driver) park() (again bool, err error) {
	err = d.commit(abortableThen(func(a *act) error {
		return errors.Join(d.flushBelow(a), a.release(a.now.Add(parkWait)))
	}))
	if errors.Is(err, errAborted) {
		return d.cancelled()
	}
	return false, err
}

// save records what ended before the engine was told to stop.
func (d *driver) save() error {
	unsaved := d.unsaved()
	for _, b := range d.below {
		unsaved = unsaved || b.unsaved()
	}
	if !unsaved {
		return nil
	}
	return d.commit(d.flushBelow)
}
