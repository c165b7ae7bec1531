//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package bolt

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// lock takes the file's lock, the same that bbolt takes again on the same file right after.
func lock(f *os.File, exclusive bool, timeout time.Duration) error {
	how := syscall.LOCK_SH | syscall.LOCK_NB
	if exclusive {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	const pause = 25 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for waited := time.Duration(0); ; waited += pause {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return err
		case waited >= timeout:
			return locked(f)
		}
		<-tick.C
	}
}

// unlock gives the lock back: a mapping that bbolt left behind would keep it although the file is closed.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
