package parse

import (
	"fmt"
	"strings"
	"testing"

	"parley/core"
)

// parts is a reading in one word, with the answers of several lines joined by " + ".
func parts(got core.Reading) string {
	if len(got.Parts) == 0 {
		if got.Kind == core.ReadCommand {
			return strings.TrimSpace(fmt.Sprint(got.Verb, " ", strings.Repeat("#", got.N)))
		}
		return outcome(got)
	}
	var out []string
	for _, p := range got.Parts {
		out = append(out, outcome(core.Reading{Kind: core.ReadAnswer, Part: &p}))
	}
	return strings.Join(out, " + ")
}

func three() core.Input {
	opt := func(labels ...string) (out []core.Option) {
		for _, l := range labels {
			out = append(out, core.Option{Value: strings.ToLower(l), Label: l})
		}
		return out
	}
	return core.Input{Kind: core.KindQuestion, Questions: []core.Question{
		{ID: "where", Prompt: "Where?", Options: opt("Staging", "Production"), Defaults: []string{"staging"}},
		{ID: "what", Prompt: "What?", Options: opt("Lint", "Tests", "Docs"), Multi: true, Defaults: []string{"lint"}},
		{ID: "who", Prompt: "Who?", Options: opt("Ana", "Ben"), FreeText: true},
	}}
}

func TestLinesOfASet(t *testing.T) {
	t.Parallel()
	at := func(i int) core.Input {
		in := three()
		in.Draft.At = i
		for _, q := range in.Questions[:i] {
			in.Draft.Choices = append(in.Draft.Choices, core.Choice{Question: q.ID, Values: []string{}})
		}
		return in
	}
	for _, c := range []struct {
		name string
		in   core.Input
		text string
		want string
	}{
		{"one answer", at(0), "2", "production"},
		{"all three", at(0), "2\n1,3\nCleo from sales", "production + lint|docs + text Cleo from sales"},
		{"blank lines do not count", at(0), "2\n\n1, 3\n\n2\n", "production + lint|docs + ben"},
		{"labels", at(0), "Production\nDocs and lint\nAna", "production + lint|docs + ana"},
		{"the shown default may be taken", at(0), "ok\n2\nAna", "default + tests + ana"},
		{"a default not yet shown may not", at(0), "1\nok\nAna", "unclear"},
		{"one line does not fit", at(0), "1\n7\nAna", "unclear"},
		{"too few lines", at(0), "2\n1", "unclear"},
		{"too many lines", at(0), "2\n1\nAna\nand hurry", "other"},
		{"a new message of three lines", at(0), "what is this?\nI do not get it at all\nplease explain it", "other"},
		{"commands are no answers of a line", at(0), "1\n2\nskip", "unclear"},
		{"fits as one and as two", at(1), "1\n2", "unclear"},
		{"fits as two only", at(1), "1\nCleo from sales", "lint + text Cleo from sales"},
		{"fits as one only", at(1), "1\n2\n3", "lint|tests|docs"},
		{"free text of several lines", at(2), "Cleo\nfrom sales", "text Cleo\nfrom sales"},
		{"skip all", at(0), "skip all", "skip all"},
		{"default all", at(1), "Default all.", "default all"},
		{"back", at(1), "back", "back"},
		{"edit", at(1), "edit 1", "edit #"},
		{"edit what there is not", at(1), "edit 4", "edit ####"},
		{"edit far beyond", at(1), "edit 1234567", "edit " + strings.Repeat("#", noPart)},
		{"details", at(1), "details", "details"},
		{"cancel", at(1), "never mind", "cancel"},
		{"yes takes the defaults", at(1), "yes", "default"},
		{"yes where there are none", at(2), "yes", "text yes"},
		{"no", at(0), "no", "unclear"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Read(Prompt{Input: c.in}, c.text)
			if parts(got) != c.want {
				t.Errorf("%q reads as %q, want %q", c.text, parts(got), c.want)
			}
			if wrong := sound(Prompt{Input: c.in}, got); wrong != "" {
				t.Errorf("%q: %s", c.text, wrong)
			}
		})
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	form := func(at int, review bool) core.Input {
		in := core.Input{Kind: core.KindForm, Schema: []byte(`{"type":"object","required":["email","role"],"properties":{
			"email":{"type":"string","format":"email"},
			"role":{"type":"string","enum":["admin","member"],"enumNames":["Administrator","Member"]},
			"days":{"type":"integer","minimum":1,"maximum":30,"default":7},
			"note":{"type":"string","maxLength":12},
			"tags":{"type":"array","items":{"type":"string","enum":["red","green","blue"]},"maxItems":2}}}`)}
		in.Draft = core.Draft{At: at, Review: review, Fields: map[string]core.Field{}}
		for i, f := range []string{"email", "role", "days", "note", "tags"} {
			if i < at || review {
				in.Draft.Fields[f] = core.Field{Value: []byte("null")}
			}
		}
		return in
	}
	for _, c := range []struct {
		in   core.Input
		text string
		want string
	}{
		{form(0, false), "ana@example.com", `"ana@example.com"`},
		{form(0, false), "  ana@example.com\n", `"ana@example.com"`},
		{form(0, false), "ana at example", "unclear"},
		{form(0, false), "skip", "unclear"},
		{form(0, false), "which address do you want?", "other"},
		{form(0, false), "ana@example.com\n2\n14\nhello\n1,2", `"ana@example.com" + "member" + 14 + "hello" + ["red","green"]`},
		{form(0, false), "ana@example.com\n3\n14\nhello\n1,2", "unclear"},
		{form(1, false), "Member", `"member"`},
		{form(1, false), "2", `"member"`},
		{form(1, false), "admin", `"admin"`},
		{form(1, false), "mem", "unclear"},
		{form(1, false), "back", "back"},
		{form(2, false), "14", "14"},
		{form(2, false), "31", "unclear"},
		{form(2, false), "two", "unclear"},
		{form(2, false), "ok", "default"},
		{form(2, false), "yes", "default"},
		{form(2, false), "default", "default"},
		{form(2, false), "skip", "skip"},
		{form(2, false), "edit 1", "edit #"},
		{form(3, false), "skip", "skip"},
		{form(3, false), "stop", `"stop"`},
		{form(3, false), "1", `"1"`},
		{form(3, false), "a text that is too long", "unclear"},
		{form(3, false), "<b> & co", `"<b> & co"`},
		{form(4, false), "1 and 3", `["red","blue"]`},
		{form(4, false), "none", `[]`},
		{form(4, false), "all", "unclear"},
		{form(0, true), "yes", "yes"},
		{form(0, true), "confirm, thanks", "yes"},
		{form(0, true), "no", "no"},
		{form(0, true), "edit 2", "edit ##"},
		{form(0, true), "edit 6", "edit ######"},
		{form(0, true), "ok", "unclear"},
		{form(0, true), "edit", "unclear"},
		{form(0, true), "yes but change the role", "other"},
		{form(0, true), "cancel", "cancel"},
		{form(0, true), "back", "back"},
	} {
		got := Read(Prompt{Input: c.in}, c.text)
		if parts(got) != c.want {
			t.Errorf("field %d, review %v: %q reads as %q, want %q", c.in.Draft.At, c.in.Draft.Review, c.text, parts(got), c.want)
		}
		if wrong := sound(Prompt{Input: c.in}, got); wrong != "" {
			t.Errorf("%q: %s", c.text, wrong)
		}
	}
}

