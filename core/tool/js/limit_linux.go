package js

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// limit bounds this process: more bytes of address space than it has now, no file written, no core. What
// the runtime has reserved by now is not memory in use, and cannot be given back.
func limit(more uint64) error {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(b), &pages); err != nil {
		return err
	}
	var errs []error
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_AS:    pages*uint64(os.Getpagesize()) + more,
		syscall.RLIMIT_FSIZE: 0,
		syscall.RLIMIT_CORE:  0,
	} {
		errs = append(errs, syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}))
	}
	return errors.Join(errs...)
}
