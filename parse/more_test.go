package parse

import (
	"slices"
	"strings"
	"testing"

	"parley/core"
	"parley/core/words"
)

// TestReasonsInEveryLanguage declines with every phrase for "because" and with a colon; a consent with them is
// none, and nothing of it is read where only the main words count.
func TestReasonsInEveryLanguage(t *testing.T) {
	t.Parallel()
	const why = "Ana's Database #7"
	for _, lang := range words.Tags() {
		l := words.For(lang)
		for _, in := range []core.Input{approval().Input, confirmation().Input} {
			p := Prompt{Lang: lang, Input: in}
			r := Compile(p)
			p.Exact = true
			exact := Compile(p)
			for _, no := range []string{l.Main.No, l.Main.Deny, "no"} {
				if slices.Contains(l.Clash, no) {
					continue
				}
				texts := []string{no + ": " + why, no + ":  " + why + "\n"}
				for _, b := range l.Because {
					space := " "
					if strings.HasSuffix(b, "'") {
						space = ""
					}
					texts = append(texts, no+", "+b+space+why, no+" "+b+space+why, no+". "+b+space+why)
				}
				for _, text := range texts {
					if got := r.Read(text); got.Kind != core.ReadAnswer || got.Yes || got.Reason != why {
						t.Errorf("%s: %q is %s, reason %q", lang, text, outcome(got), got.Reason)
					}
					if got := exact.Read(text); got.Kind != core.ReadOther {
						t.Errorf("%s, exact: %q is %s", lang, text, outcome(got))
					}
					if got := r.Read(text + "?"); got.Kind != core.ReadOther {
						t.Errorf("%s: the question %q is %s", lang, text, outcome(got))
					}
					if got := r.Read(strings.Replace(text, no, l.Main.Yes, 1)); got.Kind == core.ReadAnswer || got.Kind == core.ReadCommand {
						t.Errorf("%s: a consent with a reason, %q, is %s", lang, text, outcome(got))
					}
				}
			}
		}
	}
}

// TestChangesInEveryLanguage changes arguments with every word for it.
func TestChangesInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		l := words.For(lang)
		p := approval()
		p.Lang = lang
		r := Compile(p)
		p.Exact = true
		exact := Compile(p)
		heads := slices.Clone(l.Edit)
		for _, with := range l.With {
			heads = append(heads, l.Main.Yes+" "+with, l.Main.Approve+", "+with)
		}
		for _, head := range append(heads, "edit", "yes with") {
			text := head + ` amount=20, note="two words"`
			got := r.Read(text)
			want := []core.Change{{Name: "amount", Value: "20"}, {Name: "note", Value: "two words"}}
			if got.Kind != core.ReadCommand || got.Verb != core.VerbChange || !slices.Equal(got.Changes, want) {
				t.Errorf("%s: %q is %s %q %v", lang, text, outcome(got), got.Verb, got.Changes)
			}
			if got := exact.Read(text); got.Kind != core.ReadOther {
				t.Errorf("%s, exact: %q is %s", lang, text, outcome(got))
			}
			if got := r.Read(strings.Replace(text, "=20", " 20", 1)); got.Kind == core.ReadCommand || got.Kind == core.ReadAnswer {
				t.Errorf("%s: without its sign %q is %s", lang, text, outcome(got))
			}
		}
		for _, head := range []string{l.Main.No, l.Main.Deny, l.Main.Details, "ok"} {
			if got := r.Read(head + " amount=20"); got.Kind != core.ReadOther {
				t.Errorf("%s: %q before a change is %s", lang, head, outcome(got))
			}
		}
	}
}

// TestPendingInEveryLanguage reads the word for the list where a slash does not arrive, and only there; a label
// and free text go before it.
func TestPendingInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		l := words.For(lang)
		free := asks()
		free.Input.Questions[0].FreeText = true
		for _, word := range append(slices.Clone(l.Pending), l.Main.Pending, "pending", "Pending.") {
			for _, p := range []Prompt{approval(), confirmation(), asks("Alpha", "Beta"), {Input: core.Input{Kind: core.KindURL}}} {
				p.Lang = lang
				if got := Read(p, word); got.Verb == core.VerbPending || got.Kind == core.ReadAnswer {
					t.Errorf("%s: %q lists where a slash does", lang, word)
				}
				p.Listing = true
				if got := Read(p, word); got.Kind != core.ReadCommand || got.Verb != core.VerbPending {
					t.Errorf("%s %s: %q is %s", lang, p.Input.Kind, word, outcome(got))
				}
				if got := Read(p, word+"?"); got.Verb == core.VerbPending {
					t.Errorf("%s: %q? lists", lang, word)
				}
			}
			label, text := asks(word, "Beta"), free
			label.Lang, label.Listing, text.Lang, text.Listing = lang, true, lang, true
			if got := outcome(Read(label, word)); got != "A value" {
				t.Errorf("%s: the label %q is %s", lang, word, got)
			}
			if got := outcome(Read(text, word)); got != "text "+word {
				t.Errorf("%s: the text %q is %s", lang, word, got)
			}
		}
	}
}

// TestReasonIsBounded: what is too long to be kept whole is a new message.
func TestReasonIsBounded(t *testing.T) {
	t.Parallel()
	why := strings.Repeat("слишком поздно ", 140)
	r := Compile(Prompt{Lang: "ru", Input: core.Input{Kind: core.KindApproval}})
	if got := r.Read("нет, потому что " + why); got.Reason != strings.TrimSpace(why) || got.Kind != core.ReadAnswer {
		t.Errorf("%d bytes: %s", len(why), outcome(got))
	}
	if got := r.Read("нет, потому что " + why + why); got.Kind != core.ReadOther {
		t.Errorf("%d bytes: %s", 2*len(why), outcome(got))
	}
	if got := r.Read("да, потому что " + why); got.Kind != core.ReadOther {
		t.Errorf("a long consent: %s", outcome(got))
	}
}

// TestMoreThanAVerdictInASet: a form of several fields, at its last look too, takes no reasons and no changes.
func TestMoreThanAVerdictInASet(t *testing.T) {
	t.Parallel()
	in := core.Input{Kind: core.KindForm, Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`), Draft: core.Draft{Review: true}}
	for text, want := range map[string]string{"no, because it is wrong": other, "edit a=2": other, "edit 2": "edit ##", "no": no} {
		if got := parts(Read(Prompt{Input: in}, text)); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	in.Kind, in.Schema, in.Draft = core.KindApproval, nil, core.Draft{}
	p := Prompt{Input: in, Text: "Run db__drop?"}
	if got := Read(p, "> something else\nno, because it is live"); got.Kind != core.ReadUnclear || got.Hint != core.HintQuote {
		t.Errorf("a reason below somebody else's words: %s", outcome(got))
	}
	if got := Read(p, "> Run db__drop?\nno, because it is live"); got.Reason != "it is live" {
		t.Errorf("a reason below the prompt's own words: %s %q", outcome(got), got.Reason)
	}
	p.Markup = Markup{Entities: true, AngleLinks: true, Shortcodes: true}
	p.Names = []string{"<@U1>"}
	for text, want := range map[string]string{":x: because R&amp;D needs it": "R&D needs it", "<@U1> no: ask <@U2>": "ask <@U2>", "deny: see <https://example.com|example.com>": "see example.com"} {
		if got := Read(p, text); got.Reason != want || got.Yes {
			t.Errorf("%q: %s %q", text, outcome(got), got.Reason)
		}
	}
}
