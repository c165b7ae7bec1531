package render

import (
	"strings"
	"testing"

	"parley/core"
	"parley/core/coretest"
)

// Where others read along, nothing but the private message holds the address.
func TestLinkApart(t *testing.T) {
	t.Parallel()
	in := coretest.Input("url")
	in.Message = "Open " + in.URL + " please."
	ended := coretest.Ended(in, core.InputSuperseded, nil)
	for _, d := range TestDialects() {
		v := view(d)
		v.Shared, v.Apart = true, true
		note := NoteData{Code: core.NoteSuperseded, Inputs: []core.Input{ended}}
		for where, parts := range map[string][]Part{"prompt": Prompt(v, in), "closed": Closed(v, ended, nil), "note": Note(v, note)} {
			if s := dump(parts); strings.Contains(s, "/connect") || !strings.Contains(PlainText(parts), "accounts.example.com") {
				t.Errorf("%s, %s: want the host alone:\n%s", d.Name, where, s)
			}
		}
		link := Link(view(d), in)
		if len(link) != 1 || !strings.Contains(link[0].Plain, in.URL) {
			t.Errorf("%s: the link is %s", d.Name, dump(link))
		}
		if d.Buttons != (len(link[0].Buttons) == 1 && link[0].Buttons[0].URL == in.URL) {
			t.Errorf("%s: buttons %+v", d.Name, link[0].Buttons)
		}
		v.Apart = false
		if !strings.Contains(dump(Prompt(v, in)), in.URL) {
			t.Errorf("%s: a link that could not go apart is not shown", d.Name)
		}
	}
}
