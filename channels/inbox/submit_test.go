package inbox

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/coretest"
)

// FuzzSubmission: whatever body comes, what is made of it is an answer that the engine can judge, and nothing is
// accepted that does not say so.
func FuzzSubmission(f *testing.F) {
	for _, body := range []string{
		"action=accept", "action=accept&q0=o0&q1=o1&q1=text&q1t=x&q2=none", "action=accept&f0=1&f1=true&f2=o0&f3=2026-12-24T18%3A30&f4=%0d%0a", "action=decline&reason=no", "action=skip", "f0=07&q0t=+",
		"action=accept&f0=-0.50e%2B07&f1=o99&q0=o99", "action=ACCEPT", "a;b", "%",
	} {
		f.Add(body)
	}
	inputs := coretest.Inputs()
	f.Fuzz(func(t *testing.T, body string) {
		form, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		for _, in := range inputs {
			s, bad := submission(in, form)
			if s.Content != nil && !json.Valid(s.Content) {
				t.Fatalf("%s: content %s", in.ID, s.Content)
			}
			if (s.Content != nil || len(bad) > 0) && form.Get("action") != "accept" {
				t.Fatalf("%s: %+v without being accepted", in.ID, s)
			}
			if ans, err := core.Resolve(in, s); err == nil && ans.Action == core.ActionAccept && form.Get("action") != "accept" {
				t.Fatalf("%s: accepted by %q", in.ID, body)
			}
			controls(in, form)
		}
	})
}

// TestEveryFixtureHasItsControls: as the page has it when it opens, each with a name of its own.
func TestEveryFixtureHasItsControls(t *testing.T) {
	t.Parallel()
	for _, in := range coretest.Inputs() {
		form, _ := core.ParseForm(in.Schema)
		names := map[string]bool{}
		all := controls(in, nil)
		for _, c := range all {
			if names[c.Name] || names[c.ID] || c.Label == "" {
				t.Errorf("%s: control %+v", in.ID, c)
			}
			names[c.Name], names[c.ID] = true, true
			if strings.ContainsAny(c.Label+c.Help, "\u202e\u200b\u2066") {
				t.Errorf("%s: %q is not all seen", in.ID, c.Label)
			}
		}
		if want := len(in.Questions) + len(form.Fields); len(all) != want {
			t.Errorf("%s: %d controls, want %d", in.ID, len(all), want)
		}
	}
}

// TestHandingInWhatIsThere: a set whose questions all have defaults is handed in as it stands, and counts as that.
func TestHandingInWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, q := range []core.Question{
		{Options: two, Defaults: []string{"b"}}, {Options: two, Multi: true, Defaults: []string{"a", "b"}}, {Options: two, Multi: true, Defaults: []string{}}, {Options: two, Defaults: []string{}},
		{FreeText: true, Defaults: []string{"as it is"}}, {Options: two, FreeText: true, Defaults: []string{"as it is"}}, {Options: two, FreeText: true, Multi: true, Defaults: []string{"as it is", "a"}},
	} {
		q.ID, q.Prompt = "q", "Which?"
		in := core.Input{Kind: core.KindQuestion, State: core.InputPending, Questions: []core.Question{q}}
		form := url.Values{"action": {"accept"}}
		for _, c := range controls(in, nil) {
			for _, o := range c.Options {
				if o.Checked {
					form.Add(c.Name, o.Value)
				}
			}
			if c.Text != nil {
				form.Set(c.Text.Name, c.Text.Value)
			}
			if c.Type == "textarea" {
				form.Set(c.Name, c.Value)
			}
		}
		s, bad := submission(in, form)
		ans, err := core.Resolve(in, s)
		if len(bad) > 0 || err != nil || !ans.Choices[0].Defaulted {
			t.Errorf("%+v: %s, %v, %v: %+v", q, s.Content, bad, err, ans)
		}
	}
}

var two = []core.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 1500 * time.Millisecond: "1.5 s", 70 * time.Second: "70 s", 90 * time.Minute: "90 min", 26*time.Hour + 5*time.Minute: "26 h 5 min", 80 * time.Hour: "3 days",
	} {
		if got := lasting(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// TestTypedSecretsStayHidden: where a secret was asked for a reply may be one.
func TestTypedSecretsStayHidden(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``: "hunter2", `{"type":"object","properties":{"a":{"type":"string"}}}`: "hunter2", `{"type":"object","properties":{"password":{"type":"string"}}}`: "masked, since a secret was asked for",
		`{"type":"object","properties":{"a":{"type":"string","writeOnly":true},"b":{"type":"string"}}}`: "masked, since a secret was asked for", `broken`: "masked, since a secret was asked for",
	} {
		if got := typed(core.Input{Kind: core.KindForm, Schema: json.RawMessage(schema)}, "hunter2"); got != want {
			t.Errorf("%s: %q", schema, got)
		}
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8484": true, "127.0.0.1:8484": true, "127.9.9.9": true, "[::1]:8484": true, "[::1]": true, "": false, "bot.example.com": false, "localhost.example.com": false,
		"127.0.0.1.example.com": false, "10.0.0.1:80": false, "localhost@evil": false,
	} {
		if loopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
