package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"parley/core/tool"
)

// effects is a file that gets one JSON line each time a tool of the demo really runs: the proof of what was
// done, kept apart from the store that says what should have been.
type effects struct {
	path string
	now  func() time.Time
	mu   sync.Mutex
}

// effect is one line. Key is the call's idempotency key: a key that stands there twice is a call that ran twice.
type effect struct {
	Tool      string    `json:"tool"`
	Arguments any       `json:"arguments"`
	Key       string    `json:"key"`
	At        time.Time `json:"at"`
}

// record appends one line in a single write and waits until it is on the disk. An error before the write
// wraps tool.ErrNotStarted; after it nobody can tell, which is tool.ErrUnknownOutcome.
func (e *effects) record(name string, arguments any, key string) error {
	line, err := json.Marshal(effect{Tool: name, Arguments: arguments, Key: key, At: e.now().UTC()})
	if err != nil {
		return fmt.Errorf("record %s: %w: %w", name, tool.ErrNotStarted, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f, err := os.OpenFile(e.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("record %s: %w: %w", name, tool.ErrNotStarted, err)
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
		if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
			err = nil // a pipe or a device has nothing to sync
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("record %s: %w: %w", name, tool.ErrUnknownOutcome, err)
	}
	return nil
}
