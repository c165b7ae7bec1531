package askuser_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/core/tool/askuser"
	"parley/core/tool/schema"
)

const good = `{"preamble":" Two things. ","questions":[
	{"prompt":"Which database?","options":[{"value":"pg","label":"Postgres"},{"label":"SQLite"}],"defaults":["Postgres"]},
	{"id":"why","prompt":"Why?","freeText":true,"defaults":[]}]}`

func TestSpecs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		user, ask bool
		want      string
	}{{false, false, ""}, {true, false, "ask_user"}, {false, true, "ask"}, {true, true, "ask ask_user"}} {
		var names []string
		for _, s := range askuser.Specs(c.user, c.ask) {
			names = append(names, s.Name)
			if _, err := schema.Compile(s.Schema); err != nil || s.Description == "" {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("offered %q, want %q", got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ask", "ask_user"} {
		preamble, qs, problems := askuser.Parse(name, json.RawMessage(good), nil)
		if problems != nil || preamble != "Two things." || len(qs) != 2 {
			t.Fatalf("%s: %q, %d questions, %q", name, preamble, len(qs), problems)
		}
		if qs[0].ID != "q1" || qs[0].Options[1].Value != "SQLite" || qs[0].Defaults[0] != "pg" {
			t.Errorf("first %+v", qs[0])
		}
		if qs[1].ID != "why" || !qs[1].FreeText || qs[1].Defaults == nil {
			t.Errorf("second %+v", qs[1])
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, want string }{
		{"ask_user", ``, "questions"},
		{"ask_user", `null`, "null"},
		{"ask_user", `{"questions":[]}`, "/questions"},
		{"ask_user", `{"questions":[{"prompt":"A?"}]}`, "no options"},
		{"ask_user", `{"questions":[{"prompt":"A?","freeText":"yes"}]}`, "/questions/0/freeText"},
		{"ask_user", `{"questions":[{"prompt":"A?","freeText":true,"default":["x"]}]}`, "'default'"},
		{"ask_user", `{"questions":[{"prompt":"A?","freeText":true}],"title":"x"}`, "'title'"},
		{"ask_user", `{"questions":[{"prompt":"A?","options":["x","y"]}]}`, "/questions/0/options/0"},
		{"ask_user", `{"questions":[{"prompt":"A?","options":[{"label":"x"},{"label":" X"}]}]}`, "same label"},
		{"ask_user", `{"questions":[{"prompt":"","freeText":true}]}`, "prompt is empty"},
		{"ask_user", `{"questions":[{"prompt":"1","freeText":true},{"prompt":"2","freeText":true},{"prompt":"3","freeText":true},{"prompt":"4","freeText":true},{"prompt":"5","freeText":true}]}`, "/questions: "},
		{"ask", `{"questions":[{"prompt":"A?","freeText":true}]}`, "'defaults'"},
		{"ask", `{"questions":[{"prompt":"A?","freeText":true,"defaults":null}]}`, "/questions/0/defaults"},
		{"tell", good, "no asking tool"},
	} {
		_, qs, problems := askuser.Parse(c.name, json.RawMessage(c.args), nil)
		if qs != nil || !strings.Contains(strings.Join(problems, "\n"), c.want) {
			t.Errorf("%s %s: %d questions, %q; want %q", c.name, c.args, len(qs), problems, c.want)
		}
	}
}

// FM-01: a set with two equal questions comes back with the reason, and nobody is asked.
func TestFM01EqualQuestions(t *testing.T) {
	t.Parallel()
	args := `{"questions":[{"prompt":"Which one?","freeText":true},{"prompt":"which one? ","freeText":true}]}`
	_, qs, problems := askuser.Parse("ask_user", json.RawMessage(args), nil)
	if qs != nil || len(problems) != 1 || !strings.Contains(problems[0], "same as question 1") {
		t.Errorf("%d questions, %q", len(qs), problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ask", good)
	f.Add("ask_user", `{"questions":[{"prompt":"A?","options":[{"label":"1"},{"label":"2"}],"multi":true}]}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		_, qs, problems := askuser.Parse(name, json.RawMessage(args), nil)
		if (len(qs) == 0) == (len(problems) == 0) {
			t.Fatalf("%d questions and problems %q", len(qs), problems)
		}
		for _, q := range qs {
			if q.ID == "" || q.Prompt == "" || len(q.Options) == 0 && !q.FreeText || len(q.Options) == 1 {
				t.Fatalf("asked %+v", q)
			}
			if name == "ask" && !q.HasDefaults() {
				t.Fatalf("%q has no defaults", q.Prompt)
			}
		}
	})
}
