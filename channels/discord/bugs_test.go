package discord

import (
	"strings"
	"testing"

	"parley/channels/discord/discordtest"
	"parley/core/coretest"
	"parley/render"
)

// The names of these tests are those of the bugs in other programs that they hold off.

func TestRE09RefusedMarksLeaveTheValueAsItIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		in := coretest.Input("approval")
		in.Arguments = []byte(`{"path":"a_b-c.txt"}`)
		parts := render.Prompt(render.View{Dialect: r.a.Dialect(), Agent: "Ops"}, in)
		last := parts[len(parts)-1]
		r.send(r.dm, render.Part{Text: last.Plain, Plain: last.Plain}) // as the Hub does after a refusal
		if m := r.srv.Sent(r.dm)[0]; !strings.Contains(unescape(m.Content), `"path": "a_b-c.txt"`) {
			t.Errorf("shown:\n%s", m.Content)
		}
	})
}

func TestUR03ALinkHasNoPreview(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		in := coretest.Input("url")
		for _, part := range append(render.Prompt(render.View{Dialect: r.a.Dialect()}, in), render.Link(render.View{Dialect: r.a.Dialect()}, in)...) {
			sent, err := r.a.Send(t.Context(), to(r.dm), part)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.a.Edit(t.Context(), to(r.dm), sent.Message, part); err != nil {
				t.Fatal(err)
			}
		}
		calls := append(r.srv.Calls(discordtest.RouteSend), r.srv.Calls(discordtest.RouteEdit)...)
		for _, c := range calls {
			if !strings.Contains(c.Body, `"flags":4`) || !strings.Contains(c.Body, in.URL[:20]) {
				t.Errorf("%s: %s", c.Route, c.Body)
			}
		}
		if len(calls) < 4 {
			t.Errorf("%d calls", len(calls))
		}
	})
}
