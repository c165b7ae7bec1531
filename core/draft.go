package core

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Applied is what a typed reading did to an input. Exactly one holds: Answer ends the input; Show asks
// for a prompt of the new Draft; Note says a line and the Draft is unchanged.
type Applied struct {
	Draft  Draft
	Answer *Answer
	Show   bool
	Note   NoteCode
	// Question is the question or field that Note is about, from 0.
	Question int
}

// leftOut is the drafted value of an optional field that was skipped.
var leftOut = json.RawMessage("null")

// Apply does what a reading of a typed message means for the input it addresses. A verdict ends the
// input. A set or form is filled one question at a time: what is open is asked in order, back and edit open
// a question again, and a form of several fields ends in a last look. Only answers and commands can be
// applied. raw is the text as typed: without any text nothing is ever an answer.
func Apply(in Input, r Reading, by PersonID, raw string) (Applied, error) {
	if r.Kind != ReadAnswer && r.Kind != ReadCommand {
		return Applied{}, fmt.Errorf("apply to input %s: a reading of kind %s does nothing to it", in.ID, r.Kind)
	}
	if !shows(raw) {
		return Applied{Draft: in.Draft, Note: NoteNoText}, nil
	}
	if r.Kind == ReadCommand && r.Verb == VerbDetails {
		return Applied{Draft: in.Draft, Note: NoteDetails}, nil
	}
	d, err := newDrafting(in, by)
	if err != nil {
		return Applied{}, fmt.Errorf("apply to input %s: %w", in.ID, err)
	}
	if d.parts() == 0 {
		return d.verdict(r)
	}
	if r.Kind == ReadCommand {
		return d.command(r)
	}
	return d.answer(r)
}

// drafting is one change of a draft. Its draft is a copy: the input's stays as it is.
type drafting struct {
	in    Input
	form  Form
	draft Draft
	by    PersonID
}

func newDrafting(in Input, by PersonID) (*drafting, error) {
	d := &drafting{in: in, draft: in.Draft, by: by}
	d.draft.Choices = slices.Clone(in.Draft.Choices)
	d.draft.Seen = slices.Clone(in.Draft.Seen)
	d.draft.Fields = map[string]Field{}
	for k, v := range in.Draft.Fields {
		d.draft.Fields[k] = v
	}
	var err error
	if in.Kind == KindForm {
		d.form, err = ParseForm(in.Schema)
	}
	if n := d.parts(); err == nil && n > 0 && (d.draft.At < 0 || d.draft.At >= n) {
		err = fmt.Errorf("its draft stands at %d of %d", d.draft.At+1, n)
	}
	return d, err
}

// parts is how many questions or fields there are; 0 for an input that takes a verdict.
func (d *drafting) parts() int {
	switch d.in.Kind {
	case KindQuestion:
		return len(d.in.Questions)
	case KindForm:
		return len(d.form.Fields)
	default:
		return 0
	}
}

func (d *drafting) note(n NoteCode, question int) (Applied, error) {
	return Applied{Draft: d.in.Draft, Note: n, Question: question}, nil
}

func (d *drafting) verdict(r Reading) (Applied, error) {
	if r.Kind == ReadCommand {
		return d.note(NoteUnclear, 0)
	}
	a := Answer{Action: ActionDecline}
	if r.Yes {
		a.Action = ActionAccept
	} else {
		a.Reason = r.Reason
	}
	return Applied{Draft: d.in.Draft, Answer: &a}, nil
}

func (d *drafting) answer(r Reading) (Applied, error) {
	switch {
	case d.draft.Review:
		if r.Yes {
			return d.finish()
		}
		d.draft.Fields = map[string]Field{}
		return d.show(0)
	case len(r.Parts) > 0:
		open := d.open()
		if len(r.Parts) != len(open) {
			return d.note(NoteUnclear, d.draft.At)
		}
		for i, p := range r.Parts {
			if p.Default && !d.seen(open[i]) {
				return d.note(NoteUnclear, open[i])
			}
			if n := d.put(open[i], p); n != "" {
				return d.note(n, open[i])
			}
		}
	case r.Part != nil:
		if n := d.put(d.draft.At, *r.Part); n != "" {
			return d.note(n, d.draft.At)
		}
	default:
		return d.note(NoteUnclear, d.draft.At)
	}
	return d.next()
}

