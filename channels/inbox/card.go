package inbox

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/core"
	"parley/render"
)

// card is an input as it is shown to one person.
type card struct {
	core.Input
	CSRF    string
	Version string
	Heading string
	Agent   Agent
	Where   string
	// Call is what would run, pretty and masked; Masked counts what is. Revealed: it is shown in clear.
	Call     string
	Masked   int
	Revealed bool
	Said     string
	// Note says what the input is for, beyond its kind.
	Note string
	// May: the person may answer. Over: its time to be answered has ended, though nobody closed it yet.
	May, Over bool
	// Alone: it is the only one on its page. Long: too long to be answered in a list.
	Alone, Long bool
	Link        *stepLink
	Controls    []control
	// Drafted is what was answered of it so far, in a chat.
	Drafted     []pair
	Ended       *ended
	Undelivered []string
	Wrong       *wrong
}

// stepLink is the address of a step on a web page. Href is "" where it is not to be opened from here.
type stepLink struct {
	Host, ASCII, Shown, Href string
	Masked                   bool
}

// wrong is why an answer was not taken.
type wrong struct {
	Sentence string
	// Fields are the reasons that belong to no control.
	Fields []core.FieldError
}

// longCall is how many bytes of a call, or of what is said, a list shows.
const longCall = 4000

// ID of the element.
func (c card) ElementID() string { return "in-" + string(c.Input.ID) }

// Skips reports whether the input can be skipped.
func (c card) Skips() bool { return c.Kind == core.KindQuestion }

// SkipHelp says what a skip will do.
func (c card) SkipHelp() string {
	with := 0
	for _, q := range c.Questions {
		if q.HasDefaults() {
			with++
		}
	}
	switch {
	case with == 0:
		return "There are no defaults, so this declines."
	case with < len(c.Questions):
		return "Defaults stand, unconfirmed. What has none stays without an answer."
	default:
		return "Defaults stand, unconfirmed."
	}
}

// card makes the card of an input for the session's person. filled are the values that were handed in, or nil.
func (v *visit) card(in core.Input, filled map[string][]string) card {
	c := card{
		Input: in, CSRF: v.i.csrf(v.s), Version: version(in), Heading: heading(in), Agent: v.i.agent(agentOf(in)), Where: place(in.Conversation),
		Said: render.Hidden(in.Message), Note: note(in), May: v.i.c.Turns.MayAnswer(in, v.s.Person),
		Over: in.Pending() && !in.ExpiresAt.IsZero() && !v.i.c.Now().Before(in.ExpiresAt),
	}
	if len(in.Arguments) > 0 {
		c.Call, c.Masked = render.Masked(in.Arguments, in.Redact)
	}
	c.Long = len(c.Call)+len(c.Said) > longCall
	if in.Kind == core.KindURL {
		c.Link = linkOf(in.URL)
	}
	if c.Said != render.Visible(in.Message) {
		c.Masked++
	}
	if in.Pending() {
		c.Controls, c.Drafted = controls(in, filled), drafted(in)
	} else {
		c.Ended = endOf(in)
	}
	return c
}

// reveal shows what is masked of the call, of what is said about it, and of its address.
func (c *card) reveal() {
	c.Revealed, c.Call, c.Said = true, "", render.Visible(c.Message)
	if len(c.Arguments) > 0 {
		c.Call = render.Clear(c.Arguments)
	}
	if c.Link != nil && c.Link.Masked {
		c.Link.Shown = render.Visible(c.URL)
	}
}

// Hides reports whether there is something to reveal.
func (c card) Hides() bool { return c.Masked > 0 || c.Link != nil && c.Link.Masked }

// version changes with whatever the card shows.
func version(in core.Input) string {
	settled := ""
	if in.Settled != nil {
		settled = in.Settled.At.UTC().Format(time.RFC3339Nano)
	}
	return core.Digest(string(in.State), fmt.Sprint(in.Draft.Step), in.Hash, settled)
}

func agentOf(in core.Input) core.AgentID {
	if in.Agent == "" {
		return in.Conversation.Agent()
	}
	return in.Agent
}

// agent is an agent with its name, which is its id where it has none.
func (i *Inbox) agent(id core.AgentID) Agent {
	for _, a := range i.c.Agents() {
		if a.ID == id && a.Name != "" {
			return a
		}
	}
	return Agent{ID: id, Name: string(id)}
}

