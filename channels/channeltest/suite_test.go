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
	for name, c := range map[string]struct {
		dialect render.Dialect
		cells   int
	}{
		"rich":  {render.Dialect{Name: "rich", Edits: true, Buttons: true, Slash: true}, 25},
		"plain": {render.Dialect{Name: "plain"}, 23},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channeltest.Suite(t, c.cells, func(t testing.TB) channeltest.Platform { return channeltest.NewMemory(t, c.dialect) })
		})
	}
}
