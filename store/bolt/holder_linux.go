package bolt

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// locked is the error of a file that another program holds, naming that program where it can be found.
func locked(f *os.File) error {
	who := holder(f)
	if who == "" {
		who = "another program"
	}
	return of(ErrLocked, "it is in use: %s holds its lock: stop that one first, or name another path", who)
}

// holder finds who holds a lock on f among the kernel's locks.
func holder(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || !ok {
		return ""
	}
	for pid := range pidsOf(locks, st.Ino) {
		// The inode's number is unique on its device alone: the process must have this very file open.
		if hasOpen(pid, info) {
			return describe(pid)
		}
	}
	return ""
}

// pidsOf are the processes that /proc/locks names for an inode:
//
//	1: FLOCK  ADVISORY  WRITE 4711 08:01:131090 0 EOF
func pidsOf(locks []byte, inode uint64) map[string]bool {
	pids, suffix := map[string]bool{}, fmt.Sprintf(":%d", inode)
	for line := range strings.Lines(string(locks)) {
		if f := strings.Fields(line); len(f) >= 6 && f[1] == "FLOCK" && strings.HasSuffix(f[5], suffix) {
			pids[f[4]] = true
		}
	}
	return pids
}

func hasOpen(pid string, info os.FileInfo) bool {
	fds, err := filepath.Glob(filepath.Join("/proc", pid, "fd", "*"))
	if err != nil || len(fds) == 0 {
		return true // not ours to read: believe the list
	}
	for _, fd := range fds {
		if other, err := os.Stat(fd); err == nil && os.SameFile(other, info) {
			return true
		}
	}
	return false
}

func describe(pid string) string {
	raw, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	words := strings.Fields(string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '})))
	if err != nil || len(words) == 0 {
		return "process " + pid
	}
	name := filepath.Base(words[0])
	if len(words) > 1 && !strings.HasPrefix(words[1], "-") { // a flag's value may be secret
		name += " " + words[1]
	}
	return fmt.Sprintf("%q (process %s)", name, pid)
}
