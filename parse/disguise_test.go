package parse

import (
	"fmt"
	"testing"

	"parley/core"
)

// disguises is one rune of each kind that is never folded away.
var disguises = []rune{0, 7, '\b', '\v', '\f', 0x1b, 0x7f, 0x80, 0x85, 0x202a, 0x202e, 0x2066, 0x2069}

// TestDisguisesNeverAnswer puts each of them into everything that a prompt may take for an answer, a command or
// the word that cancels.
func TestDisguisesNeverAnswer(t *testing.T) {
	t.Parallel()
	for _, p := range everyKind() {
		r := Compile(p)
		for _, text := range []string{"yes", "approve", "no", "done", "1", "Lint", "One", "a b", "true", "7", "2026-01-01", "skip", "back", "default", "ok", "cancel", "stop", "details", "edit 1"} {
			for _, c := range disguises {
				for i := range len(text) + 1 {
					said := text[:i] + string(c) + text[i:]
					got := r.Read(said)
					if got.Kind == core.ReadUnclear || got.Kind == core.ReadOther || r.written(got) && r.Read(text).Kind == core.ReadAnswer {
						continue
					}
					t.Errorf("%s: %q is %s", p.Input.Kind, said, got.Kind)
				}
			}
		}
	}
}

// TestDisguisesStayInLabels: a label with one of them is another label than the one without, and is chosen by its place.
func TestDisguisesStayInLabels(t *testing.T) {
	t.Parallel()
	for _, c := range disguises {
		label := "Li" + string(c) + "nt"
		if Fold(label) == Fold("Lint") || Fold("Lint"+string(c)) == Fold("Lint") || Fold("Überall"+string(c)) == Fold("Überall") {
			t.Errorf("%U is folded away", c)
		}
		p := asks(label, "Lint")
		for text, want := range map[string]string{"1": "A value", "Lint": "B value", label: unclr} {
			if got := outcome(Read(p, text)); got != want {
				t.Errorf("%q reads as %q, want %q", text, got, want)
			}
		}
	}
}

// TestQuotedIsolates: a line of a prompt is known again with the isolates that stand in our own sentences.
func TestQuotedIsolates(t *testing.T) {
	t.Parallel()
	p := approval()
	p.Text = "Run \u2068db__drop\u2069?"
	for _, quoted := range []string{p.Text, "Run db__drop?"} {
		if got := Read(p, fmt.Sprintf("> %s\nyes", quoted)); got.Kind != core.ReadAnswer || !got.Yes {
			t.Errorf("below %q: %s", quoted, outcome(got))
		}
	}
	if got := Read(p, "> Run \u202edb__drop?\nyes"); got.Kind != core.ReadUnclear {
		t.Errorf("below an override: %s", outcome(got))
	}
}
