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

// In every language, what a prompt shows as a way to answer is in its text, and is read as that answer; the
// English words are read beside it, and quoted lines of the prompt are known again.
func TestRoundTripLanguages(t *testing.T) {
	t.Parallel()
	for _, tag := range words.Tags() {
		for _, d := range []render.Dialect{render.TestDialects()[0], render.TestDialects()[3]} { // without marks and with most
			t.Run(tag+"/"+d.Name, func(t *testing.T) {
				t.Parallel()
				v := render.View{Dialect: d, Lang: tag, Agent: "Ops", Now: coretest.Now}
				for _, in := range coretest.Inputs() {
					roundTrip(t, v, in)
				}
			})
		}
	}
}

func roundTrip(t *testing.T, v render.View, in core.Input) {
	text := render.PlainText(render.Prompt(v, in))
	main := words.For(v.Lang).Main
	for _, reply := range render.Replies(v, in) {
		if !strings.Contains(text, reply) {
			t.Errorf("%s: %q is offered and not shown:\n%s", in.ID, reply, text)
		}
		r := parse.Read(parse.Prompt{Input: in, Text: text, Lang: v.Lang}, reply)
		if r.Kind == core.ReadCancel {
			if reply != main.Cancel {
				t.Errorf("%s: %q cancels", in.ID, reply)
			}
			continue
		}
		if r.Kind != core.ReadAnswer && r.Kind != core.ReadCommand {
			t.Errorf("%s: %q is read as %s", in.ID, reply, describe(r))
			continue
		}
		applied, err := core.Apply(in, r, coretest.Asker, reply)
		if err != nil || applied.Note != "" {
			t.Errorf("%s: %q is read as %s, which does not apply: %v, note %q", in.ID, reply, describe(r), err, applied.Note)
		}
	}
	if in.Kind != core.KindApproval {
		return
	}
	p := parse.Prompt{Input: in, Text: text, Lang: v.Lang}
	for reply, want := range map[string]bool{main.Approve: true, main.Deny: false, "approve": true, "deny": false} {
		if r := parse.Read(p, reply); r.Kind != core.ReadAnswer || r.Yes != want {
			t.Errorf("%s: %q is read as %s", in.ID, reply, describe(r))
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if parse.Fold(line) == "" || strings.HasPrefix(line, ">") {
			continue
		}
		if r := parse.Read(p, "> "+line+"\n"+main.Approve); r.Kind != core.ReadAnswer || !r.Yes {
			t.Errorf("%s: below %q the answer is read as %s", in.ID, line, describe(r))
		}
	}
}
