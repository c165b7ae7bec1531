package scripted

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/core/model"
)

func ask(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}}
}

func TestStreamTellsPieces(t *testing.T) {
	t.Parallel()
	for say, want := range map[string][]string{
		"one two three four five six": {"one two", "one two three", "one two three four five", "one two three four five six"},
		"a b":                         {"a", "a b"},
		"word":                        {"word"},
		"":                            nil,
		"the_first_word_is_long b c":  {"the_first_word_is_long", "the_first_word_is_long b c"},
	} {
		m, err := New(Script{Else: &Step{Say: say}})
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		resp, err := m.Stream(t.Context(), ask("x"), func(soFar string) { told = append(told, soFar) })
		if err != nil || resp.Text != say || !slices.Equal(told, want) {
			t.Errorf("%q was told as %q, want %q; %v", say, told, want, err)
		}
	}
}

// What is told grows to the reply that Generate gives, whatever it is.
func TestStreamIsGenerate(t *testing.T) {
	t.Parallel()
	m := parse(t, script)
	for _, text := range []string{"delete the staging database", "what is  this", "日本 語 の ことば で", "x \t y\n z", ""} {
		want, err := m.Generate(t.Context(), ask(text))
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		got, err := m.Stream(t.Context(), ask(text), func(soFar string) {
			if !strings.HasPrefix(soFar, last) || soFar == last || !utf8.ValidString(soFar) {
				t.Errorf("%q follows %q", soFar, last)
			}
			last = soFar
		})
		if err != nil || last != want.Text || got.Text != want.Text || len(got.Calls) != len(want.Calls) {
			t.Errorf("streamed %q, %+v, want %+v; %v", last, got, want, err)
		}
	}
}

func TestStreamStops(t *testing.T) {
	t.Parallel()
	m, err := New(Script{Else: &Step{Say: "one two three four"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err = m.Stream(ctx, ask("x"), func(string) { n++; cancel() })
	var me *model.Error
	if n != 1 || !errors.Is(err, context.Canceled) || !errors.As(err, &me) {
		t.Errorf("told %d pieces after the end of its context, %v", n, err)
	}
}
