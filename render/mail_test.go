package render

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/core"
	"parley/core/coretest"
)

// Mail addresses are shown as they can be copied, in replies and in the last look at a form; mentions are not.
func TestMailAddressesCanBeCopied(t *testing.T) {
	t.Parallel()
	in := coretest.Input("form-string")
	in.Schema = json.RawMessage(`{"type":"object","properties":{"email":{"type":"string","format":"email"},"role":{"type":"string"}}}`)
	in.Draft = core.Draft{Step: 2, Review: true, Fields: map[string]core.Field{"email": {Value: json.RawMessage(`"ana@example.com"`)}, "role": {Value: json.RawMessage(`"@ana"`)}}}
	for _, d := range TestDialects() {
		for where, parts := range map[string][]Part{
			"reply": Reply(view(d), "Write to ana@example.com, **ana@example.com** or (ana@example.com)."), "form": Prompt(view(d), in),
		} {
			for _, p := range parts {
				for _, text := range []string{p.Text, p.Plain} {
					if !strings.Contains(text, "ana@example.com") || strings.Contains(text, "ana@"+joiner) {
						t.Errorf("%s, %s: %q", d.Name, where, text)
					}
				}
			}
		}
	}
	for said, want := range map[string]bool{
		"ana@example.com": true, "a.b+c@mail.example.co.uk!": true, "x (1@b.de)": true, "@ana": false, "x @ana.com": false, "ana@example": false, "ana@b.c": false,
		"x@everyone.com": false, "x@here.org": false, "x@example.com@bob": false, "x@exa_mple.com": false, "x@-a.com": false, "x@a.comé": false, "_@ana.com": false, "https://a.example@evil.example": false, "(http://u:p@evil.example": false, "mailto:ana@b.de": true,
	} {
		if got := mailAt(said, strings.IndexByte(said, '@')); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}
