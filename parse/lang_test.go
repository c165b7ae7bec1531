package parse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/core"
	"parley/core/words"
)

// setIn is a question of three options with defaults, in a language.
func setIn(lang string, multi bool) Prompt {
	p := asks("Alpha", "Beta", "Gamma")
	p.Lang = lang
	q := &p.Input.Questions[0]
	q.Multi, q.Defaults = multi, []string{q.Options[0].Value}
	return p
}

// TestMainWords reads back every word that a prompt names, in every language, alone and in capitals.
func TestMainWords(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		w := WordsFor(lang)
		ask := func(p Prompt, text, want string) {
			t.Helper()
			p.Lang = lang
			for _, s := range []string{text, strings.ToUpper(text) + ".", "*" + text + "*"} {
				got := outcome(Read(p, s))
				if r := Read(p, s); r.Kind == core.ReadCommand {
					got = string(r.Verb)
				}
				if got != want {
					t.Errorf("%s: %q reads as %q, want %q", lang, s, got, want)
				}
			}
		}
		for _, p := range []Prompt{approval(), confirmation()} {
			ask(p, w.Approve, yes)
			ask(p, w.Yes, yes)
			ask(p, w.Deny, no)
			ask(p, w.No, no)
			ask(p, w.Cancel, cancels)
			ask(p, w.Details, "details")
		}
		url := Prompt{Input: core.Input{Kind: core.KindURL}}
		ask(url, w.Done, yes)
		ask(url, w.No, no)
		ask(url, w.Deny, no)
		q := setIn(lang, true)
		ask(q, w.Skip, "skip")
		ask(q, w.SkipAll, "skip all")
		ask(q, w.Back, "back")
		ask(q, w.Default, "default")
		ask(q, w.DefaultAll, "default all")
		ask(q, w.Edit+" 1", "edit")
		ask(q, w.All, "A value|B value|C value")
		ask(q, w.None, "")
		flag := Prompt{Input: core.Input{Kind: core.KindForm, Schema: []byte(`{"type":"object","properties":{"f":{"type":"boolean"}}}`)}}
		ask(flag, w.True, "true")
		ask(flag, w.False, "false")
		free := asks()
		free.Input.Questions[0].FreeText = true
		ask(free, w.Cancel, cancels)
		ask(free, w.Skip, "skip")
		ask(free, w.Back, "back")
	}
}

// TestEveryWord reads every phrase of every list: a word of consent consents, a synonym never does.
func TestEveryWord(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		l := words.For(lang)
		a, c := approval(), confirmation()
		a.Lang, c.Lang = lang, lang
		url := Prompt{Lang: lang, Input: core.Input{Kind: core.KindURL}}
		each := func(p Prompt, list []string, want ...string) {
			t.Helper()
			r := Compile(p)
			for _, s := range list {
				if got := outcome(r.Read(s)); !slices.Contains(want, got) && !slices.Contains(l.Clash, s) && (lang == "en" || !slices.Contains(words.For("en").No, s)) {
					t.Errorf("%s %s: %q reads as %q, want %s", lang, p.Input.Kind, s, got, want)
				}
			}
		}
		each(a, l.Yes, yes)
		each(c, l.Yes, yes)
		each(c, l.Confirm, yes)
		each(a, l.No, no)
		each(c, l.No, no)
		each(a, l.Cancel, cancels)
		each(a, l.Details, "command")
		each(url, l.Done, yes)
		each(url, l.Undone, no)
		each(url, l.NotDone, unclr)
		each(a, l.Near, unclr)
		each(a, l.Wait, unclr, other) // "no idea" with another language's word in it
		each(a, l.Clash, unclr)
		each(a, l.Please, other, unclr)
		each(a, l.Known, other, unclr)
		for _, list := range [][]string{l.Near, l.Wait, l.Ok, l.Lead, l.Whole, l.Not, l.And, l.Or, l.Skip, l.Back, l.Default, l.Done, l.Known} {
			for _, s := range list {
				if !slices.Contains(append(slices.Clone(l.Yes), "✅"), s) {
					each(a, []string{s}, unclr, other, cancels, no, "command")
				}
			}
		}
	}
}

// TestNoFlips makes sure that no word consents in one list and refuses in another, in any language with English.
func TestNoFlips(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		for phrase, r := range lexiconOf(lang).roles {
			if r&(isYes|isConfirm) != 0 && r&(isNo|isCancel|isWait) != 0 {
				t.Errorf("%s: %q both consents and refuses", lang, phrase)
			}
			if r&isDone != 0 && r&isUndone != 0 {
				t.Errorf("%s: %q is both done and not", lang, phrase)
			}
			if r&isTrue != 0 && r&isFalse != 0 {
				t.Errorf("%s: %q is both true and false", lang, phrase)
			}
		}
	}
}

func TestPositionsInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		l := words.For(lang)
		p := setIn(lang, false)
		p.Input.Questions[0].Options = nil
		for i := range 20 {
			p.Input.Questions[0].Options = append(p.Input.Questions[0].Options, core.Option{Value: fmt.Sprint("v", i+1), Label: "Label" + strings.Repeat("x", i)})
		}
		r := Compile(p)
		check := func(text string, n int) {
			t.Helper()
			if got := outcome(r.Read(text)); got != fmt.Sprint("v", n) && !slices.Contains(l.Clash, text) {
				t.Errorf("%s: %q reads as %q, want option %d", lang, text, got, n)
			}
		}
		for i := range 20 {
			check(words.Position(i, false), i+1)
		}
		for i, same := range l.Numbers {
			for _, w := range same {
				check(w, i+1)
			}
		}
		for i, same := range l.Ordinals {
			for _, w := range same {
				check(w, i+1)
			}
		}
		for _, w := range l.Last {
			check(w, 20)
		}
		for _, form := range l.Positions {
			if strings.Contains(form, "{n}") {
				check(strings.Replace(form, "{n}", "7", 1), 7)
			}
		}
	}
}

func TestAllButInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		l := words.For(lang)
		r := Compile(setIn(lang, true))
		var texts []string
		if len(l.ExceptEnd) == 0 || lang == "tr" || lang == "hi" {
			for _, e := range l.Except {
				texts = append(texts, l.Main.All+" "+e+" 2")
			}
		}
		for _, e := range l.ExceptEnd {
			texts = append(texts, "2"+e, "2 "+e)
		}
		for _, s := range texts {
			if got := outcome(r.Read(s)); got != "A value|C value" {
				t.Errorf("%s: %q reads as %q", lang, s, got)
			}
		}
		for _, and := range l.And {
			if got := outcome(r.Read("1 " + and + " 3")); got != "A value|C value" {
				t.Errorf("%s: a list with %q reads as %q", lang, and, got)
			}
		}
		for _, or := range l.Or {
			if got := outcome(r.Read("1 " + or + " 3")); got != unclr {
				t.Errorf("%s: a list with %q reads as %q", lang, or, got)
			}
		}
	}
}

func TestLanguagesAreNotMixed(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		for _, of := range words.Tags() {
			if lang == of || of == "en" {
				continue
			}
			p := approval()
			p.Lang = lang
			own := append(slices.Clone(words.For(lang).Yes), words.For("en").Yes...)
			r := Compile(p)
			for _, w := range words.For(of).Yes {
				foreign := !slices.ContainsFunc(own, func(o string) bool { return Fold(o) == Fold(w) })
				if got := r.Read(w); foreign && got.Kind == core.ReadAnswer && got.Yes {
					t.Errorf("%q of %s approves in %s", w, of, lang)
				}
			}
		}
	}
}

// TestSlipsInEveryLanguage makes typing errors in every word of consent; what comes out consents only if
// it is a word of consent itself.
func TestSlipsInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, lang := range words.Tags() {
		p := approval()
		p.Lang = lang
		r := Compile(p)
		own := map[string]bool{}
		for _, w := range append(slices.Clone(words.For(lang).Yes), words.For("en").Yes...) {
			own[Fold(w)] = true
		}
		for w := range own {
			for i := range []rune(w) {
				for _, s := range runeSlips(w, i) {
					got := r.Read(s)
					twice := !slices.ContainsFunc(strings.Fields(strings.ReplaceAll(Fold(s), "✅", " ✅ ")), func(f string) bool { return !own[f] })
					if got.Kind == core.ReadAnswer && got.Yes && !own[Fold(s)] && !twice {
						t.Errorf("%s: %q, a slip of %q, approves", lang, s, w)
					}
				}
			}
		}
	}
}

// runeSlips are the typing errors at rune i of w.
func runeSlips(w string, i int) []string {
	r := []rune(w)
	before, at, after := string(r[:i]), string(r[i]), string(r[i+1:])
	out := []string{before + after, before + "x" + at + after, before + "x" + after, before + at + at + after, before + at + "?" + after}
	if i > 0 {
		out = append(out, string(r[:i-1])+at+string(r[i-1])+after)
	}
	return out
}
