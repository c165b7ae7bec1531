package inbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

// status is the one table from refusals of the engine to HTTP.
var status = map[core.AnswerCode]int{
	core.AnswerInvalid: http.StatusBadRequest, core.AnswerFromRequired: http.StatusBadRequest, core.AnswerForbidden: http.StatusForbidden,
	core.AnswerNotFound: http.StatusNotFound, core.AnswerConflict: http.StatusConflict, core.AnswerMismatch: http.StatusConflict,
}

// inputPage shows one input.
type inputPage struct {
	frame
	Card card
}

// may reports whether the session's person may see an input: they may answer it, or started its run.
func (v *visit) may(in core.Input) bool {
	return v.s.token.sees(in.Conversation.Agent(), agentOf(in)) &&
		(in.Responders.Asker == v.s.Person || v.i.c.Turns.MayAnswer(in, v.s.Person))
}

// find is the input of the address. One whose agent the token does not see is not there.
func (v *visit) find() (core.Input, error) {
	in, err := v.i.c.Turns.Input(v.r.Context(), core.InputID(v.r.PathValue("id")))
	if errors.Is(err, turn.ErrNotFound) || err == nil && !v.s.token.sees(in.Conversation.Agent(), agentOf(in)) {
		return core.Input{}, errNoPage
	}
	return in, err
}

func (v *visit) input() error {
	in, err := v.find()
	if err == nil && !v.may(in) {
		err = errNoPage
	}
	if err != nil {
		return err
	}
	return v.showInput(http.StatusOK, v.card(in, nil))
}

// showInput shows one input on a page of its own.
func (v *visit) showInput(status int, c card) error {
	c.Alone, c.Long = true, false
	if err := v.undelivered(&c); err != nil {
		return err
	}
	if err := v.outcome(&c); err != nil {
		return err
	}
	p := inputPage{frame: v.frame(c.Heading, "/inbox/inputs/"+string(c.Input.ID)), Card: c}
	p.Version, p.Live = c.Version, "/inbox/events?input="+string(c.Input.ID)
	return v.show(status, "input", p)
}

// outcome adds what became of the call of an input that ended; it is part of what the card shows.
func (v *visit) outcome(c *card) error {
	if c.Ended == nil {
		return nil
	}
	call, _, err := v.i.c.Turns.CallOf(v.r.Context(), c.Run, c.Input.Call)
	if errors.Is(err, turn.ErrNotFound) {
		return nil
	}
	c.Ended.Outcome = outcome(c.Input, call)
	c.Version = core.Digest(c.Version, string(call.Status))
	return err
}

// outcome says what became of a call, "" where the input is all there is to say.
func outcome(in core.Input, call core.Call) string {
	if in.Kind == core.KindQuestion && in.Purpose != core.PurposeUnknown {
		return ""
	}
	switch call.Status {
	case core.CallExecuting:
		return "The call is running."
	case core.CallExecuted, core.CallAutoExecuted:
		return "The call has run."
	case core.CallFailed:
		return "The call failed."
	case core.CallPending:
		if in.State == core.InputAccepted {
			return "The call waits for the others of its turn, or goes on soon."
		}
	case core.CallSuperseded, core.CallCancelled, core.CallExpired:
		if in.State == core.InputAccepted {
			return "The call did not run: its turn was " + string(call.Status) + "."
		}
	}
	return ""
}

func (v *visit) answer() error {
	in, err := v.find()
	if err != nil {
		return err
	}
	s, bad := submission(in, v.r.PostForm)
	settlement := turn.Settlement{Input: in.ID, From: v.s.Person, Via: via, Submission: s, Step: -1}
	if in.Kind == core.KindApproval && s.Action == core.ActionAccept {
		settlement.Hash = "unseen"
		if seen := v.r.PostForm.Get("hash"); seen != "" {
			settlement.Hash = seen
		}
	}
	switch may := v.i.c.Turns.MayAnswer(in, v.s.Person); {
	case !may:
		settlement.Submission = core.Submission{} // no answer: the engine refuses the person and keeps that it did
	case len(bad) > 0 && in.Pending():
		return v.refused(&core.AnswerError{Code: core.AnswerInvalid, Input: in.ID, Reason: "the content does not fit", Fields: everyBad(in, s, bad)}, in)
	}
	_, err = v.i.c.Turns.SettleAll(v.r.Context(), []turn.Settlement{settlement})
	var no *core.AnswerError
	switch {
	case errors.As(err, &no):
		return v.refused(no, in)
	case err != nil:
		return err
	}
	http.Redirect(v.w, v.r, "/inbox/inputs/"+string(in.ID), http.StatusSeeOther)
	return nil
}

// everyBad adds to what no answer can be made of what the engine would say of the rest.
func everyBad(in core.Input, s core.Submission, bad []core.FieldError) []core.FieldError {
	var no *core.AnswerError
	if _, err := core.Resolve(in, s); !errors.As(err, &no) {
		return bad
	}
	left := slices.Clone(bad) // each stands for one of the engine's about the same field
	for _, f := range no.Fields {
		if at := slices.IndexFunc(left, func(b core.FieldError) bool { return b.Field == f.Field }); at >= 0 {
			left = slices.Delete(left, at, at+1)
			continue
		}
		bad = append(bad, f)
	}
	return bad
}

// refused shows the input as it stands now, with why an answer was not taken and what was entered. To who may not
// see it there is no such input.
func (v *visit) refused(no *core.AnswerError, in core.Input) error {
	in, err := v.i.c.Turns.Input(v.r.Context(), in.ID)
	if err != nil {
		return err
	}
	if !v.may(in) {
		return errNoPage
	}
	filled := map[string][]string(nil)
	if no.Code == core.AnswerInvalid && in.Pending() {
		filled = v.r.PostForm
	}
	c := v.card(in, filled)
	c.Wrong = &wrong{Sentence: sentence(no, in)}
	for _, f := range no.Fields {
		at := slices.IndexFunc(c.Controls, func(k control) bool { return k.Field == f.Field && k.Error == "" })
		if at < 0 {
			c.Wrong.Fields = append(c.Wrong.Fields, core.FieldError{Field: render.Visible(f.Field), Reason: render.Visible(f.Reason)})
			continue
		}
		c.Controls[at].Error = render.Visible(f.Reason)
	}
	return v.showInput(status[no.Code], c)
}

// sentence says why an answer was not taken, and how the input stands.
func sentence(no *core.AnswerError, in core.Input) string {
	now := "It still waits."
	if !in.Pending() {
		now = "It is " + string(in.State) + "."
		if in.Settled != nil && in.Settled.By != "" {
			now = fmt.Sprintf("It was %s by %s at %s.", in.State, render.Visible(string(in.Settled.By)), in.Settled.At.UTC().Format("2006-01-02 15:04:05 UTC"))
		}
	}
	why := "Your answer was not taken: " + render.Visible(no.Reason) + "."
	if no.Code == core.AnswerConflict && !in.Pending() {
		why = "Your answer came too late and changed nothing."
	}
	return why + " " + now
}

func (v *visit) reveal() error {
	in, err := v.find()
	if err != nil {
		return err
	}
	seen := v.may(in)
	in, err = v.i.c.Turns.Reveal(v.r.Context(), in.ID, v.s.Person, via)
	var no *core.AnswerError
	switch {
	case errors.As(err, &no) && !seen:
		return errNoPage
	case errors.As(err, &no):
		return &failure{status[no.Code], "Only who may answer may see what is masked. That you asked is noted."}
	case err != nil:
		return err
	}
	c := v.card(in, nil)
	c.reveal()
	return v.showInput(http.StatusOK, c)
}