// put drafts the answer to one question or field. A note says why it was not taken.
func (d *drafting) put(i int, p Part) NoteCode {
	if d.in.Kind == KindForm {
		return d.putField(d.form.Fields[i], p)
	}
	q := d.in.Questions[i]
	c := Choice{Question: q.ID, Values: q.inOrder(p.Values), Text: p.Text, By: d.by}
	switch {
	case p.Default && !q.HasDefaults():
		return NoteNoDefault
	case p.Default:
		c = defaultChoice(q)
		c.Defaulted, c.By = true, d.by
	case len(c.Values) != len(p.Values), p.Text != "" && !q.FreeText, !q.Multi && len(p.Values) > 1:
		return NoteUnclear
	case p.Values == nil && !shows(p.Text):
		return NoteNoText
	}
	d.putChoice(i, c)
	return ""
}

func (d *drafting) putField(f FormField, p Part) NoteCode {
	value := p.Field
	if p.Default {
		if value = f.Default; value == nil {
			return NoteNoDefault
		}
	}
	if f.Check(value) != "" {
		return NoteUnclear
	}
	d.draft.Fields[f.Name] = Field{Value: value, By: d.by}
	return ""
}

// putChoice keeps the choices in the order of the questions.
func (d *drafting) putChoice(i int, c Choice) {
	d.reopen(i)
	d.draft.Choices = append(d.draft.Choices, c)
	slices.SortStableFunc(d.draft.Choices, func(a, b Choice) int {
		return d.in.question(a.Question) - d.in.question(b.Question)
	})
}

// reopen takes back what was answered to one question or field.
func (d *drafting) reopen(i int) {
	if d.in.Kind == KindForm {
		delete(d.draft.Fields, d.form.Fields[i].Name)
		return
	}
	id := d.in.Questions[i].ID
	d.draft.Choices = slices.DeleteFunc(d.draft.Choices, func(c Choice) bool { return c.Question == id })
}

func (d *drafting) answered(i int) bool {
	if d.in.Kind == KindForm {
		_, ok := d.draft.Fields[d.form.Fields[i].Name]
		return ok
	}
	id := d.in.Questions[i].ID
	return slices.ContainsFunc(d.draft.Choices, func(c Choice) bool { return c.Question == id })
}

// open lists what is still to be answered: the one shown first, the others in order.
func (d *drafting) open() []int {
	if d.draft.Review {
		return nil
	}
	var out []int
	for i := range d.parts() {
		if i == d.draft.At {
			out = append([]int{i}, out...)
		} else if !d.answered(i) {
			out = append(out, i)
		}
	}
	return out
}

// seen reports whether a question or field was shown: nobody confirms a default not yet shown.
func (d *drafting) seen(i int) bool { return i == d.draft.At || slices.Contains(d.draft.Seen, i) }

// show moves to question i.
func (d *drafting) show(i int) (Applied, error) {
	if !slices.Contains(d.draft.Seen, d.draft.At) {
		d.draft.Seen = append(d.draft.Seen, d.draft.At)
	}
	d.draft.At, d.draft.Review, d.draft.Held = i, false, false
	d.draft.Step++
	return Applied{Draft: d.draft, Show: true}, nil
}

// next shows what is open, or the last look, or ends the input.
func (d *drafting) next() (Applied, error) {
	for i := range d.parts() {
		if !d.answered(i) {
			return d.show(i)
		}
	}
	if len(d.form.Fields) > 1 {
		d.draft.Review, d.draft.Held = true, false
		d.draft.Step++
		return Applied{Draft: d.draft, Show: true}, nil
	}
	return d.finish()
}

// finish makes the answer of a full draft.
func (d *drafting) finish() (Applied, error) {
	var a Answer
	switch {
	case d.in.Kind == KindForm:
		a = Answer{Action: ActionAccept, Fields: map[string]json.RawMessage{}}
		for name, f := range d.draft.Fields {
			if string(f.Value) != string(leftOut) {
				a.Fields[name] = f.Value
			}
		}
		if bad := d.form.Check(a.Fields); len(bad) > 0 {
			return Applied{}, fmt.Errorf("hand in the draft of %w", invalid(d.in, bad...))
		}
	case !slices.ContainsFunc(d.draft.Choices, func(c Choice) bool { return !c.Skipped }):
		a = skipAll(d.in, "")
		for i := range a.Choices {
			a.Choices[i].By = d.by
		}
	default:
		a = Answer{Action: ActionAccept, Choices: d.draft.Choices}
	}
	return Applied{Draft: d.draft, Answer: &a}, nil
}
