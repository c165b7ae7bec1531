package bolt

import (
	"os"
	"sync"
)

// registry holds the files this process has open to write or read: a file lock does not tell two
// openings of one process apart on every system, and the other one may stand behind a symbolic link.
var registry struct {
	sync.Mutex
	open []registered
}

type registered struct {
	info     os.FileInfo
	path     string
	readOnly bool
}

// enter refuses a file that is open already, unless all only read it.
func enter(path string, info os.FileInfo, readOnly bool) error {
	registry.Lock()
	defer registry.Unlock()
	for _, r := range registry.open {
		if os.SameFile(r.info, info) && !(readOnly && r.readOnly) {
			return of(ErrLocked, "it is in use: this program has the same file open as %s: give each store a file of its own", r.path)
		}
	}
	registry.open = append(registry.open, registered{info: info, path: path, readOnly: readOnly})
	return nil
}

func leave(info os.FileInfo) {
	registry.Lock()
	defer registry.Unlock()
	for i, r := range registry.open {
		if os.SameFile(r.info, info) {
			registry.open = append(registry.open[:i], registry.open[i+1:]...)
			return
		}
	}
}
