package channels_test

import (
	"strings"
	"testing"

	"parley/core"
	"parley/core/coretest"
	"parley/core/words"
	"parley/parse"
	"parley/render"
)

// taking is a question, or a field of a form, with options that take words over.
func taking(labels []string, free, form, byValue bool) core.Input {
	in := coretest.Input("question-multi")
	if form {
		in = coretest.Input("form-enum")
		in.Draft = core.Draft{}
		quoted := make([]string, len(labels))
		for i, l := range labels {
			quoted[i] = `"` + l + `"`
		}
		list := strings.Join(quoted, ",")
		in.Schema = []byte(`{"type":"object","properties":{"x":{"type":"string","enum":[` + list + `],"default":` + quoted[0] + `}}}`)
		return in
	}
	q := core.Question{ID: "q", Prompt: "Which?", FreeText: free, Defaults: []string{labels[0]}}
	for i, l := range labels {
		o := core.Option{Value: l, Label: strings.ToUpper(l[:1]) + l[1:]}
		if byValue {
			o.Label = "Alpha Beta Gamma"[6*(i%3):][:4] + " " + words.Position(i, true) + "x"
		}
		q.Options = append(q.Options, o)
	}
	earlier := core.Question{ID: "p", Prompt: "First?", Options: []core.Option{{Value: "x", Label: "Xerxes"}}}
	in.Questions = []core.Question{earlier, q}
	in.Draft = core.Draft{At: 1, Step: 1, Seen: []int{0}, Choices: []core.Choice{{Question: "p", Values: []string{"x"}}}}
	return in
}

// In every language, an option that is named like a word of ours takes it over; the prompt names another for it,
// and that one does what the first would have done.
func TestRoundTripTakenWords(t *testing.T) {
	t.Parallel()
	for _, tag := range words.Tags() {
		l := words.For(tag)
		m, en := l.Main, words.For("en").Main
		for name, labels := range map[string][]string{
			"cancel": {m.Cancel, "Ship it"}, "two": {m.Cancel, l.Cancel[1], "Ship it"}, "english": {en.Cancel, "Ship it"},
			"all": {m.Cancel, m.Skip, m.Back, m.Default, m.Details}, "ship": {"Ship it", "Wait for it"},
		} {
			for _, kind := range []string{"question", "free", "form", "value"} {
				t.Run(tag+"/"+name+"/"+kind, func(t *testing.T) {
					t.Parallel()
					in := taking(labels, kind == "free", kind == "form", kind == "value")
					v := render.View{Dialect: render.TestDialects()[0], Lang: tag, Agent: "Ops", Now: coretest.Now}
					checkTaken(t, v, in, name == "ship" && kind != "free")
				})
			}
		}
	}
}

func checkTaken(t *testing.T, v render.View, in core.Input, silent bool) {
	text := render.PlainText(render.Prompt(v, in))
	cancels, moves := 0, map[core.Verb]int{}
	for _, reply := range render.Replies(v, in) {
		if !strings.Contains(text, reply) {
			t.Errorf("%q is offered and not shown:\n%s", reply, text)
		}
		switch r := parse.Read(parse.Prompt{Input: in, Text: text, Lang: v.Lang}, reply); r.Kind {
		case core.ReadCancel:
			cancels++
		case core.ReadCommand:
			moves[r.Verb]++
		case core.ReadAnswer:
		default:
			t.Errorf("%q is read as %s:\n%s", reply, describe(r), text)
		}
	}
	if cancels != 1 && !silent || silent && cancels != 0 {
		t.Errorf("%d ways to leave:\n%s", cancels, text)
	}
	if moves[core.VerbSkip] != 1 || in.Draft.At > 0 && moves[core.VerbBack] != 1 {
		t.Errorf("moves %v:\n%s", moves, text)
	}
}
