package channels

import (
	"testing"
	"time"

	"parley/core"
)

// A row that a process before this one wrote, or whose last attempt had no clear answer, may stand there.
func TestTargetSaysWhatMayStandThere(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	d := &delivery{started: start}
	c := core.NewConversation("ops", "x", "1")
	for _, r := range []struct {
		row  core.Out
		want bool
	}{
		{core.Out{Conversation: c, CreatedAt: start.Add(time.Second)}, false},
		{core.Out{Conversation: c, CreatedAt: start.Add(time.Second), Tries: 3}, false},
		{core.Out{Conversation: c, CreatedAt: start.Add(time.Second), Unsure: 1}, true},
		{core.Out{Conversation: c, CreatedAt: start.Add(-time.Second)}, true},
		{core.Out{Conversation: c, CreatedAt: start.Add(-time.Second), Parts: []string{"m1"}}, true},
	} {
		to := d.targetOf(r.row, 1)
		if to.Since.IsZero() == r.want || r.want && !to.Since.Equal(r.row.CreatedAt) {
			t.Errorf("%+v: since %v", r.row, to.Since)
		}
	}
}
