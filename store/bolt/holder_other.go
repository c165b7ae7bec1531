//go:build !linux

package bolt

import (
	"os"
)

// locked is the error of a file that another program holds.
func locked(*os.File) error {
	return of(ErrLocked, "it is in use: another program holds its lock: stop that one first, or name another path")
}
