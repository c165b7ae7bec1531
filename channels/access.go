package channels

import (
	"slices"
	"sync"

	"parley/core"
)

// Access says who may talk to the agent of a channel. The zero value lets nobody in. Someone who may answer
// but is not listed here is refused too: whoever builds the list adds the approvers.
type Access struct {
	Allow  []core.PersonID
	Public bool
}

// Allows reports whether who is let in. An empty person never is.
func (a Access) Allows(who core.PersonID) bool {
	return who != "" && (a.Public || slices.Contains(a.Allow, who))
}

// maxTold bounds the memory that strangers can take; those beyond it are refused in silence.
const maxTold = 4096

// told keeps who was told that they are refused. It lives in memory: nothing a stranger sends is stored, so
// the line comes once a process, not once for ever.
type told struct {
	mu sync.Mutex
	m  map[core.PersonID]bool
}

// first reports whether who has not been told yet, and remembers them.
func (t *told) first(who core.PersonID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m[who] || len(t.m) >= maxTold {
		return false
	}
	if t.m == nil {
		t.m = map[core.PersonID]bool{}
	}
	t.m[who] = true
	return true
}
