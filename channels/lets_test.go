package channels

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/core"
)

// towns is an adapter whose people are written "x:name" or "x:town/name"; home is its town.
type towns struct{ Adapter }

func (towns) Canonical(who core.PersonID) core.PersonID {
	if id, ok := strings.CutPrefix(string(who), "x:"); ok && !strings.Contains(id, "/") {
		return core.PersonID("x:home/" + id)
	}
	return who
}

func (towns) Outsider(_ context.Context, who core.PersonID) (bool, error) {
	if who == "x:home/unknown" {
		return false, errors.New("nobody answers")
	}
	return !strings.HasPrefix(string(who), "x:home/"), nil
}

// AU-10: an outsider is let in only by name, in a public channel too; identity includes the town.
func TestOutsidersAreLetInByNameOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		access Access
		who    core.PersonID
		want   bool
	}{
		{Access{Public: true}, "x:home/ana", true},
		{Access{Public: true}, "x:away/ana", false},
		{Access{Public: true, Allow: []core.PersonID{"x:away/ana"}}, "x:away/ana", true},
		{Access{Allow: []core.PersonID{"x:ana"}}, "x:home/ana", true},
		{Access{Allow: []core.PersonID{"x:ana"}}, "x:away/ana", false},
		{Access{Allow: []core.PersonID{"x:ana"}}, "x:home/ben", false},
		{Access{Public: true}, "", false},
	} {
		p := &port{Channel: Channel{Adapter: towns{}, Access: c.access}}
		if got, err := p.lets(t.Context(), c.who); got != c.want || err != nil {
			t.Errorf("%+v lets %q: %v, want %v (%v)", c.access, c.who, got, c.want, err)
		}
	}
	p := &port{Channel: Channel{Adapter: towns{}, Access: Access{Public: true}}}
	if ok, err := p.lets(t.Context(), "x:home/unknown"); ok || err == nil {
		t.Error("somebody is let in of whom nothing is known")
	}
	p.Access.Allow = []core.PersonID{"x:unknown"}
	if ok, err := p.lets(t.Context(), "x:home/unknown"); !ok || err != nil {
		t.Errorf("somebody on the list waits for the platform: %v", err)
	}
}
