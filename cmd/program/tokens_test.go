package program

import (
	"slices"
	"testing"

	"parley/core"
)

// TestWhomATokenSpeaksFor: an MCP client acts as itself only where its token lists it, and that counts at no other door.
func TestWhomATokenSpeaksFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		list   []string
		person core.PersonID
		itself bool
		people []string
	}{
		{nil, "", false, nil},
		{[]string{"slack:U1"}, "slack:U1", false, []string{"slack:U1"}},
		{[]string{"slack:*"}, "", false, []string{"slack:*"}},
		{[]string{"slack:U1", "slack:U2"}, "", false, []string{"slack:U1", "slack:U2"}},
		{[]string{"mcp:dev"}, "", true, nil},
		{[]string{"mcp:*"}, "", true, nil},
		{[]string{"mcp:other"}, "", false, nil},
		{[]string{"slack:U1", "mcp:dev"}, "", true, []string{"slack:U1"}},
	} {
		c := TokenConfig{Name: "dev", SpeaksFor: tt.list}
		if c.person() != tt.person || c.itself() != tt.itself || !slices.Equal(c.people(), tt.people) {
			t.Errorf("%q: person %q, itself %v, people %q", tt.list, c.person(), c.itself(), c.people())
		}
	}
}
