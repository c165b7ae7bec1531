package parse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/core"
)

// everyKind is a prompt of each kind, for texts that must be harmless everywhere.
func everyKind() []Prompt {
	multi := asks("Lint", "Tests", "Lint tests", "Rivers, Alex", "Alex", "3")
	multi.Input.Questions[0].Multi = true
	free := asks("us-east-1", "eu-west-1")
	free.Input.Questions[0].FreeText = true
	set := asks("a b", "b c")
	set.Input.Questions = append(set.Input.Questions, multi.Input.Questions[0], free.Input.Questions[0])
	set.Input.Questions[1].ID, set.Input.Questions[2].ID = "q2", "q3"
	form := Prompt{Input: core.Input{Kind: core.KindForm, Schema: []byte(`{"type":"object","properties":{
		"n":{"type":"integer","maximum":9},"d":{"type":"string","format":"date"},"b":{"type":"boolean"},"e":{"type":"string","enum":["s","m"]},"t":{"type":"string"}}}`)}}
	review := form
	review.Input.Draft.Review = true
	out := []Prompt{approval(), confirmation(), {Input: core.Input{Kind: core.KindURL}}, asks("One", "Two"), multi, free, set, form, review}
	for i := range out {
		out[i].Text = "Allow it?\nReply approve or deny."
		out[i].Names = []string{"@relay", "<@U1>"}
		out[i].Markup = Markup{Entities: true, AngleLinks: true, Shortcodes: true}
	}
	return out
}

// sound reports what is wrong with a reading as such, "" if nothing is.
func sound(p Prompt, got core.Reading) string {
	choices := p.Input.Kind == core.KindQuestion || p.Input.Kind == core.KindForm && len(p.Input.Schema) > 0 && !p.Input.Draft.Review
	switch {
	case got.Kind == core.ReadUnclear && got.Hint == "":
		return "unclear without a hint"
	case got.Kind != core.ReadUnclear && got.Hint != "":
		return "a hint without being unclear"
	case got.Kind != core.ReadAnswer && (got.Yes || got.Part != nil || got.Parts != nil):
		return "an answer that is none"
	case got.Kind == core.ReadCommand && got.Verb == "":
		return "a command without a verb"
	case got.Kind == core.ReadAnswer && choices && got.Part == nil && len(got.Parts) != core.OpenParts(p.Input):
		return "an answer without its parts"
	case got.Kind == core.ReadAnswer && !choices && got.Part != nil:
		return "parts of a verdict"
	}
	if got.Kind == core.ReadAnswer && choices || got.Kind == core.ReadCommand && choices {
		if _, err := core.Apply(p.Input, got, "local:ana", "x"); err != nil {
			return err.Error()
		}
	}
	return ""
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", " ", "\n\n", "\x00", "\xff\xfe", "yes\xff", "\u200b", "\u202eyes", strings.Repeat("yes ", 25_000), strings.Repeat("1,", 50_000),
		strings.Repeat("a", 100_000), strings.Repeat("> ", 50_000), strings.Repeat(">\n", 50_000), strings.Repeat("*", 100_000), strings.Repeat("<", 100_000),
		strings.Repeat(":+1:", 25_000), strings.Repeat("&amp;", 20_000), strings.Repeat("?", 100_000), strings.Repeat("@relay ", 14_000), strings.Repeat("lint tests ", 9_000),
		strings.Repeat("Alex, Rivers, ", 7_000), strings.Repeat("\n1", 50_000), strings.Repeat("👍", 25_000), strings.Repeat("e\u0301\u0302", 20_000), strings.Repeat("1-", 50_000),
		strings.Repeat("lint and ", 100), strings.Repeat("1 ", 500), strings.Repeat("alex rivers, alex ", 50), strings.Repeat("9", 1000), "1e999999999", "-" + strings.Repeat("9", 400),
		strings.Repeat("a b\n", 3), "all but all but all", "1 to 1 to 1", "((((1))))", "edit 99999999999999999999", "edit -1", "/", "//", "/@", "/cancel@", "@relay@relay yes",
	}
	for _, p := range everyKind() {
		r := Compile(p)
		for _, text := range texts {
			start := time.Now()
			got := r.Read(text)
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("%s: %d bytes took %v", p.Input.Kind, len(text), d)
			}
			if wrong := sound(p, got); wrong != "" {
				t.Errorf("%s: %.40q: %s", p.Input.Kind, text, wrong)
			}
			if len(text) > 2000 && got.Kind == core.ReadAnswer && got.Part == nil && got.Parts == nil {
				t.Errorf("%s: %.40q settles", p.Input.Kind, text)
			}
		}
	}
}

// TestManyOptions reads against more options than a list can hold.
func TestManyOptions(t *testing.T) {
	t.Parallel()
	var labels []string
	for i := range 400 {
		labels = append(labels, fmt.Sprintf("Zone %03d", i+1))
	}
	for _, multi := range []bool{false, true} {
		p := asks(labels...)
		for i := range labels {
			p.Input.Questions[0].Options[i].Value = labels[i]
		}
		p.Input.Questions[0].Multi = multi
		for text, want := range map[string]string{"zone 300": "Zone 300", "last": "Zone 400", "12": "Zone 012", "zone 4000": unclr, "500": unclr} {
			if got := outcome(Read(p, text)); got != want {
				t.Errorf("multi %v: %q reads as %q, want %q", multi, text, got, want)
			}
		}
		if got := Read(p, "all"); got.Kind == core.ReadAnswer {
			t.Errorf("multi %v: all answers with %d values", multi, len(got.Part.Values))
		}
	}
}

func TestNoTextIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, p := range everyKind() {
		for _, text := range []string{"", "  ", "\n", "\u200b", "@relay", "> Reply approve or deny.", "...", "?"} {
			if got := Read(p, text); got.Kind == core.ReadAnswer && (got.Part == nil || got.Part.Text == "" && got.Part.Field == nil) {
				t.Errorf("%s: %q is an answer", p.Input.Kind, text)
			}
		}
	}
}

func TestInvalidBytesAreOther(t *testing.T) {
	t.Parallel()
	for _, p := range everyKind() {
		if got := Read(p, "yes\xff"); got.Kind != core.ReadOther {
			t.Errorf("%s: invalid bytes read as %s", p.Input.Kind, got.Kind)
		}
	}
}

// FuzzRead looks for a text that panics, or reads as something that no caller can apply.
func FuzzRead(f *testing.F) {
	for _, l := range corpus(f, "testdata/replies.jsonl") {
		f.Add(l.Text)
	}
	f.Add("1. lint\n2. docs\n3. x")
	f.Add("9\n2026-01-01\nyes\ns\nx")
	var all []*Reader
	for _, p := range everyKind() {
		all = append(all, Compile(p))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range all {
			if wrong := sound(r.p, r.Read(text)); wrong != "" {
				t.Errorf("%s: %q: %s", r.p.Input.Kind, text, wrong)
			}
		}
	})
}

// FuzzFold looks for a text whose folding is not its own folding, or grows without bound.
func FuzzFold(f *testing.F) {
	for _, l := range corpus(f, "testdata/replies.jsonl") {
		f.Add(l.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Fold(text)
		if len(once) > 40*len(text)+40 {
			t.Errorf("%q grows to %d bytes", text, len(once))
		}
		if normalize(once) != once {
			t.Errorf("%q folds to %q, which folds on to %q", text, once, normalize(once))
		}
	})
}
