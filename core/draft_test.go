package core_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/core"
)

// say is a reading as parse makes it; the script language of the tests below.
func say(word string) core.Reading {
	verb, rest, _ := strings.Cut(word, ":")
	switch verb {
	case "yes", "no":
		return core.Reading{Kind: core.ReadAnswer, Yes: verb == "yes"}
	case "pick":
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Values: strings.Split(rest, "+")}}
	case "none":
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Values: []string{}}}
	case "text":
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Text: rest}}
	case "field":
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Field: json.RawMessage(rest)}}
	case "ok":
		return core.Reading{Kind: core.ReadAnswer, Part: &core.Part{Default: true}}
	case "lines":
		r := core.Reading{Kind: core.ReadAnswer}
		for l := range strings.SplitSeq(rest, ",") {
			p := core.Part{Values: []string{l}}
			if l == "ok" {
				p = core.Part{Default: true}
			}
			r.Parts = append(r.Parts, p)
		}
		return r
	case "edit":
		var n int
		fmt.Sscan(rest, &n)
		return core.Reading{Kind: core.ReadCommand, Verb: core.VerbEdit, N: n}
	default:
		return core.Reading{Kind: core.ReadCommand, Verb: core.Verb(verb)}
	}
}

// play applies readings to an input and writes what each did: the question shown, a note or the answer.
func play(t *testing.T, in core.Input, words ...string) []string {
	t.Helper()
	var out []string
	for _, w := range words {
		before := marshal(t, in)
		a, err := core.Apply(in, say(w), "local:ana", w)
		if marshal(t, in) != before {
			t.Fatalf("%s changed the input itself", w)
		}
		step := in.Draft.Step
		switch {
		case err != nil:
			out = append(out, "error")
			continue
		case a.Answer != nil:
			s := brief(*a.Answer)
			for _, name := range slices.Sorted(keysOf(a.Answer.Fields)) {
				s += " " + name + "=" + string(a.Answer.Fields[name])
			}
			out = append(out, s)
		case a.Note != "":
			if a.Draft.Step != step || a.Show {
				t.Errorf("%s: a note moved the draft", w)
			}
			out = append(out, fmt.Sprintf("%s@%d", a.Note, a.Question+1))
		case a.Show && a.Draft.Review:
			out = append(out, "review")
		case a.Show:
			out = append(out, fmt.Sprint(a.Draft.At+1))
		}
		if a.Show && a.Draft.Step != step+1 {
			t.Errorf("%s: step %d after %d", w, a.Draft.Step, step)
		}
		in.Draft = reload(t, a.Draft) // a restart between any two replies changes nothing
	}
	return out
}

