//go:build !linux

package bolt

import (
	"fmt"
	"os"
)

// locked is the error of a file that another program holds.
func locked(*os.File) error {
	return fmt.Errorf("another program holds its lock: stop that one first, or name another path: %w", ErrLocked)
}
