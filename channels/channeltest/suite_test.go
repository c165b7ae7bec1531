package channeltest_test

import (
	"testing"

	"go.uber.org/goleak"

	"parley/channels/channeltest"
	"parley/render"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The reference platform carries every scenario, with and without edits and buttons.
func TestMemory(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]render.Dialect{
		"rich":  {Name: "rich", Edits: true, Buttons: true, Slash: true},
		"plain": {Name: "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channeltest.Suite(t, func(t testing.TB) channeltest.Platform { return channeltest.NewMemory(t, d) })
		})
	}
}
