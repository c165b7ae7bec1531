package render

import (
	"encoding/json"
	"strings"

	"parley/core"
)

// Closed renders what replaces the prompt of an input once it ended: how, who ended it and when, and what
// became of the call that it was about, which may still be running. It has as many parts as the prompt of the
// same view had, all but the last as they were, and no buttons.
func Closed(v View, in core.Input, call *core.Call) []Part {
	if _, f, _ := in.Shown(); f != nil && f.Secret && v.Shared {
		return Note(v, NoteData{Code: core.NoteSecretField, Input: &in})
	}
	w := newWriter(v)
	a := w.asking(in)
	parts := w.pack(&a)
	ended := w.ended(in, call)
	last := w.closing(in, a, parts[len(parts)-1], len(parts) > 1)
	all := append(append([]block(nil), ended...), last...)
	if limit := w.Dialect.Limit; limit > 0 && w.packing().cost(all) > limit {
		all = w.packing().pack(ended, nil)[0]
	}
	parts[len(parts)-1] = all
	return w.draw(parts, a.file)
}

// NotRun says in one line of an input that was accepted that its call never ran, and why, for a chat whose prompts
// cannot be edited to say so. It is empty for a call that ran or may still run.
func NotRun(v View, in core.Input, call *core.Call) []Part {
	key := callState(in, call)
	switch key {
	case "call.superseded", "call.cancelled", "call.expired", "call.not_run":
	default:
		return nil
	}
	if in.State != core.InputAccepted {
		return nil
	}
	w := newWriter(v)
	segs := []seg{{plain, mark + " "}}
	if in.Of > 1 && in.Code != "" {
		segs = append(segs, seg{bold, in.Code}, seg{plain, " · "})
	}
	name := w.fullTool(in)
	if in.Tool == "" {
		name = seg{plain, w.what(in)}
	}
	segs = append(append(segs, w.s.isolated(name)...), seg{plain, " · "})
	segs = append(append(segs, w.s.isolated(seg{plain, w.how(in)})...), seg{plain, " · " + w.s.text[key]})
	a := asking{body: one(line(segs...))}
	return w.draw(w.pack(&a), nil)
}

// closing is what stays of the last part below how it ended: of an approval the call as it was shown, of all
// others what was asked, with the answers.
func (w *writer) closing(in core.Input, a asking, last []block, split bool) []block {
	if in.Kind != core.KindApproval {
		return w.outcome(in, a)
	}
	last = last[:max(0, len(last)-len(a.tail))] // a tail too long for a part stands in several
	if split {
		return last[min(1, len(last)):] // without "(continued)"
	}
	return last[min(len(a.head), len(last)):]
}

// ended are the lines that say how an input ended.
func (w *writer) ended(in core.Input, call *core.Call) []block {
	out := []block{w.head(w.how(in))}
	if in.Settled != nil && in.Settled.Answer != nil && in.Settled.Answer.Reason != "" {
		out = append(out, w.line("end.reason", nil), quoted(clip(in.Settled.Answer.Reason, 500)))
	}
	if key := callState(in, call); key != "" {
		out = append(out, w.head(w.s.text[key]))
	}
	return out
}

// how says how an input ended, without a full stop.
func (w *writer) how(in core.Input) string {
	if in.Pending() || in.State == "" {
		return w.s.text["end.waits"]
	}
	key := "end." + string(in.State)
	values := args{"by": {plain, w.s.text["person.none"]}, "at": {plain, "?"}}
	if in.Settled != nil {
		values["at"] = seg{plain, when(in.Settled.At)}
		if in.Settled.By != "" {
			values["by"] = seg{plain, w.person(in.Settled.By)}
		}
	}
	if k := key + ".nobody"; (in.Settled == nil || in.Settled.By == "") && w.s.has(k) {
		key = k
	}
	if k := key + ".approval"; in.Kind == core.KindApproval && w.s.has(k) {
		key = k
	}
	return w.s.flat(key, values)
}

// callState is the sentence for what became of the call, "" where there is nothing to add.
func callState(in core.Input, call *core.Call) string {
	if call == nil || in.Kind == core.KindQuestion && in.Purpose != core.PurposeUnknown {
		return ""
	}
	if r := call.Result; r != nil {
		switch r.Outcome {
		case core.OutcomeNotRun:
			return "call.not_run"
		case core.OutcomeInterrupted:
			return "call.interrupted"
		}
	}
	switch call.Status {
	case core.CallExecuting, core.CallExecuted, core.CallFailed:
		return "call." + string(call.Status)
	case core.CallSuperseded, core.CallCancelled, core.CallExpired:
		if in.State == core.InputAccepted {
			return "call." + string(call.Status)
		}
	case core.CallPending:
		if in.State == core.InputAccepted && in.Of > 1 {
			return "call.pending"
		}
	}
	return ""
}

// outcome is what was asked, with the answers that were given.
func (w *writer) outcome(in core.Input, a asking) []block {
	in = w.local(in)
	out := []block{w.asks(in)}
	if m := foreign(w.said(in)); m != "" {
		out = append(out, quoted(clip(w.hide(m), 1000)))
	}
	answer := core.Answer{}
	if in.Settled != nil && in.Settled.Answer != nil {
		answer = *in.Settled.Answer
	}
	if in.Kind != core.KindForm {
		for _, q := range in.Questions {
			out = append(out, quoted(clip(q.Prompt, 300)))
			for _, c := range answer.Choices {
				if c.Question == q.ID {
					out = append(out, w.line("end.answers", args{"answer": {plain, w.choice(q, c)}}))
				}
			}
		}
		return out
	}
	form, err := core.ParseForm(in.Schema)
	if err == nil && in.State == core.InputAccepted && answer.Fields != nil {
		out = append(out, w.filled(form, map[string]json.RawMessage(answer.Fields), in.Redact)...)
	}
	return out
}

// choice is the answer to one question as it was shown.
func (w *writer) choice(q core.Question, c core.Choice) string {
	var names []string
	for _, v := range c.Values {
		for _, o := range q.Options {
			if o.Value == v {
				names = append(names, clip(oneLine(o.Label), 80))
			}
		}
	}
	if c.Text != "" {
		names = append(names, clip(oneLine(c.Text), 300))
	}
	s := strings.Join(names, w.s.text["list.comma"])
	if s == "" {
		s = w.s.text["none"]
	}
	switch {
	case c.Skipped:
		return w.s.flat("end.skipped.one", args{"answer": {plain, s}})
	case c.Defaulted:
		return w.s.flat("end.defaulted", args{"answer": {plain, s}})
	default:
		return s
	}
}