func keysOf(m map[string]json.RawMessage) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func reload(t *testing.T, d core.Draft) core.Draft {
	t.Helper()
	var out core.Draft
	if err := json.Unmarshal([]byte(marshal(t, d)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestApplyVerdicts(t *testing.T) {
	t.Parallel()
	for _, in := range []core.Input{{Kind: core.KindApproval}, {Kind: core.KindURL}, {Kind: core.KindForm}, formInput(`{"properties":{}}`)} {
		for word, want := range map[string]string{
			"yes": "accept", "no": "decline", "details": "details@1", "skip": "unclear@1", "back": "unclear@1", "default all": "unclear@1", "edit:1": "unclear@1",
		} {
			if got := play(t, in, word); got[0] != want {
				t.Errorf("%s: %s is %s, want %s", in.Kind, word, got[0], want)
			}
		}
	}
}

func TestApplyRefusesWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range []core.ReadingKind{core.ReadOther, core.ReadCancel, core.ReadUnclear} {
		if _, err := core.Apply(core.Input{Kind: core.KindApproval}, core.Reading{Kind: kind, Yes: true}, "local:ana", "x"); err == nil {
			t.Errorf("a reading of kind %s was applied", kind)
		}
	}
	a, err := core.Apply(core.Input{Kind: core.KindApproval}, core.Reading{Kind: core.ReadAnswer, Yes: true}, "local:ana", " \n")
	if err != nil || a.Answer != nil || a.Note != core.NoteNoText {
		t.Errorf("an empty text: %+v, %v", a, err)
	}
}

func TestApplySets(t *testing.T) {
	t.Parallel()
	free := core.Question{ID: "why", Prompt: "Why?", FreeText: true}
	days := core.Question{ID: "days", Prompt: "Which days?", Multi: true, Options: []core.Option{{Label: "Monday"}, {Label: "Friday"}}, Defaults: []string{"Friday"}}
	three := set(pick("Which database?", "pg"), days, free)            // the last has no defaults
	all := set(pick("A?", "pg"), pick("B?", "lite"), pick("C?", "pg")) // all have
	bare := set(pick("A?"), pick("B?"))
	for _, c := range []struct {
		name  string
		in    core.Input
		words string
		want  string
	}{
		{"one by one", three, "pick:lite|pick:Monday+Friday|text:because", `2|3|accept q1=lite days=Monday+Friday why="because"`},
		{"defaults one by one", all, "ok|default|ok", "2|3|accept q1=pg(d) q2=lite(d) q3=pg(d)"},
		{"ok is for the question shown only", all, "ok", "2"},
		{"none of these", three, "pick:pg|none|text:x", `2|3|accept q1=pg days= why="x"`},
		{"skip one", all, "skip|pick:pg|pick:pg", "2|3|accept q1=pg(s) q2=pg q3=pg"},
		{"skip each", all, "skip|skip|skip", "2|3|skip q1=pg(s) q2=lite(s) q3=pg(s)"},
		{"skip all", all, "skip all", "skip q1=pg(s) q2=lite(s) q3=pg(s)"},
		{"skip the rest", all, "pick:lite|skip all", "2|accept q1=lite q2=lite(s) q3=pg(s)"},
		{"skip without defaults", bare, "skip|skip", "2|decline"},
		{"skip all without defaults", bare, "skip all", "decline"},
		{"skip what has no default", three, "pick:pg|ok|skip", "2|3|accept q1=pg days=Friday(d) why=(s)"},
		{"no default", three, "pick:pg|ok|default|ok", "2|3|no_default@3|no_default@3"},
		{"default all confirms nothing unseen", all, "default all|default all|default all", "2|3|accept q1=pg(d) q2=lite(d) q3=pg(d)"},
		{"default all of what was seen", all, "ok|ok|back|back|default all", "2|3|2|1|accept q1=pg(d) q2=lite(d) q3=pg(d)"},
		{"default all after a jump", all, "edit:3|default all|default all", "3|2|accept q1=pg(d) q2=lite(d) q3=pg(d)"},
		{"default all without a default", three, "ok|ok|back|back|default all|pick:pg", "2|3|2|1|no_default@3|2"},
		{"default all of one", set(pick("A?", "pg")), "default all", "accept q1=pg(d)"},
		{"back", all, "pick:lite|back|pick:pg|ok|ok", "2|1|2|3|accept q1=pg q2=lite(d) q3=pg(d)"},
		{"back twice", all, "pick:lite|pick:pg|back|back|ok|ok|ok", "2|3|2|1|2|3|accept q1=pg(d) q2=lite(d) q3=pg(d)"},
		{"back at the first", all, "back", "cannot_go_back@1"},
		{"edit", all, "pick:lite|pick:pg|edit:1|pick:pg|ok", "2|3|1|3|accept q1=pg q2=pg q3=pg(d)"},
		{"edit forward", all, "edit:3|pick:lite|ok|ok", "3|1|2|accept q1=pg(d) q2=lite(d) q3=lite"},
		{"edit beyond", all, "edit:4|edit:0", "no_such_part@1|no_such_part@1"},
		{"lines", all, "lines:pg,pg,lite", "accept q1=pg q2=pg q3=lite"},
		{"lines for the rest", all, "ok|lines:pg,lite", "2|accept q1=pg(d) q2=pg q3=lite"},
		{"lines after edit", all, "ok|ok|edit:1|lines:lite,lite", "2|3|1|accept q1=lite q2=lite(d) q3=lite"},
		{"lines may confirm what was seen", all, "ok|ok|edit:1|lines:ok,ok", "2|3|1|accept q1=pg(d) q2=lite(d) q3=pg(d)"},
		{"lines confirm nothing unseen", all, "lines:ok,ok,ok|lines:pg,ok,pg", "unclear@2|unclear@2"},
		{"the first line may confirm", all, "lines:ok,pg,pg", "accept q1=pg(d) q2=pg q3=pg"},
		{"too few lines", all, "lines:pg,pg", "unclear@1"},
		{"details", all, "details", "details@1"},
		{"no option", all, "pick:oracle", "unclear@1"},
		{"several for one", all, "pick:pg+lite", "unclear@1"},
		{"text where none is taken", all, "text:x|yes", "unclear@1|unclear@1"},
		{"empty text", set(free), "text: ", "no_text@1"},
		{"single", set(pick("A?")), "pick:pg", "accept q1=pg"},
	} {
		got := strings.Join(play(t, c.in, strings.Split(c.words, "|")...), "|")
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestDefaultAllSaysWhyItStops: what stands next says that nobody confirms a default not yet shown, until it is answered.
func TestDefaultAllSaysWhyItStops(t *testing.T) {
	t.Parallel()
	in := set(pick("A?", "pg"), pick("B?", "lite"), pick("C?", "pg"))
	for i, step := range []struct {
		said string
		held bool
	}{{"default all", true}, {"back", false}, {"ok", false}, {"default all", true}} {
		got, err := core.Apply(in, say(step.said), "local:ana", step.said)
		if err != nil {
			t.Fatal(err)
		}
		if got.Draft.Held != step.held || got.Show && got.Draft.Step == in.Draft.Step {
			t.Errorf("%d: %q: held %v, want %v", i, step.said, got.Draft.Held, step.held)
		}
		in.Draft = got.Draft
	}
}

func TestApplyForms(t *testing.T) {
	t.Parallel()
	schema := `{"properties":{"email":{"type":"string"},"role":{"type":"string","enum":["dev","ops"],"default":"dev"},"days":{"type":"integer"}},"required":["email","role"]}`
	in := formInput(schema)
	single := formInput(`{"properties":{"f":{"type":"boolean"}},"required":["f"]}`)
	for _, c := range []struct {
		name  string
		in    core.Input
		words string
		want  string
	}{
		{"field by field", in, `field:"a@b"|field:"ops"|field:3|yes`, `2|3|review|accept days=3 email="a@b" role="ops"`},
		{"falsy values", single, `field:false`, `accept f=false`},
		{"bad value", single, `field:"false"|field:0|field:null|field:`, "unclear@1|unclear@1|unclear@1|unclear@1"},
		{"optional skipped", in, `field:""|ok|skip|yes`, `2|3|review|accept email="" role="dev"`},
		{"required not skipped", in, `skip`, "unclear@1"},
		{"skip all with a required one open", in, `skip all|field:"x"|default|skip all|yes`, `unclear@1|2|3|review|accept email="x" role="dev"`},
		{"no default", in, `default`, "no_default@1"},
		{"default all", in, `default all|field:"x"|default all|yes`, `no_default@1|2|review|accept email="x" role="dev"`},
		{"no goes back to the first", in, `field:"x"|ok|field:1|no|field:"y"|ok|field:2|yes`, `2|3|review|1|2|3|review|accept days=2 email="y" role="dev"`},
		{"edit in the last look", in, `field:"x"|ok|field:1|edit:3|field:2|yes`, `2|3|review|3|review|accept days=2 email="x" role="dev"`},
		{"edit then leave out", in, `field:"x"|ok|field:1|edit:3|skip|yes`, `2|3|review|3|review|accept email="x" role="dev"`},
		{"back from the last look", in, `field:"x"|ok|field:1|back|field:7|yes`, `2|3|review|3|review|accept days=7 email="x" role="dev"`},
		{"edit beyond in the last look", in, `field:"x"|ok|field:1|edit:4|skip|default all|yes`, `2|3|review|no_such_part@3|unclear@1|unclear@1|accept days=1 email="x" role="dev"`},
		{"details in the last look", in, `field:"x"|ok|field:1|details`, `2|3|review|details@1`},
		{"back", in, `field:"x"|back|field:"y"`, "2|1|2"},
	} {
		got := strings.Join(play(t, c.in, strings.Split(c.words, "|")...), "|")
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestApplyKeepsWhoAnswered(t *testing.T) {
	t.Parallel()
	in := set(pick("A?"), pick("B?", "pg"))
	a, err := core.Apply(in, say("pick:pg"), "local:ana", "1")
	if err != nil {
		t.Fatal(err)
	}
	in.Draft = a.Draft
	a, err = core.Apply(in, say("skip"), "local:ben", "skip")
	if err != nil || a.Answer == nil || a.Answer.Choices[0].By != "local:ana" || a.Answer.Choices[1].By != "local:ben" {
		t.Errorf("%+v, %v", a.Answer, err)
	}
}

func TestApplyRefusesADamagedDraft(t *testing.T) {
	t.Parallel()
	in := set(pick("A?"))
	in.Draft.At = 7
	if _, err := core.Apply(in, say("pick:pg"), "local:ana", "1"); err == nil {
		t.Error("a draft beyond its set was applied")
	}
	if q, f, review := in.Shown(); q != nil || f != nil || review {
		t.Error("a draft beyond its set shows something")
	}
}

func TestShownAndOpen(t *testing.T) {
	t.Parallel()
	in := set(pick("A?", "pg"), pick("B?", "lite"), pick("C?", "pg"))
	if q, _, _ := in.Shown(); q == nil || q.Prompt != "A?" || core.OpenParts(in) != 3 {
		t.Errorf("at first: %v, %d open", q, core.OpenParts(in))
	}
	in.Draft.At = 2
	if got := core.Open(in); !slices.Equal(got, []int{2, 0, 1}) {
		t.Errorf("open %v, want the one shown first", got)
	}
	f := formInput(`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`)
	f.Draft.At = 1
	if _, field, _ := f.Shown(); field == nil || field.Name != "b" {
		t.Errorf("field %v", field)
	}
	f.Draft.Review = true
	if _, _, review := f.Shown(); !review || core.OpenParts(f) != 0 {
		t.Error("the last look is not shown as such")
	}
	if core.OpenParts(core.Input{Kind: core.KindApproval}) != 0 || core.OpenParts(core.Input{Kind: core.KindForm}) != 0 {
		t.Error("a verdict has parts")
	}
}

// Whatever is said in whatever order, nothing but a full draft ends an input, and what it ends with fits.
func FuzzApply(f *testing.F) {
	words := []string{"pick:pg", "pick:lite", "none", "text:x", "ok", "skip", "skip all", "default", "default all", "back", "edit:1", "edit:2", "edit:9",
		"details", "yes", "no", "lines:pg,pg", "lines:ok,pg,pg", `field:"a"`, "field:3", "field:false", "field:null"}
	f.Add([]byte{0, 1, 2})
	f.Add([]byte{18, 18, 19, 14})
	f.Add([]byte{5, 9, 8, 10, 0})
	free := pick("C?", "pg")
	free.FreeText, free.Multi = true, true
	f.Fuzz(func(t *testing.T, script []byte) {
		form := `{"properties":{"a":{"type":"string"},"b":{"type":"integer","default":1},"c":{"type":"boolean"}},"required":["a"]}`
		for _, in := range []core.Input{{Kind: core.KindApproval}, set(pick("A?", "pg"), pick("B?"), free), set(pick("A?")), formInput(form)} {
			for _, b := range script {
				w := words[int(b)%len(words)]
				a, err := core.Apply(in, say(w), "local:ana", w)
				if err != nil {
					t.Fatalf("%s: %v", w, err)
				}
				did := 0
				for _, is := range []bool{a.Answer != nil, a.Show, a.Note != ""} {
					if is {
						did++
					}
				}
				if did != 1 {
					t.Fatalf("%s did %d things: %+v", w, did, a)
				}
				if a.Answer != nil {
					checkAnswer(t, in, w, *a.Answer)
					break
				}
				in.Draft = reload(t, a.Draft)
			}
		}
	})
}

// checkAnswer checks an answer that the word w ended the input with.
func checkAnswer(t *testing.T, in core.Input, w string, a core.Answer) {
	t.Helper()
	switch in.Kind {
	case core.KindApproval:
		if (a.Action == core.ActionAccept) != (w == "yes") {
			t.Fatalf("%s became %s", w, a.Action)
		}
	case core.KindForm:
		form, err := core.ParseForm(in.Schema)
		if err != nil || len(form.Check(a.Fields)) > 0 || w != "yes" {
			t.Fatalf("%s handed in %v", w, a.Fields)
		}
	case core.KindQuestion:
		if a.Action != core.ActionDecline && len(a.Choices) != len(in.Questions) {
			t.Fatalf("%s: %d choices to %d questions", w, len(a.Choices), len(in.Questions))
		}
		for _, c := range a.Choices {
			if (a.Action == core.ActionSkip) && !c.Skipped || c.Values == nil {
				t.Fatalf("%s: %s", w, brief(a))
			}
		}
	}
}
