package telegram

import (
	"testing"

	"parley/core"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for who, want := range map[core.PersonID]core.Place{"telegram:42": "42", "telegram:-42": "", "telegram:ana": "", "slack:U1": "", "": ""} {
		got, err := (*Adapter)(nil).Find(t.Context(), who)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is found at %q, %v, want %q", who, got, err, want)
		}
	}
}
