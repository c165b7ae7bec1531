package mcp_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/turn"
)

// What was edited while the client asked is not approved by what it showed: it is asked again with what is now.
func TestAnEditedCallIsAskedAgain(t *testing.T) {
	t.Parallel()
	generations(t, func(t *testing.T, version string) {
		w := newWorld(t)
		var asked []string
		s := w.dial("bound", version, func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if asked = append(asked, r.Params.Message); len(asked) > 1 {
				return yes(), nil
			}
			s := turn.Settlement{Input: w.input().ID, From: ana, Via: "chat", Typed: "edit name=production", Step: -1}
			if _, err := w.e.Settle(ctx, s); err != nil {
				t.Error(err)
			}
			return yes(), nil
		})
		text, o := w.send(s, "db__drop")
		if len(asked) != 2 || strings.Contains(asked[0], "production") || !strings.Contains(asked[1], "production") || !strings.Contains(asked[1], w.input().Hash) {
			t.Errorf("asked %q", asked)
		}
		if o.Status != core.RunCompleted || !slices.Equal(w.effects(), []string{"drop production for api:ana"}) {
			t.Errorf("%q %+v; ran %q", text, o, w.effects())
		}
	})
}
