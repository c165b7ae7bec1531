package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core"
)

// errNothing ends a transaction that has nothing to write.
var errNothing = errors.New("nothing to write")

// errGuest ends a transaction on a message that may answer an input of another conversation.
var errGuest = errors.New("the message may be about another conversation")

// Accept stores one message and does what it means, in one transaction. It returns once that is durable:
// only then may the platform be told that the message arrived.
func (e *Engine) Accept(ctx context.Context, m core.Message) (Accepted, error) {
	m, acc, err := e.acceptMoved(ctx, m)
	if errors.Is(err, errGuest) {
		var taken bool
		if acc, taken, err = e.acceptGuest(ctx, m); err == nil && !taken {
			acc, err = e.acceptHere(ctx, m, false)
		}
	}
	if err != nil {
		return Accepted{}, fmt.Errorf("accept message %s of %s: %w", m.ID, m.Conversation, err)
	}
	return acc, nil
}

// acceptHere acts on a message in its own conversation. With guests, one that may answer a copy of another
// conversation's prompt is errGuest, and nothing is written.
func (e *Engine) acceptHere(ctx context.Context, m core.Message, guests bool) (acc Accepted, err error) {
	err = e.act(ctx, m.Conversation, false, func(a *act) error {
		if a.conv.Alias != "" {
			return &aliasError{a.conv.Alias}
		}
		seen, err := a.tx.Seen(m.ID)
		if err != nil {
			return err
		}
		if seen {
			acc = Accepted{Duplicate: true}
			return errNothing
		}
		acc, err = a.accept(m, guests)
		if err == nil && acc.Did == core.DoDrop && !m.Addressed && !m.Thread {
			return errNothing // not meant for us: not kept
		}
		return err
	})
	return acc, err
}

