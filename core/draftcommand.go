package core

// command acts on the question or field shown. "default all" takes the defaults of all questions that were
// shown; those that were not are shown next, since nobody confirms a default not yet shown.
func (d *drafting) command(r Reading) (Applied, error) {
	if d.draft.Review && r.Verb != VerbBack && r.Verb != VerbEdit {
		return d.note(NoteUnclear, 0)
	}
	at := d.draft.At
	switch r.Verb {
	case VerbSkip:
		if !d.skip(at) {
			return d.note(NoteUnclear, at)
		}
	case VerbSkipAll:
		for _, i := range d.open() {
			if !d.skip(i) {
				return d.note(NoteUnclear, i)
			}
		}
	case VerbDefault:
		if n := d.put(at, Part{Default: true}); n != "" {
			return d.note(n, at)
		}
	case VerbDefaultAll:
		held := false
		for _, i := range d.open() {
			if d.in.Kind == KindQuestion && !d.seen(i) {
				held = true
				continue // it is shown next; a form ends in a last look instead
			}
			if n := d.defaultOrLeave(i); n != "" {
				return d.note(n, i)
			}
		}
		applied, err := d.next()
		applied.Draft.Held = held && applied.Show
		return applied, err
	case VerbBack:
		return d.back()
	case VerbEdit:
		if r.N < 1 || r.N > d.parts() {
			return d.note(NoteNoSuchPart, at)
		}
		d.reopen(r.N - 1)
		return d.show(r.N - 1)
	default:
		return d.note(NoteUnclear, at)
	}
	return d.next()
}

// back opens the question before the one shown, or the last one after the last look.
func (d *drafting) back() (Applied, error) {
	to := d.draft.At - 1
	if d.draft.Review {
		to = d.parts() - 1
	}
	if to < 0 {
		return d.note(NoteCannotGoBack, d.draft.At)
	}
	d.reopen(to)
	return d.show(to)
}

// skip passes over a question, whose defaults then stand unconfirmed, or an optional field, which is left
// out. It reports false for a required field.
func (d *drafting) skip(i int) bool {
	if d.in.Kind == KindForm {
		f := d.form.Fields[i]
		if f.Required {
			return false
		}
		d.draft.Fields[f.Name] = Field{Value: leftOut, By: d.by}
		return true
	}
	c := defaultChoice(d.in.Questions[i])
	c.Skipped, c.By = true, d.by
	d.putChoice(i, c)
	return true
}

// defaultOrLeave takes the default of one question or field. An optional field without one is left out:
// the last look shows it before anything is handed in.
func (d *drafting) defaultOrLeave(i int) NoteCode {
	if d.in.Kind == KindForm && d.form.Fields[i].Default == nil && d.skip(i) {
		return ""
	}
	return d.put(i, Part{Default: true})
}

// Shown is what the live prompt of a set or form asks: a question, a field, or the last look. All are
// nil and false for an input that takes a verdict.
func (in Input) Shown() (q *Question, f *FormField, review bool) {
	d, err := newDrafting(in, "")
	switch {
	case err != nil || d.parts() == 0:
		return nil, nil, false
	case in.Draft.Review:
		return nil, nil, true
	case in.Kind == KindForm:
		return nil, &d.form.Fields[in.Draft.At], false
	default:
		return &in.Questions[in.Draft.At], nil, false
	}
}

// Open lists the questions or fields of a set or form that are still to be answered, from 0: the one shown
// first, then the others in order. Reading.Parts follows it. It is empty in the last look and for a verdict.
func Open(in Input) []int {
	d, err := newDrafting(in, "")
	if err != nil || d.parts() == 0 {
		return nil
	}
	return d.open()
}

// OpenParts is how many lines a reply has that answers everything open at once.
func OpenParts(in Input) int { return len(Open(in)) }
