package slack

import (
	"strings"
	"testing"

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
		r.send(dm, render.Part{Text: last.Plain, Plain: last.Plain}) // as the Hub does after a refusal
		m := r.srv.Sent(dm)[0]
		if !strings.Contains(m.Text, `"path": "a_b-c.txt"`) || m.Mrkdwn {
			t.Errorf("marks %v in\n%s", m.Mrkdwn, m.Text)
		}
	})
}

func TestUR03ALinkHasNoPreview(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		in := coretest.Input("url")
		for _, part := range append(render.Prompt(render.View{Dialect: r.a.Dialect()}, in), render.Link(render.View{Dialect: r.a.Dialect()}, in)...) {
			sent := r.send(dm, part)
			if err := r.a.Edit(t.Context(), to(dm), sent.Message, part); err != nil {
				t.Fatal(err)
			}
		}
		calls := append(r.srv.Calls("chat.postMessage"), r.srv.Calls("chat.update")...)
		for _, c := range calls {
			if c.Params["unfurl_links"] != "false" || c.Params["unfurl_media"] != "false" || !strings.Contains(c.Params["text"], in.URL[:20]) {
				t.Errorf("%s: %v", c.Method, c.Params)
			}
		}
		if len(calls) < 4 {
			t.Errorf("%d calls", len(calls))
		}
	})
}
