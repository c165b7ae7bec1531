package discord

import (
	"sync"

	"parley/core"
)

// maxNames bounds what is remembered of people.
const maxNames = 4096

// names are the user names of people who were met. They are for showing.
type names struct {
	mu sync.Mutex
	m  map[core.PersonID]string
}

func (n *names) learn(u *user) {
	if u == nil || u.ID == 0 || u.Name == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.m == nil || len(n.m) >= maxNames {
		n.m = map[core.PersonID]string{}
	}
	n.m[personID(u.ID)] = "@" + u.Name
}

func (n *names) of(who core.PersonID) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.m[who]
}