// place is a conversation as people read it.
func place(c core.ConversationID) string {
	_, channel, at := c.Parts()
	return render.Visible(channel + ":" + string(at))
}

func heading(in core.Input) string {
	name := render.Visible(in.Tool)
	if in.Source != "" {
		name = render.Visible(in.Source) + " / " + name
	}
	switch in.Kind {
	case core.KindApproval:
		return "Approve " + name + "?"
	case core.KindURL:
		return "A step on a web page, for " + name
	case core.KindForm:
		if in.Confirmation() {
			return "Confirm " + name + "?"
		}
		return "A form of " + name
	}
	if in.Purpose == core.PurposeUnknown {
		return "Did " + name + " take effect?"
	}
	if len(in.Questions) == 1 {
		return "A question"
	}
	return fmt.Sprintf("%d questions", len(in.Questions))
}

func note(in core.Input) string {
	switch in.Purpose {
	case core.PurposeUnknown:
		return "The call was started and may or may not have happened."
	case core.PurposeChanged:
		return "The tool changed after the call was approved, so it is asked again."
	}
	if in.Of > 1 && in.Pending() {
		return fmt.Sprintf("%d of %d: they go on when all are answered.", in.Nth, in.Of)
	}
	return ""
}

// linkOf is the address of a step. One with a user name in it, or that is not https, is shown and not linked.
func linkOf(raw string) *stepLink {
	l := &stepLink{}
	l.Host, l.ASCII = render.Site(raw)
	l.Shown, l.Masked = render.Address(raw)
	if u, err := url.Parse(raw); err == nil && u.Scheme == "https" && u.Host != "" && !l.Masked {
		l.Href = raw
	}
	return l
}

// ended is how an input ended.
type ended struct {
	Sentence string
	At       time.Time
	Waited   time.Duration
	Reason   string
	Answers  []pair
	// Outcome is what became of the call.
	Outcome string
}

type pair struct{ Label, Value string }

func endOf(in core.Input) *ended {
	e := &ended{Sentence: strings.ToUpper(string(in.State)[:1]) + string(in.State)[1:]}
	s := in.Settled
	if s == nil {
		return e
	}
	if s.By != "" {
		e.Sentence += " by " + render.Visible(string(s.By))
	}
	if s.Role != "" {
		e.Sentence += ", " + s.Role
	}
	if s.Via != "" {
		e.Sentence += ", via " + s.Via
	}
	e.At, e.Waited = s.At, s.At.Sub(in.CreatedAt)
	if a := s.Answer; a != nil {
		e.Reason = render.Hidden(a.Reason)
		e.Answers = answers(in, *a)
	}
	return e
}

// drafted are the answers that a chat has taken so far: they are the agent's once all are there.
func drafted(in core.Input) []pair {
	a := core.Answer{Choices: in.Draft.Choices, Fields: map[string]json.RawMessage{}}
	for name, f := range in.Draft.Fields {
		if string(f.Value) != "null" { // an optional field that was left out
			a.Fields[name] = f.Value
		}
	}
	return answers(in, a)
}

// answers are what was answered, question by question or field by field; secrets stay masked.
func answers(in core.Input, a core.Answer) (out []pair) {
	for _, c := range a.Choices {
		at := slices.IndexFunc(in.Questions, func(q core.Question) bool { return q.ID == c.Question })
		if at < 0 {
			continue
		}
		q := in.Questions[at]
		all := c.Labels(q)
		if c.Text != "" {
			all = append(all, c.Text)
		}
		value := strings.Join(all, ", ")
		if value == "" {
			value = "none of these"
		}
		switch {
		case c.Skipped:
			value += " (skipped: nobody confirmed it)"
		case c.Defaulted:
			value += " (the default)"
		}
		out = append(out, pair{render.Visible(q.Prompt), render.Hidden(value)})
	}
	form, err := core.ParseForm(in.Schema)
	if err != nil || len(a.Fields) == 0 {
		return out
	}
	for _, f := range form.Fields {
		raw, ok := a.Fields[f.Name]
		if !ok {
			continue
		}
		redact := in.Redact
		if f.Secret {
			redact = append(slices.Clone(redact), f.Name)
		}
		shown, _ := render.Masked(one(f.Name, raw), redact)
		out = append(out, pair{render.Visible(f.Label()), inner(shown)})
	}
	return out
}
