package inbox

import (
	"encoding/json"
	"time"

	"parley/core"
	"parley/render"
)

// inputEntry draws an event about an input: what was shown, who answered, how it was read.
func inputEntry(in core.Input, e core.Event) entry {
	out := entry{Kind: "audit", Link: "/inbox/inputs/" + string(in.ID), LinkText: heading(in)}
	by := render.Visible(string(e.By))
	switch e.Type {
	case core.EventApproval, core.EventElicitation:
		out.Kind, out.Title, out.Text = "ask", "Asked: "+heading(in), render.Hidden(in.Message)
		for _, q := range in.Questions {
			out.fact("Question", render.Visible(q.Prompt))
		}
		for _, p := range in.Prompts {
			out.fact("Shown", place(p.Conversation)+" at "+stamp(p.DeliveredAt))
		}
		if !in.ExpiresAt.IsZero() {
			out.fact("Expires", stamp(in.ExpiresAt))
		}
	case core.EventInputResolved:
		out.Kind = "ask"
		settledEntry(&out, in)
	case core.EventAnswered:
		out.Title = by + " answered a part, via " + e.Via
		out.fact("As typed", typed(in, datum(e, "raw")))
		for _, a := range partRead(in, e) {
			out.fact("Read as", a.Label+": "+a.Value)
		}
	case core.EventUnclear:
		out.Title = by + " said what could not be read as an answer"
		out.fact("As typed", typed(in, datum(e, "raw")))
		out.fact("Read as", render.Visible("unclear: "+datum(e, "hint")))
	case core.EventRefused:
		out.Title = by + ", who may not, tried to answer or to look, via " + e.Via
	case core.EventRevealed:
		out.Title = by + " looked at what is masked, via " + e.Via
	case core.EventChanged:
		changedEntry(&out, in, e)
	default:
		out.Title = string(e.Type)
	}
	return out
}

// partRead is what a reply to one part of a set or form was taken for.
func partRead(in core.Input, e core.Event) []pair {
	var a core.Answer
	if json.Unmarshal(e.Data, &a) != nil {
		return nil
	}
	return answers(in, a)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func settledEntry(out *entry, in core.Input) {
	end := endOf(in)
	out.Title = end.Sentence
	if s := in.Settled; s != nil {
		out.fact("Waited", lasting(end.Waited))
		out.fact("As typed", typed(in, s.Raw))
	}
	if in.State.Settled() {
		out.fact("Read as", string(in.State))
	}
	for _, a := range end.Answers {
		out.fact(a.Label, a.Value)
	}
	out.fact("Reason", end.Reason)
}

func changedEntry(out *entry, in core.Input, e core.Event) {
	out.Title = render.Visible(string(e.By)) + " changed the arguments, via " + e.Via
	var d struct{ Was, Now json.RawMessage }
	if json.Unmarshal(e.Data, &d) == nil {
		was, _ := render.Masked(d.Was, in.Redact)
		now, _ := render.Masked(d.Now, in.Redact)
		out.fact("Was", was)
		out.fact("Now", now)
	}
}

// typed is a reply as it was typed. Where a secret was asked for the reply may be one.
func typed(in core.Input, raw string) string {
	if raw == "" {
		return ""
	}
	if form, err := core.ParseForm(in.Schema); err != nil || form.HasSecret() || len(in.Redact) > 0 && in.Kind == core.KindForm {
		return "masked, since a secret was asked for"
	}
	return render.Hidden(raw)
}
