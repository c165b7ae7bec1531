package core

import (
	"slices"
	"time"
)

// Scene is what a message meets in its conversation, read in the transaction that acts on it.
type Scene struct {
	Now   time.Time
	Human HumanInput // today's, for the live input
	// For is what today's configuration says about another input: its own agent's and tool's word. nil is Human.
	For func(Input) HumanInput
	// Run is the open run, nil for none.
	Run *Run
	// Live is the input whose prompt is the one live prompt here: the first pending one. nil for none.
	Live *Input
	// Pending are all inputs that wait here, in order; Live is the first.
	Pending []Input
	// Unsent says that a row of the outbox that shows Live is not known to be sent.
	Unsent bool
	// Target is the input whose prompt the message replies to, whichever state it is in; nil for none.
	Target *Input
	// Closed is the input that ended here last, nil for none.
	Closed *Input
	// Queued says that earlier messages wait.
	Queued bool
}

func (s Scene) humanFor(in Input) HumanInput {
	if s.For == nil {
		return s.Human
	}
	return s.For(in)
}

// Decision is what a message leads to.
type Decision struct {
	Do      Doing
	Reading Reading
	// Inputs are what a message acts on; none is the live one.
	Inputs []InputID
	// Note is said beside it, "" for nothing.
	Note NoteCode
}

// Route decides what a message leads to. It is the only place where that is decided. read tells how a text
// reads against an input.
func Route(s Scene, m Message, read func(in Input, text string) Reading) Decision {
	whole := func(in Input) Reading { return read(in, m.Text) }
	if m.Fresh {
		whole = func(Input) Reading { return Reading{Kind: ReadOther} }
	} else if d, ok := routeCodes(s, m, read); ok {
		return d
	}
	return route(s, m, whole)
}

func route(s Scene, m Message, read func(Input) Reading) Decision {
	switch {
	case m.Command == "cancel":
		return routeCancel(s, m)
	case m.Command != "":
		return Decision{Do: DoNote, Note: commandNote(m.Command)}
	case m.Empty() && len(m.Files) == 0:
		return Decision{Do: DoDrop}
	case s.Target != nil && !liveTarget(s, m):
		if r := read(*s.Target); r.Kind != ReadOther {
			return Decision{Do: DoNote, Note: NoteAlready, Reading: r}
		}
	}
	if !m.Addressed && !m.Thread {
		return routeOverheard(s, m, read)
	}
	switch {
	case s.Live != nil:
		return routeWaiting(s, m, read)
	case s.Run != nil:
		return routeRunning(s, m, read)
	}
	if late(s, m, read) {
		return Decision{Do: DoNote, Note: NoteAlready, Reading: read(*s.Closed)}
	}
	if s.Queued || m.NotBefore.After(s.Now) {
		return Decision{Do: DoQueue}
	}
	return Decision{Do: DoStart}
}

// commandNote names the line that answers a platform command.
func commandNote(command string) NoteCode {
	switch command {
	case "status":
		return NoteStatus
	case "inbox":
		return NoteInbox
	case "pending":
		return NotePending
	default:
		return NoteHelp
	}
}

// liveTarget reports whether the message replies to the present prompt of an input that waits.
func liveTarget(s Scene, m Message) bool {
	if s.Target == nil || !s.Target.Pending() {
		return false
	}
	step := shownBy(*s.Target, m.ReplyTo)
	if step < 0 && m.ReplyInput == s.Target.ID {
		step = m.ReplyStep
	}
	return step == s.Target.Draft.Step
}

// shownBy is the Draft.Step that a platform message showed of an input; -1 if none.
func shownBy(in Input, message string) int {
	for _, p := range in.Prompts {
		for _, id := range p.Messages {
			if id == message {
				return p.Step
			}
		}
	}
	return -1
}

// routeCancel: by someone who may, it ends the open run whatever waits.
func routeCancel(s Scene, m Message) Decision {
	switch {
	case s.Run == nil:
		return Decision{Do: DoNote, Note: NoteNothingOpen}
	case !mayAbort(s, m.From):
		return Decision{Do: DoNote, Note: NoteNotAllowed}
	}
	return Decision{Do: DoAbort, Reading: Reading{Kind: ReadCancel}}
}

