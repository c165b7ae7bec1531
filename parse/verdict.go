package parse

import "parley/core"

// verdictOf reads a text by the closed grammar of an approval, a confirmation, a last look or a URL step.
func (r *Reader) verdictOf(its []item) (yes, no bool) {
	if r.p.Exact && !mainWord(its) {
		return false, false
	}
	if r.p.Input.Kind == core.KindURL {
		said := only(withoutPlease(its))
		return said&isDone != 0, said&isUndone != 0
	}
	yes, no = consents(its, r.consent()), refuses(its)
	if yes && no {
		return false, false
	}
	return yes, no
}

// mainWord reports whether the text is one of the words that the prompt names.
func mainWord(its []item) bool { return only(its)&isMain != 0 }

// consent are the roles of a word of consent here.
func (r *Reader) consent() role {
	if r.p.Input.Kind == core.KindApproval {
		return isYes
	}
	return isYes | isConfirm
}

// consents is the whole grammar of consent: W or W W, then perhaps "it", then perhaps please or thanks.
// Nothing else may ever approve.
func consents(its []item, of role) bool {
	its = withoutPlease(its)
	its = withoutIt(its)
	if len(its) < 1 || len(its) > 2 {
		return false
	}
	for _, it := range its {
		if it.roles&of == 0 || it.roles&isNo != 0 || it.sep == '/' {
			return false
		}
	}
	return true
}

// refuses is the grammar of refusal: one refusal or more in a row, then perhaps "it" and thanks.
func refuses(its []item) bool {
	its = withoutPlease(its)
	its = withoutIt(its)
	for i := 0; i < len(its); i++ {
		if its[i].roles&isNo == 0 || its[i].roles&isYes != 0 || its[i].sep == '/' {
			return false
		}
		if its[i].roles&isDont == 0 || i+1 == len(its) || its[i+1].sep != ' ' {
			continue
		}
		switch next := its[i+1].roles; {
		case next&isDontDeny != 0:
			return false // "don't deny" says the contrary
		case next&isDontDo != 0:
			i++
		}
	}
	return len(its) > 0
}

// only are the roles of a text that is one phrase; none for any other.
func only(its []item) role {
	if len(its) != 1 || its[0].sep == '/' {
		return 0
	}
	return its[0].roles
}

// withoutPlease takes a please or thanks off the end, if something stands before it.
func withoutPlease(its []item) []item {
	if n := len(its) - 1; n > 0 && its[n].roles&isPlease != 0 && its[n].sep != '/' {
		return its[:n]
	}
	return its
}

func withoutIt(its []item) []item {
	if n := len(its) - 1; n > 0 && its[n].roles&isIt != 0 && its[n].sep == ' ' {
		return its[:n]
	}
	return its
}

// verdict reads a message against an input that takes yes or no.
func (r *Reader) verdict(m message) core.Reading {
	var buf [maxItems + 2]item
	its, ok := r.lex.items(m.folded, buf[:0])
	if !ok {
		return core.Reading{}
	}
	yes, no := r.verdictOf(its)
	switch {
	case (yes || no) && m.asked:
		return unclear(core.HintWords)
	case yes || no:
		return core.Reading{Kind: core.ReadAnswer, Yes: yes}
	}
	if c, ok := r.command(its, m); ok {
		return c
	}
	if got, ok := r.lastLook(its, m); ok {
		return got
	}
	return r.near(its, m.folded, r.verdictWords())
}

// lastLook reads what goes back from the last look at a form.
func (r *Reader) lastLook(its []item, m message) (core.Reading, bool) {
	if !r.p.Input.Draft.Review || m.asked {
		return core.Reading{}, false
	}
	if n, ok := r.edit(m.folded); ok {
		return r.editing(n), true
	}
	switch roles := only(withoutPlease(its)); {
	case roles&isBack != 0:
		return command(core.VerbBack), true
	case roles&isEdit != 0: // which one?
		return unclear(core.HintNumber), true
	}
	return core.Reading{}, false
}

// verdictWords are the roles of words whose typos are unclear here.
func (r *Reader) verdictWords() role {
	if r.p.Input.Kind == core.KindURL {
		return isDone | isUndone | isCancel
	}
	return r.consent() | isNo | isCancel | isDetails
}

func unclear(h core.Hint) core.Reading { return core.Reading{Kind: core.ReadUnclear, Hint: h} }
