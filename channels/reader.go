package channels

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"parley/core"
	"parley/parse"
	"parley/render"
)

// Reads is implemented by adapters whose platform writes text in a way of its own, or addresses us by name.
type Reads interface {
	// Markup says which forms of writing are left in a message's text.
	Markup() parse.Markup
	// Names are our own mentions as they may stand in a message's text.
	Names() []string
}

// ReaderConfig is what a Reader is made of.
type ReaderConfig struct {
	// Adapter finds a channel's adapter, nil for none: it is asked at each message, so that the engine, which
	// adapters may need, can be made before them.
	Adapter func(channel string) Adapter
	// Agent says how people know an agent, to know a quoted prompt again, and the language its configuration
	// sets, "" to follow the person's. It may be nil.
	Agent func(core.AgentID) (name, lang string)
	// Keep is how many compiled inputs are kept; 0 is 1024.
	Keep int
}

// NewReader returns how the engine reads a typed message against an input: as it would be typed in the
// channel of the message's conversation. The function is safe for concurrent use and keeps the inputs it
// was asked about last in compiled form.
func NewReader(cfg ReaderConfig) func(core.Input, core.Message, core.HumanInput) core.Reading {
	r := &reader{adapter: cfg.Adapter, agent: cfg.Agent, kept: newKept(cfg.Keep)}
	if r.agent == nil {
		r.agent = func(core.AgentID) (string, string) { return "", "" }
	}
	return r.read
}

type reader struct {
	adapter func(channel string) Adapter
	agent   func(core.AgentID) (name, lang string)
	kept    *kept
}

func (r *reader) read(in core.Input, m core.Message, h core.HumanInput) core.Reading {
	name, lang := r.agent(m.Conversation.Agent())
	if lang == "" {
		lang = m.Lang
	}
	p := parse.Prompt{Input: in, Lang: lang, Exact: h.NearMissSupersedes}
	a := r.adapter(m.Conversation.Channel())
	if how, ok := a.(Reads); ok {
		p.Markup, p.Names = how.Markup(), how.Names()
	}
	p.Listing = a != nil && !a.Dialect().Slash
	if quotes(m.Text) && a != nil {
		p.Text = shown(a, p, m, name)
		return parse.Compile(p).Read(m.Text)
	}
	if in.ID == "" {
		return parse.Compile(p).Read(m.Text)
	}
	k := readerKey{in.ID, in.Draft.Step, lang, m.Conversation.Channel(), p.Exact, in.State}
	return r.kept.get(k, func() *parse.Reader { return parse.Compile(p) }).Read(m.Text)
}

// quotes reports whether a text may have quoted lines.
func quotes(text string) bool { return strings.Contains(text, ">") || strings.Contains(text, "&gt;") }

// shown is every line that a prompt of the input may have had in the message's conversation: how long it
// waits yet depends on when it was shown.
func shown(a Adapter, p parse.Prompt, m core.Message, agent string) string {
	if agent == "" {
		agent = string(m.Conversation.Agent())
	}
	in, v := p.Input, render.View{
		Dialect: a.Dialect(), Lang: p.Lang, Agent: agent, Shared: m.Shared, Again: true, Names: namesOf(a, m.Conversation),
	}
	times := []time.Time{in.CreatedAt}
	for _, p := range in.Prompts {
		if p.Step == in.Draft.Step {
			times = append(times, p.DeliveredAt)
		}
	}
	var texts []string
	for _, v.Now = range times {
		texts = append(texts, render.PlainText(render.Prompt(v, in)))
		if in.Kind == core.KindURL {
			apart := v
			apart.Apart = true
			texts = append(texts, render.PlainText(render.Prompt(apart, in)))
		}
	}
	return strings.Join(texts, "\n")
}

// namesOf is how an adapter writes people in a conversation; nil where it writes their ids.
func namesOf(a Adapter, c core.ConversationID) func(core.PersonID) string {
	n, ok := a.(Namer)
	if !ok {
		return nil
	}
	_, _, place := c.Parts()
	return func(who core.PersonID) string {
		if name := n.NameOf(place, who); name != "" {
			return name
		}
		return string(who)
	}
}

// readerKey names a compiled input: a Draft.Step belongs to one state of its draft.
type readerKey struct {
	input   core.InputID
	step    int
	lang    string
	channel string
	exact   bool
	state   core.InputState
}

// kept are the compiled inputs that were used last.
type kept struct {
	mu   sync.Mutex
	most int
	m    map[readerKey]*list.Element
	l    *list.List // of keptReader, the newest first
}

type keptReader struct {
	key readerKey
	r   *parse.Reader
}

func newKept(most int) *kept {
	if most <= 0 {
		most = 1024
	}
	return &kept{most: most, m: map[readerKey]*list.Element{}, l: list.New()}
}

// get returns the reader of key, compiled by make where it is not kept. Two callers may compile the same
// one at once; either result is right.
func (k *kept) get(key readerKey, compile func() *parse.Reader) *parse.Reader {
	k.mu.Lock()
	if e, ok := k.m[key]; ok {
		k.l.MoveToFront(e)
		k.mu.Unlock()
		return e.Value.(keptReader).r
	}
	k.mu.Unlock()
	r := compile()
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.m[key]; !ok {
		k.m[key] = k.l.PushFront(keptReader{key, r})
	}
	if k.l.Len() > k.most {
		last := k.l.Back()
		delete(k.m, last.Value.(keptReader).key)
		k.l.Remove(last)
	}
	return r
}