// act runs f as one transaction on a conversation that nobody needs to hold, then begins what it woke.
func (e *Engine) act(ctx context.Context, c core.ConversationID, lazy bool, f func(*act) error) error {
	var a *act
	err := e.store.Update(ctx, Scope{Conversation: c, Lazy: lazy}, func(tx Tx) error {
		var err error
		if a, err = e.newAct(tx); err != nil {
			return err
		}
		a.ctx = ctx
		return f(a)
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	a.committed()
	if a.run != nil && a.run.Abort != nil {
		e.cutShort(c)
	}
	e.lookAt(a.now, a.due)
	if a.glance != nil {
		e.addGlance(c, a.glance.Run, a.glance.ID)
	}
	if a.claim != nil {
		e.launch(a.claim, a.begun)
	}
	e.news.tell(c)
	return nil
}

func (a *act) accept(m core.Message, guests bool) (Accepted, error) {
	if err := errors.Join(a.tx.MarkSeen(m.ID), a.expireDue()); err != nil {
		return Accepted{}, err
	}
	s, err := a.scene(m)
	if err != nil {
		return Accepted{}, err
	}
	if s.Target != nil && s.Target.Conversation != a.conv.ID || s.Run == nil && m.ReplyTo == "" && len(a.conv.Copies) == 1 {
		if guests {
			return Accepted{}, errGuest
		}
		s.Target = nil
	}
	if a.agent == nil && m.Command == "" { // nobody is there to act on it: kept until the agent is back
		_, err := a.tx.Enqueue(m)
		return Accepted{Did: core.DoQueue}, errors.Join(err, a.wakeAt(a.now))
	}
	return a.do(m, core.Route(s, m, a.reader(m)), nil)
}

// do carries a decision out. q is the message's queue entry where it has one already.
func (a *act) do(m core.Message, d core.Decision, q *core.Queued) (Accepted, error) {
	acc := Accepted{Did: d.Do}
	if live := a.live(); live != nil {
		acc.Input = live.ID
	}
	if d.Do == core.DoQueue || d.Do == core.DoHold {
		return acc, errors.Join(a.enqueue(m, d, q), a.say(d, m))
	}
	if q != nil {
		if err := a.tx.Dequeue(q.Seq); err != nil {
			return acc, err
		}
	}
	err := a.say(d, m)
	switch {
	case err != nil:
	case d.Do == core.DoStart:
		err = a.start(m)
	case d.Do == core.DoAnswer, d.Do == core.DoCommand, d.Do == core.DoUnclear, d.Do == core.DoShow:
		err = a.each(d, m)
	case d.Do == core.DoAbort:
		err = a.abort(core.Closing{By: m.From, Via: "chat", At: a.now}, m.ID)
	case d.Do == core.DoSupersede:
		err = a.supersede(m)
	}
	if a.run != nil {
		acc.Run = a.run.ID
	}
	return acc, err
}

// each acts on every input that a message is about.
func (a *act) each(d core.Decision, m core.Message) error {
	ids := d.Inputs
	if len(ids) == 0 {
		ids = []core.InputID{a.live().ID}
	}
	for _, id := range ids {
		in, err := a.tx.Input(id)
		if err != nil {
			return err
		}
		switch d.Do {
		case core.DoShow:
			err = a.out(promptOf(in))
		case core.DoUnclear:
			err = a.unclear(in, d.Reading, m)
		default:
			err = a.apply(in, d.Reading, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enqueue keeps the message for later. A prompt that is neither shown nor about to be is shown again.
func (a *act) enqueue(m core.Message, d core.Decision, q *core.Queued) error {
	if q == nil {
		entry, err := a.tx.Enqueue(m)
		if err != nil {
			return err
		}
		q = &entry
	}
	if held := d.Do == core.DoHold; held != q.Held {
		q.Held = held
		if err := a.tx.PutQueued(*q); err != nil {
			return err
		}
	}
	if a.run == nil && m.NotBefore.After(a.now) {
		return a.wakeAt(m.NotBefore)
	}
	return a.showAgain()
}

// showAgain has the live prompt shown where it neither stands nor is about to.
func (a *act) showAgain() error {
	live := a.live()
	if live == nil {
		return nil
	}
	if p, ok := core.HomePrompt(*live); ok && p.Step == live.Draft.Step {
		return nil
	}
	unsent, err := a.unsent(live)
	if err != nil || unsent {
		return err
	}
	return a.prompt(*live)
}

// prompt asks delivery to show an input.
func (a *act) prompt(in core.Input) error {
	return errors.Join(a.out(promptOf(in)), a.relayPrompts(in))
}

func promptOf(in core.Input) core.Out {
	return core.Out{Kind: core.OutPrompt, Run: in.Run, Input: in.ID, Step: in.Draft.Step}
}

// say adds the line of a decision, to each person once per input where it is about one.
func (a *act) say(d core.Decision, m core.Message) error {
	if d.Note == "" {
		return nil
	}
	o := core.Out{Kind: core.OutNote, Note: d.Note, Person: m.From, ReplyTo: m.ID, Lang: m.Lang}
	if a.run != nil {
		o.Run = a.run.ID
	}
	live := a.live()
	switch d.Note {
	case core.NoteAlready:
		o.Input = a.conv.Closed
		if m.ReplyTo != "" {
			id, err := a.tx.Prompted(m.ReplyTo)
			if err != nil {
				return err
			}
			if id != "" {
				o.Input = id
			}
		}
		if same, err := a.sameAgain(o.Input, d.Reading, m); err != nil || same {
			return err
		}
	case core.NoteTooEarly:
		o.Input = live.ID
		return errors.Join(a.out(o), a.showAgain())
	case core.NoteNotAllowed, core.NoteQueued, core.NoteNoText:
		if live == nil {
			break
		}
		o.Input = live.ID
		told, err := a.told(*live, m.From, core.NoteNotAllowed)
		if err != nil || told {
			return err
		}
		if d.Note == core.NoteNotAllowed {
			if err := a.event(core.Event{Type: core.EventRefused, Run: live.Run, Input: live.ID, By: m.From, Via: "chat"}); err != nil {
				return err
			}
		}
	default:
		if live != nil {
			o.Input = live.ID
		}
	}
	return a.out(o)
}

// sameAgain reports whether a reply gives the answer again that the input was settled with: nothing happens
// then, and nothing is said.
func (a *act) sameAgain(id core.InputID, r core.Reading, m core.Message) (bool, error) {
	if id == "" || r.Kind != core.ReadAnswer {
		return false, nil
	}
	in, err := a.tx.Input(id)
	if errors.Is(err, ErrNotFound) || err == nil && (in.Settled == nil || in.Settled.Answer == nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return sameAnswer(in, r, m), nil
}

// sameAnswer reports whether a reading amounts to the answer that an input was settled with.
func sameAnswer(in core.Input, r core.Reading, m core.Message) bool {
	if in.Settled == nil || in.Settled.Answer == nil {
		return false
	}
	applied, err := core.Apply(in, r, m.From, m.Text)
	return err == nil && applied.Answer != nil && core.SameAnswer(*in.Settled.Answer, *applied.Answer)
}

// told reports whether the person was told already, and remembers that they are now.
func (a *act) told(in core.Input, who core.PersonID, code core.NoteCode) (bool, error) {
	for _, n := range in.Notes {
		if n.Person == who && n.Code == code {
			return true, nil
		}
	}
	in.Notes = append(in.Notes, core.Note{Person: who, Code: code, Times: 1, At: a.now})
	return false, a.putInput(in)
}

// The help about a reply that is near to an answer: at most one line in this time, and every third such
// reply shows the prompt again.
const (
	unclearEvery = 30 * time.Second
	unclearShow  = 3
)

// unclear helps someone whose reply was near to an answer. The input goes on waiting.
func (a *act) unclear(in core.Input, r core.Reading, m core.Message) error {
	at := -1
	for i, n := range in.Notes {
		if n.Person == m.From && n.Code == core.NoteUnclear {
			at = i
		}
	}
	if at < 0 {
		in.Notes = append(in.Notes, core.Note{Person: m.From, Code: core.NoteUnclear})
		at = len(in.Notes) - 1
	}
	n := &in.Notes[at]
	n.Times++
	show := n.Times%unclearShow == 0
	line := !show && (n.At.IsZero() || a.now.Sub(n.At) >= unclearEvery)
	if line {
		n.At = a.now
	}
	err := errors.Join(a.putInput(in), a.event(core.Event{
		Type: core.EventUnclear, Run: in.Run, Input: in.ID, By: m.From, Via: "chat", Data: data(map[string]string{"raw": m.Text, "hint": string(r.Hint)}),
	}))
	switch {
	case err != nil:
		return err
	case show:
		return a.prompt(in)
	case line:
		return a.out(core.Out{Kind: core.OutNote, Note: core.NoteUnclear, Hint: r.Hint, Run: in.Run, Input: in.ID, Step: in.Draft.Step, Person: m.From, ReplyTo: m.ID, Lang: m.Lang})
	}
	return nil
}