func mayAbort(s Scene, who PersonID) bool {
	return MayAbort(*s.Run, s.Human, who) || s.Live != nil && MayAnswer(*s.Live, s.Human, who)
}

// routeOverheard handles a message of a channel or group that does not mean the bot: it counts only if it
// is an exact answer of someone who may answer.
func routeOverheard(s Scene, m Message, read func(Input) Reading) Decision {
	if s.Live == nil || s.Human.Bound || m.ReplyTo != "" || len(m.Files) > 0 || !MayAnswer(*s.Live, s.Human, m.From) {
		return Decision{Do: DoDrop}
	}
	if r := read(*s.Live); r.Kind == ReadAnswer {
		if d, ok := placed(s, m, r); !ok {
			return d
		}
		return Decision{Do: DoAnswer, Reading: r}
	}
	return Decision{Do: DoDrop}
}

// late reports whether the message is an answer to the input that ended last, sent before the person could
// see that it had.
func late(s Scene, m Message, read func(Input) Reading) bool {
	if s.Closed == nil || m.ReplyTo != "" || len(m.Files) > 0 || m.Order == 0 {
		return false
	}
	home, ok := HomePrompt(*s.Closed)
	if !ok || !home.ClosedAt.IsZero() && m.SentAt.After(home.ClosedAt) {
		return false
	}
	return read(*s.Closed).Kind == ReadAnswer
}

// routeRunning handles a message while the run works: cancel jumps the queue, all else waits.
func routeRunning(s Scene, m Message, read func(Input) Reading) Decision {
	if late(s, m, read) {
		return Decision{Do: DoNote, Note: NoteAlready, Reading: read(*s.Closed)}
	}
	if r := read(Input{Kind: KindApproval}); r.Kind == ReadCancel && len(m.Files) == 0 {
		return routeCancel(s, m)
	}
	return Decision{Do: DoQueue}
}

// routeWaiting handles a message while an input waits.
func routeWaiting(s Scene, m Message, read func(Input) Reading) Decision {
	if m.Empty() { // a file alone: it neither answers nor supersedes
		return Decision{Do: DoQueue, Note: NoteQueued}
	}
	bound := liveTarget(s, m)
	if bound { // a reply to a prompt answers that one
		s.Live, s.Human = s.Target, s.humanFor(*s.Target)
	}
	r := read(*s.Live)
	switch {
	case r.Kind == ReadCancel:
		if mayAbort(s, m.From) {
			return Decision{Do: DoAbort, Reading: r}
		}
		return Decision{Do: DoDrop, Note: NoteNotAllowed, Reading: r}
	case !bound && m.Shared && s.Human.Bound && !m.Addressed:
		return Decision{Do: DoDrop}
	case r.Kind == ReadCommand && r.Verb == VerbPending:
		return Decision{Do: DoNote, Note: NotePending, Reading: r}
	}
	if !bound {
		if d, ok := placed(s, m, r); !ok {
			return d
		}
		if r.Kind != ReadOther && standing(s.Pending) > 1 { // nothing is guessed between two
			return Decision{Do: DoDrop, Note: NoteWhich, Reading: r}
		}
	}
	if r.Kind != ReadOther && (len(m.Files) > 0 || m.ReplyTo != "" && !bound) {
		r = Reading{Kind: ReadUnclear, Hint: HintWords}
	}
	d := routePerson(s, m, r)
	d.Inputs = []InputID{s.Live.ID}
	return d
}

// standing counts the inputs whose present prompt stands in the chat.
func standing(pending []Input) int {
	n := 0
	for _, in := range pending {
		if p, ok := HomePrompt(in); ok && p.Step == in.Draft.Step {
			n++
		}
	}
	return n
}

