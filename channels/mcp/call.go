package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
	"parley/core/turn"
)

// maxTries is how often an ask is made in one call where what comes does not fit.
const maxTries = 3

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+=-]{0,127}$`)

type arguments struct {
	Text         string `json:"text"`
	Conversation string `json:"conversation"`
}

// call is one call of send_message on its way.
type call struct {
	e *Endpoint
	visitor
	session *sdk.ServerSession
	conv    core.ConversationID
	run     core.RunID
	// asks are those made so far, notes what the client is to be told of them.
	asks  []ask
	notes []string
	// enough: the client gave an ask back unanswered; it is asked no more.
	enough bool
}

// sendMessage is the tool. What goes wrong is a result that says so, so that a model can read it.
func (e *Endpoint) sendMessage(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	v, ok := visitorOf(req.Extra.TokenInfo)
	if !ok {
		return nil, errors.New("no client")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-e.closed:
			stop()
		case <-ctx.Done():
		}
	}()
	c := &call{e: e, visitor: v, session: req.Session}
	res, err := c.serve(ctx, req)
	if err != nil {
		e.c.Log.Warn("a call of send_message failed", "client", v.client.Name, "agent", v.agent, "run", c.run, "err", err)
		res = &sdk.CallToolResult{}
		res.SetError(err)
	}
	return res, nil
}

func (c *call) serve(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if c.client.person() == "" {
		return nil, c.client.refusal()
	}
	args, err := readArguments(req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	c.conv = core.NewConversation(c.agent, Channel, core.Place(c.client.Name+"/"+args.Conversation))
	digest := core.Digest(args.Text, args.Conversation)
	if req.Params.RequestState != "" || req.Params.InputResponses != nil {
		held, err := c.e.unseal(req.Params.RequestState, c.visitor, digest)
		if err != nil {
			return nil, err
		}
		c.run, c.asks = held.Run, held.Asks
		if err := c.answers(ctx, req.Params.InputResponses); err != nil {
			return nil, err
		}
	} else if err := c.start(ctx, args.Text, req.Params.Meta); err != nil {
		return nil, err
	}
	if c.modern() {
		return c.round(ctx, digest)
	}
	return c.converse(ctx)
}

func readArguments(raw json.RawMessage) (arguments, error) {
	var a arguments
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, fmt.Errorf("arguments: want text and, if need be, conversation: %w", err)
	}
	if a.Conversation == "" {
		a.Conversation = "default"
	}
	switch {
	case strings.TrimSpace(a.Text) == "":
		return a, errors.New("text: want a message")
	case !nameForm.MatchString(a.Conversation):
		return a, errors.New("conversation: want a name of letters, digits and . _ @ + = -, at most 128")
	}
	return a, nil
}

// metaKey may name an idempotency key: the same message with the same key is one message.
const metaKey = "parley/idempotencyKey"

// start hands in the message and finds its run. It is always a new message: answers name their input.
func (c *call) start(ctx context.Context, text string, meta sdk.Meta) error {
	id := c.e.c.NewID()
	if key, ok := meta[metaKey].(string); ok && key != "" {
		id = core.Digest(c.client.Name, key, text)
	}
	m := core.Message{
		ID: via + ":" + id, Conversation: c.conv, From: c.client.person(), Text: text, SentAt: c.e.c.Now(), Addressed: true, Fresh: true,
	}
	if _, err := c.e.c.Turns.Accept(ctx, m); err != nil {
		return fmt.Errorf("the message could not be stored, try again: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, c.e.c.MaxWait)
	defer cancel()
	run, err := c.e.c.Turns.Started(wait, c.conv, m.ID)
	if err != nil {
		return fmt.Errorf("the message is stored and waits for its turn: %w", err)
	}
	c.run = run.ID
	return nil
}

// next waits for the run's next stop, as long as a call may.
func (c *call) next(ctx context.Context) (core.Run, error) {
	wait, cancel := context.WithTimeout(ctx, c.e.c.MaxWait)
	defer cancel()
	run, err := c.e.c.Turns.Stopped(wait, c.run)
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		return c.e.c.Turns.RunByID(ctx, c.run)
	}
	return run, err
}

func (c *call) modern() bool {
	p := c.session.InitializeParams()
	return p != nil && p.ProtocolVersion >= modern
}

// reaches reports whether an input may be put to the client, and the client can show it.
func (c *call) reaches(in core.Input) bool {
	p := c.session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil || !c.may(in) {
		return false
	}
	can := p.Capabilities.Elicitation
	forms := can.Form != nil || can.URL == nil // naming neither means forms
	switch in.Kind {
	case core.KindURL:
		return can.URL != nil && forms
	case core.KindForm:
		form, err := core.ParseForm(in.Schema)
		return forms && err == nil && !form.HasSecret() && len(core.SecretNames(in.Schema)) == 0
	}
	return forms
}

// may is what the client is allowed, whatever it can.
func (c *call) may(in core.Input) bool {
	if in.Kind == core.KindApproval || in.Purpose == core.PurposeUnknown {
		if c.client.Person == "" || !c.client.MayApprove {
			return false
		}
	}
	who := c.client.person()
	return who != "" && c.e.c.Turns.MayAnswer(in, who)
}

// asked finds the ask of an input; nil if it was not put to the client in this call.
func (c *call) asked(id core.InputID) *ask {
	if i := slices.IndexFunc(c.asks, func(a ask) bool { return a.Input == id }); i >= 0 {
		return &c.asks[i]
	}
	return nil
}

// take does what an answer to an ask means. Whatever it does not settle waits on.
func (c *call) take(ctx context.Context, a *ask, res *sdk.ElicitResult) error {
	in, err := c.e.c.Turns.Input(ctx, a.Input)
	if errors.Is(err, turn.ErrNotFound) {
		c.note("%s is no more", a.Input)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read input %s: %w", a.Input, err)
	}
	if !c.may(in) { // what the token may can have changed since it was asked
		c.note("%s must be answered elsewhere", in.ID)
		c.enough = true
		return nil
	}
	r := read(in, *a, res)
	switch {
	case r.misfit != "":
		c.misfit(a, r.misfit)
	case r.opened:
		a.Opened, a.Reason = true, ""
	case r.submission == nil, r.submission.Action == core.ActionCancel && c.client.Person == "":
		c.note("%s was not answered", in.ID)
		c.enough = true
	default:
		return c.settle(ctx, a, *r.submission)
	}
	return nil
}

func (c *call) settle(ctx context.Context, a *ask, s core.Submission) error {
	in, err := c.e.c.Turns.Settle(ctx, turn.Settlement{Input: a.Input, From: c.client.person(), Via: via, Submission: s, Step: -1, Hash: a.Hash})
	var refused *core.AnswerError
	switch {
	case err == nil && s.Action == core.ActionCancel:
		c.note("%s is %s, and its turn has ended", in.ID, core.InputCancelled)
	case err == nil:
		c.note("%s is %s", in.ID, in.State)
	case !errors.As(err, &refused):
		return fmt.Errorf("the answer could not be stored, try again: %w", err)
	case refused.Code == core.AnswerInvalid, refused.Code == core.AnswerMismatch,
		refused.Current != nil && refused.Current.Pending(): // changed meanwhile: it is shown anew
		c.misfit(a, reasonOf(refused))
	default:
		c.note("%s: %s", a.Input, refused.Reason)
	}
	return nil
}

func reasonOf(e *core.AnswerError) string {
	if len(e.Fields) == 0 {
		return e.Reason
	}
	var out []string
	for _, f := range e.Fields {
		out = append(out, strings.TrimPrefix(f.Field+": ", ": ")+f.Reason)
	}
	return strings.Join(out, "; ")
}

// misfit keeps why an answer did not fit, so that the ask is made again with it, a few times.
func (c *call) misfit(a *ask, reason string) {
	a.Tries++
	a.Reason = clean(reason)
	if a.Tries >= maxTries {
		c.note("%s waits on: what was answered does not fit: %s", a.Input, a.Reason)
		c.enough = true
	}
}

func (c *call) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}
