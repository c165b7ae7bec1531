package parse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"parley/core"
)

// line is one line of a corpus: an input, a text, and its only right reading.
type line struct {
	ID    string    `json:"id"`
	Input lineInput `json:"input"`
	Text  string    `json:"text"`
	Want  lineWant  `json:"want"`
	Why   string    `json:"why"`
}

type lineInput struct {
	Kind     string          `json:"kind"`
	Options  []string        `json:"options"`
	Defaults []string        `json:"defaults"`
	Multi    bool            `json:"multi"`
	FreeText bool            `json:"freeText"`
	Schema   json.RawMessage `json:"schema"`
	URL      string          `json:"url"`
	Lang     string          `json:"lang"`
	Prompt   string          `json:"prompt"`
	Dialect  string          `json:"dialect"`
}

type lineWant struct {
	Answer json.RawMessage `json:"answer"`
	// Reason is what a decline gives beside it; a line that does not care has none.
	Reason  string            `json:"reason"`
	Change  map[string]string `json:"change"`
	Skip    bool              `json:"skip"`
	Command string            `json:"command"`
	Cancel  bool              `json:"cancel"`
	Unclear bool              `json:"unclear"`
	Other   bool              `json:"other"`
}

// prompt is the prompt that a line is read against.
func (l lineInput) prompt() Prompt {
	p := Prompt{Lang: l.Lang, Text: l.Prompt, Input: core.Input{ID: "in", State: core.InputPending}}
	if l.Dialect == "slack" {
		p.Markup = Markup{Entities: true, AngleLinks: true, Shortcodes: true}
	}
	switch l.Kind {
	case "confirm":
		p.Input.Kind = core.KindForm
	case "question":
		p.Input.Kind = core.KindQuestion
		q := core.Question{ID: "q", Prompt: "Which?", Multi: l.Multi, FreeText: l.FreeText, Defaults: l.Defaults}
		for _, o := range l.Options {
			q.Options = append(q.Options, core.Option{Value: o, Label: o})
		}
		p.Input.Questions = []core.Question{q}
	default:
		p.Input.Kind = core.Kind(l.Kind)
		p.Input.Schema = l.Schema
		p.Input.URL = l.URL
	}
	return p
}

// readAs is a reading in the words of the corpus.
func readAs(in core.Input, got core.Reading) string {
	switch got.Kind {
	case core.ReadCommand:
		if got.Verb == core.VerbSkip {
			return `{"skip":true}`
		}
		if got.Verb == core.VerbChange {
			return changes(got)
		}
		return fmt.Sprintf(`{"command":%q}`, got.Verb)
	case core.ReadAnswer:
		return `{"answer":` + answered(in, got) + `}`
	}
	return fmt.Sprintf(`{%q:true}`, got.Kind)
}

func changes(got core.Reading) string {
	m := map[string]string{}
	for _, c := range got.Changes {
		m[c.Name] = c.Value
	}
	return `{"change":` + string(encode(m)) + `}`
}

func answered(in core.Input, got core.Reading) string {
	switch {
	case len(got.Parts) > 0:
		return fmt.Sprintf("%q", fmt.Sprint(got.Parts))
	case got.Part == nil:
		return fmt.Sprint(got.Yes)
	case got.Part.Default && in.Kind == core.KindForm:
		return `"default"`
	case got.Part.Default:
		return string(encode(in.Questions[0].Defaults))
	case got.Part.Field != nil:
		form, _ := core.ParseForm(in.Schema)
		return `{` + string(encode(form.Fields[in.Draft.At].Name)) + `:` + string(got.Part.Field) + `}`
	case got.Part.Text != "":
		return string(encode([]string{got.Part.Text}))
	}
	return string(encode(got.Part.Values))
}

func (w lineWant) String() string {
	switch {
	case w.Skip:
		return `{"skip":true}`
	case w.Command != "":
		return fmt.Sprintf(`{"command":%q}`, w.Command)
	case w.Cancel:
		return `{"cancel":true}`
	case w.Unclear:
		return `{"unclear":true}`
	case w.Other:
		return `{"other":true}`
	case w.Change != nil:
		return `{"change":` + string(encode(w.Change)) + `}`
	}
	var b bytes.Buffer
	if json.Compact(&b, w.Answer) != nil {
		return "no answer"
	}
	return `{"answer":` + b.String() + `}`
}

// same compares JSON by value: 3 and 3.0 are one number.
func same(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func corpus(t testing.TB, file string) []line {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []line
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<22)
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("%s:%d: %v", file, n, err)
		}
		out = append(out, l)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReplyCorpus reads every line of the corpus, or of the file that PARLEY_REPLIES names.
func TestReplyCorpus(t *testing.T) {
	t.Parallel()
	files := []string{"testdata/replies.jsonl", "testdata/more.jsonl", "testdata/kinds.jsonl"}
	if f := os.Getenv("PARLEY_REPLIES"); f != "" {
		if _, err := os.Stat(f); err != nil && !filepath.IsAbs(f) {
			f = filepath.Join("..", f) // as seen from the root, where go test was called
		}
		files = []string{f}
	}
	for _, file := range files {
		misread := 0
		lines := corpus(t, file)
		for _, l := range lines {
			p := l.Input.prompt()
			reading := Read(p, l.Text)
			got := readAs(p.Input, reading)
			if want := l.Want.String(); !same(got, want) || l.Want.Reason != "" && reading.Reason != l.Want.Reason {
				misread++
				t.Errorf("%s: %q (%s %s)\n\twant %s %q\n\tgot  %s %q", l.ID, l.Text, l.Input.Kind, l.Input.Lang, want, l.Want.Reason, got, reading.Reason)
			}
		}
		t.Logf("%s: %d lines, %d misread", file, len(lines), misread)
	}
}
