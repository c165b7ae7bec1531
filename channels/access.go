package channels

import (
	"context"
	"fmt"
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

// Aliases is implemented by adapters whose people may be written in a configuration in more than one way:
// Canonical returns the id that they give to messages, or who itself.
type Aliases interface {
	Canonical(who core.PersonID) core.PersonID
}

// Outsiders is implemented by adapters whose rooms also reach people of other organisations, and guests: an
// outsider is let in only where the list names them, whether or not the channel is public. An error says that
// the platform could not be asked now.
type Outsiders interface {
	Outsider(ctx context.Context, who core.PersonID) (bool, error)
}

// lets reports whether who is let in by this channel's adapter and list.
func (p *port) lets(ctx context.Context, who core.PersonID) (bool, error) {
	switch {
	case who != "" && p.listed(who):
		return true, nil
	case !p.Access.Allows(who):
		return false, nil
	}
	o, ok := p.Adapter.(Outsiders)
	if !ok {
		return true, nil
	}
	outside, err := o.Outsider(ctx, who)
	if err != nil {
		return false, fmt.Errorf("channel %s: is %s let in: %w", p.name, who, err)
	}
	return !outside, nil
}

func (p *port) listed(who core.PersonID) bool {
	alias, ok := p.Adapter.(Aliases)
	return slices.ContainsFunc(p.Access.Allow, func(one core.PersonID) bool {
		return one == who || ok && alias.Canonical(one) == who
	})
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