// routeCodes handles a message that names what it is about by codes; ok is false for any other.
func routeCodes(s Scene, m Message, read func(Input, string) Reading) (d Decision, ok bool) {
	ids, rest, show := SplitCodes(s.Pending, m.Text)
	if len(ids) == 0 || m.Command != "" || m.ReplyTo != "" || len(m.Files) > 0 {
		return d, false
	}
	if m.Shared && s.Human.Bound && !m.Addressed { // a reply, a mention or a button is demanded
		return Decision{Do: DoDrop}, true
	}
	if show {
		return Decision{Do: DoShow, Inputs: ids}, true
	}
	for _, in := range s.Pending {
		if !slices.Contains(ids, in.ID) {
			continue
		}
		p, shown := HomePrompt(in)
		stands := shown && p.Step == in.Draft.Step && m.Order > p.Order
		r := read(in, rest)
		switch {
		case !MayAnswer(in, s.humanFor(in), m.From):
			return Decision{Do: DoDrop, Note: NoteNotAllowed, Reading: r}, true
		case (r.Kind == ReadOther || r.Verb == VerbPending) && len(ids) == 1:
			return d, false // a sentence that begins with a code
		case r.Kind != ReadAnswer && (r.Kind != ReadCommand || len(ids) > 1):
			return Decision{Do: DoUnclear, Reading: Reading{Kind: ReadUnclear, Hint: HintWords}, Inputs: []InputID{in.ID}}, true
		case !stands && len(ids) == 1:
			return Decision{Do: DoShow, Inputs: ids}, true
		case !stands:
			return Decision{Do: DoShow, Inputs: ids, Note: NoteNotShown}, true
		}
		d.Reading = r
	}
	d.Do, d.Inputs = DoAnswer, ids
	if d.Reading.Kind == ReadCommand {
		d.Do = DoCommand
	}
	return d, true
}

// placed decides about a message whose place before or after the prompt matters; ok says that it stands
// after it.
func placed(s Scene, m Message, r Reading) (d Decision, ok bool) {
	p, delivered := HomePrompt(*s.Live)
	delivered = delivered && p.Step == s.Live.Draft.Step
	switch {
	case m.Order == 0:
		if r.Kind == ReadOther {
			return Decision{}, true
		}
		return Decision{Do: DoQueue}, false // without a place it names no prompt
	case !delivered && s.Unsent:
		return Decision{Do: DoHold, Reading: r}, false
	case delivered && m.Order > p.Order:
		return Decision{}, true
	case r.Kind == ReadAnswer:
		return Decision{Do: DoDrop, Note: NoteTooEarly, Reading: r}, false
	}
	return Decision{Do: DoQueue}, false
}

// routePerson decides by who speaks, once the message is known to stand after the prompt.
func routePerson(s Scene, m Message, r Reading) Decision {
	may := MayAnswer(*s.Live, s.Human, m.From)
	switch r.Kind {
	case ReadOther:
		switch {
		case may || m.From == s.Run.Asker() || s.Human.SupersededByAnyone:
			return Decision{Do: DoSupersede, Reading: r}
		}
		return Decision{Do: DoQueue, Note: NoteQueued, Reading: r}
	case ReadAnswer, ReadCommand, ReadUnclear:
		if !may {
			return Decision{Do: DoDrop, Note: NoteNotAllowed, Reading: r}
		}
	}
	switch r.Kind {
	case ReadAnswer:
		return Decision{Do: DoAnswer, Reading: r}
	case ReadCommand:
		return Decision{Do: DoCommand, Reading: r}
	default:
		return Decision{Do: DoUnclear, Reading: r}
	}
}

// HomePrompt is the newest prompt of the input in its own conversation.
func HomePrompt(in Input) (Prompt, bool) {
	for i := len(in.Prompts) - 1; i >= 0; i-- {
		if in.Prompts[i].Conversation == in.Conversation {
			return in.Prompts[i], true
		}
	}
	return Prompt{}, false
}

// Live is the input whose prompt is live: the first pending one in the order they were opened; nil if none.
func Live(inputs []Input) *Input {
	for i := range inputs {
		if inputs[i].Pending() {
			return &inputs[i]
		}
	}
	return nil
}
