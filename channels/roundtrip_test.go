package channels_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/channels/terminal"
	"parley/core"
	"parley/core/coretest"
	"parley/core/words"
	"parley/parse"
	"parley/render"
)

// eachPrompt runs check on every fixture as every dialect shows it, the terminal's own among them.
func eachPrompt(t *testing.T, check func(t *testing.T, v render.View, in core.Input, parts []render.Part)) {
	t.Helper()
	for _, d := range append(render.TestDialects(), (*terminal.Adapter)(nil).Dialect()) {
		for _, in := range coretest.Inputs() {
			t.Run(d.Name+"/"+string(in.ID), func(t *testing.T) {
				t.Parallel()
				v := render.View{Dialect: d, Agent: "Ops", Now: coretest.Now}
				check(t, v, in, render.Prompt(v, in))
			})
		}
	}
}

// typed are the forms in which a platform may hand over a reply: as it is, and with its escapes.
func typed(d render.Dialect, reply string) map[string]parse.Markup {
	out := map[string]parse.Markup{reply: {}}
	if d.Style == render.Mrkdwn {
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(reply)
		out = map[string]parse.Markup{escaped: {Entities: true, AngleLinks: true, Shortcodes: true}}
	}
	return out
}

// Whatever a prompt shows as a way to answer is in its text, and is read as that answer.
func TestRoundTripReplies(t *testing.T) {
	t.Parallel()
	eachPrompt(t, func(t *testing.T, v render.View, in core.Input, parts []render.Part) {
		text := render.PlainText(parts)
		replies := render.Replies(v, in)
		if len(replies) == 0 {
			t.Fatal("the prompt names no reply")
		}
		for _, reply := range replies {
			if !strings.Contains(text, reply) {
				t.Errorf("%q is offered and not shown:\n%s", reply, text)
			}
			for as, markup := range typed(v.Dialect, reply) {
				r := parse.Read(parse.Prompt{Input: in, Text: text, Markup: markup}, as)
				checkReading(t, in, reply, r)
			}
		}
	})
}

// checkReading: a reply that a prompt names is never unclear and never another message, and does what core
// lets it do.
func checkReading(t *testing.T, in core.Input, reply string, r core.Reading) {
	t.Helper()
	switch r.Kind {
	case core.ReadCancel:
		if reply != words.For("").Main.Cancel && reply != "/cancel" {
			t.Errorf("%q cancels", reply)
		}
		return
	case core.ReadAnswer, core.ReadCommand:
	default:
		t.Errorf("%q is read as %s %s", reply, r.Kind, r.Hint)
		return
	}
	applied, err := core.Apply(in, r, coretest.Asker, reply)
	if err != nil || applied.Note != "" {
		t.Errorf("%q is read as %+v, which does not apply: %v, note %q", reply, r, err, applied.Note)
	}
	if want, ok := verdict(in, reply); ok && (r.Kind != core.ReadAnswer || r.Yes != want) {
		t.Errorf("%q is read as %+v, want the verdict %v", reply, r, want)
	}
}

// verdict is what the main words mean for an input that takes a yes or a no.
func verdict(in core.Input, reply string) (yes, ok bool) {
	if in.Kind == core.KindQuestion || in.Kind == core.KindForm && !in.Confirmation() && !in.Draft.Review {
		return false, false
	}
	w := words.For("").Main
	switch reply {
	case w.Approve, w.Yes, w.Done:
		return true, true
	case w.Deny, w.No:
		return false, true
	}
	return false, false
}

// Every option of a question is read by its position, by its label and by its line as the prompt shows it.
func TestRoundTripOptions(t *testing.T) {
	t.Parallel()
	eachPrompt(t, func(t *testing.T, v render.View, in core.Input, parts []render.Part) {
		q, _, _ := in.Shown()
		if q == nil {
			return
		}
		text := render.PlainText(parts)
		lettered := parse.Lettered(q.Options, "")
		for i, o := range q.Options {
			place := words.Position(i, lettered)
			if !strings.Contains(text, place+") ") {
				t.Errorf("option %s is not shown:\n%s", place, text)
			}
			ways := []string{place, place + ".", place + ")"}
			if strings.Contains(text, place+") "+o.Label) && !strings.ContainsAny(o.Label, "\n") {
				ways = append(ways, o.Label, place+") "+o.Label)
			}
			for _, way := range ways {
				if sameFold(q.Options, i) && way == o.Label {
					continue
				}
				for as, markup := range typed(v.Dialect, way) {
					r := parse.Read(parse.Prompt{Input: in, Text: text, Markup: markup}, as)
					if r.Kind != core.ReadAnswer || r.Part == nil || !slices.Equal(r.Part.Values, []string{o.Value}) {
						t.Errorf("%q is read as %s, want %q", way, describe(r), o.Value)
					}
				}
			}
		}
	})
}

// sameFold reports whether another option's label folds to that of option i.
func sameFold(options []core.Option, i int) bool {
	for j, o := range options {
		if j != i && parse.Fold(o.Label) == parse.Fold(options[i].Label) {
			return true
		}
	}
	return false
}

func describe(r core.Reading) string {
	s := r.Kind.String() + " " + string(r.Hint) + " " + string(r.Verb)
	if r.Part != nil {
		s += " values " + strconv.Quote(strings.Join(r.Part.Values, ",")) + " text " + strconv.Quote(r.Part.Text)
	}
	return s
}

// A button does what typing its reply does, at the step it stands under.
func TestRoundTripButtons(t *testing.T) {
	t.Parallel()
	eachPrompt(t, func(t *testing.T, v render.View, in core.Input, parts []render.Part) {
		for i, p := range parts {
			if len(p.Buttons) > 0 && i < len(parts)-1 {
				t.Errorf("part %d of %d has buttons", i+1, len(parts))
			}
			for _, b := range p.Buttons {
				if b.URL != "" {
					continue
				}
				if b.Input != in.ID || b.Step != in.Draft.Step {
					t.Errorf("button %q stands under %s at step %d", b.Label, b.Input, b.Step)
				}
				checkReading(t, in, b.Reply, parse.Read(parse.Prompt{Input: in}, b.Reply))
			}
		}
	})
}

// A reply below quoted lines of the prompt is that reply; below a line of something else it is not.
func TestRoundTripQuotes(t *testing.T) {
	t.Parallel()
	eachPrompt(t, func(t *testing.T, v render.View, in core.Input, parts []render.Part) {
		if in.Kind != core.KindApproval {
			return
		}
		text := render.PlainText(parts)
		for line := range strings.SplitSeq(text, "\n") {
			if parse.Fold(line) == "" || strings.HasPrefix(line, ">") {
				continue
			}
			r := parse.Read(parse.Prompt{Input: in, Text: text}, "> "+line+"\nyes")
			if r.Kind != core.ReadAnswer || !r.Yes {
				t.Errorf("below %q yes is read as %s", line, describe(r))
			}
		}
		if r := parse.Read(parse.Prompt{Input: in, Text: text}, "> pay the invoice\nyes"); r.Kind == core.ReadAnswer {
			t.Error("yes below a quotation of something else answers")
		}
	})
}