func TestExactReadsOnlyTheWordsItNames(t *testing.T) {
	t.Parallel()
	exact := func(p Prompt) Prompt { p.Exact = true; return p }
	reads{
		yes:     {"approve", "yes", "Yes.", "*yes*"},
		no:      {"deny", "no", "NO"},
		cancels: {"cancel", "/cancel", "stop"},
		other:   {"y", "yes please", "approved", "ok", "yes yes", "n", "don't", "yess", "yes?", "wait", "1", "👍"},
	}.check(t, exact(approval()))
	reads{yes: {"done"}, no: {"no", "deny"}, other: {"finished", "all done", "not yet", "yes"}}.check(t, exact(Prompt{Input: core.Input{Kind: core.KindURL}}))
	reads{
		"Red":   {"1", "red", "Red."},
		other:   {"first", "option 1", "1 please", "re", "9", "ok", "red?"},
		cancels: {"cancel"}, "command": {"skip", "back", "details"},
	}.check(t, exact(asks("Red", "Green")))
	multi := asks("Red", "Green", "Blue")
	multi.Input.Questions[0].Multi = true
	reads{"Red|Blue": {"1,3", "red and blue"}, "Red|Green|Blue": {"all"}, "": {"none"}, other: {"1-3", "everything", "none of them", "all but 1", "ok"}}.check(t, exact(multi))
	multi.Input.Questions[0].Defaults = []string{"A value"}
	for text, want := range map[string]string{"ok": "default", "default": "default", "yes": "default", "okay": other, "ok please": other, "confirm": other, "sure": other} {
		if got := outcome(Read(exact(multi), text)); got != want {
			t.Errorf("exact, with defaults: %q reads as %q, want %q", text, got, want)
		}
	}
}
