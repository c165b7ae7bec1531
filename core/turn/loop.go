package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/core"
	"parley/core/journal"
	"parley/core/model"
	"parley/core/tool"
)

// turn is the loop of a run: ordinary code over the journal. It returns nil when the model has ended its
// turn, errSuspended when a person is needed.
func (d *driver) turn() error {
	if err := d.intake(); err != nil {
		return err
	}
	over := false // a batch went over the limit of inputs before
	for step := 1; step <= d.agent.maxSteps(); step++ {
		live := !d.j.Replaying()
		resp, err := journal.Do(d.j, fmt.Sprintf("model:%d", step), func() (model.Response, error) { return d.generate(step) })
		if err != nil {
			return err
		}
		d.run.Text = resp.Text
		if live {
			d.run.Steps = step
			d.run.Usage.Requests += max(resp.Usage.Requests, 1)
			d.run.Usage.Input += resp.Usage.Input
			d.run.Usage.Output += resp.Usage.Output
		}
		if len(resp.Calls) == 0 {
			d.run.Text = ended(resp)
			return nil
		}
		b := d.batch(step, resp)
		tooMany, err := b.persist()
		switch {
		case err != nil:
			return err
		case tooMany && over:
			return &failedError{fmt.Sprintf("I stopped: this turn wanted to ask more than %d times.", d.agent.maxInputs())}
		}
		over = over || tooMany
		if err := b.run(); err != nil {
			return err
		}
	}
	return &failedError{fmt.Sprintf("I stopped after %d steps without an end. Write to me to go on.", d.agent.maxSteps())}
}

// ended is the text of a reply that ends the turn, with what the reader must know about it.
func ended(r model.Response) string {
	switch {
	case r.Stop == model.StopLength:
		return strings.TrimSpace(r.Text + "\n\n(The model's answer was cut at its length limit.)")
	case strings.TrimSpace(r.Text) == "" && r.Stop == model.StopRefuse:
		return "(The model refused to answer this.)"
	case strings.TrimSpace(r.Text) == "":
		return "(The agent ended without a word.)"
	}
	return r.Text
}

// generate asks the model for its next reply. What was recorded so far is made durable first where
// anything is, so that a slow model never holds back the result of a call.
func (d *driver) generate(step int) (model.Response, error) {
	ctx, done := d.untilAbort()
	defer done()
	// An abort that came before there was anything to cancel is seen here.
	check := d.checkAbort
	if _, steps := d.j.Pending(); len(steps) > 0 || len(d.dirty) > 0 {
		check = d.record
	}
	if err := check(); err != nil {
		return model.Response{}, err
	}
	if d.soft.Err() != nil {
		return model.Response{}, errStopping
	}
	req, err := d.request(ctx, step)
	if err != nil {
		return model.Response{}, err
	}
	began := d.e.store.Now()
	mctx, span := d.modelSpan(ctx, step)
	resp, err := d.ask(mctx, req)
	endModel(span, resp, err)
	if err == nil {
		resp.Calls = model.Mend(resp.Calls, req.Messages)
		resp.At, resp.Took = began, max(d.e.store.Now().Sub(began), 0)
		return resp, nil
	}
	if d.soft.Err() != nil {
		return model.Response{}, errStopping
	}
	if ctx.Err() != nil {
		if err := d.checkAbort(); err != nil {
			return model.Response{}, err
		}
	}
	d.e.log.Warn("model request failed", "run", d.run.ID, "agent", d.agent.ID, "err", err)
	var me *model.Error
	if errors.As(err, &me) && me.Sentence != "" {
		return model.Response{}, &failedError{me.Sentence}
	}
	return model.Response{}, &failedError{"The model's service could not be used. Write again to try once more."}
}

// abortableThen makes a commit that is not made where the run is to be aborted.
func abortableThen(f func(*act) error) func(*act) error {
	return func(a *act) error {
		if err := abortable(a); err != nil {
			return err
		}
		return f(a)
	}
}

// decision is what persist:toolcall:<callId> records: the branch a call takes is never looked up again.
type decision struct {
	Kind     core.CallKind   `json:"kind"`
	Type     core.ToolType   `json:"toolType"`
	Rule     string          `json:"rule,omitempty"`
	Refusal  *core.Result    `json:"refusal,omitempty"`
	Asker    bool            `json:"approversOnly,omitempty"`
	Preamble string          `json:"preamble,omitempty"`
	Set      []core.Question `json:"set,omitempty"`
	// The frozen call.
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Spec       string          `json:"spec,omitempty"`
	Target     string          `json:"target,omitempty"`
	Schema     string          `json:"schema,omitempty"`
	Idempotent bool            `json:"idempotent,omitempty"`
	Source     string          `json:"source,omitempty"`
	OverLimit  bool            `json:"overLimit,omitempty"`
}

// decide judges a proposed call by today's tools and policy.
func (d *driver) decide(c model.Call, inputs *int) decision {
	if d.agent.asks(c.Name) {
		return d.decideAsk(c, inputs)
	}
	if _, ok := d.agent.delegates(c.Name); ok {
		return d.decideAgent(c)
	}
	t, ok := d.agent.lookup(c.Name)
	if !ok {
		return refuse(c, core.OutcomeError, fmt.Sprintf("There is no tool %q. Use one of the tools you were given.", c.Name))
	}
	spec := t.Spec()
	args, problems := d.e.deps.Prepare(spec.Schema, c.Arguments)
	if len(problems) > 0 {
		return refuse(c, core.OutcomeError, "The arguments do not fit the tool's schema, and nothing ran: "+strings.Join(problems, "; "))
	}
	dec := decision{
		Kind: core.CallAuto, Type: spec.Type, Arguments: args, Spec: specDigest(spec),
		Target: spec.Target, Schema: core.Digest(string(spec.Schema)),
		Idempotent: spec.Idempotent, Source: spec.Source, Asker: spec.ApproversOnly,
	}
	for _, digest := range d.run.Denied {
		if digest == core.DeniedDigest(c.Name, args) {
			r := core.ResultRefused()
			dec.Kind, dec.Refusal = core.CallRefused, &r
			return dec
		}
	}
	if v := tool.Decide(spec.Policy, args); v.Need {
		dec.Kind, dec.Rule = core.CallApproval, v.Rule
		d.limit(&dec, inputs)
	}
	return dec
}

func (d *driver) decideAsk(c model.Call, inputs *int) decision {
	preamble, set, problems := d.e.deps.ParseAsk(c.Name, c.Arguments)
	if len(problems) > 0 {
		return refuse(c, core.OutcomeError, "Nobody was asked. Mend the questions and call again: "+strings.Join(problems, "; "))
	}
	dec := decision{Kind: core.CallAsk, Type: core.ToolAction, Arguments: validJSON(c.Arguments), Preamble: preamble, Set: set}
	d.limit(&dec, inputs)
	return dec
}

// limit counts an input that a call would open, and refuses the call over the agent's limit.
func (d *driver) limit(dec *decision, inputs *int) {
	if *inputs++; *inputs > d.agent.maxInputs() {
		dec.Kind, dec.OverLimit = core.CallRefused, true
		dec.Refusal = &core.Result{Outcome: core.OutcomeError, Content: fmt.Sprintf("This turn may ask the person at most %d times: this call did not run. Go on without asking.", d.agent.maxInputs())}
	}
}

func refuse(c model.Call, o core.Outcome, content string) decision {
	return decision{Kind: core.CallRefused, Type: core.ToolAction, Arguments: validJSON(c.Arguments), Refusal: &core.Result{Outcome: o, Content: content}}
}

// validJSON is raw if it is JSON, else raw as a JSON string: a row must encode.
func validJSON(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	b, err := json.Marshal(strings.ToValidUTF8(string(raw), "\uFFFD"))
	if err != nil {
		return json.RawMessage(`""`)
	}
	return b
}

// specDigest is over what an approval is bound to beside the arguments.
func specDigest(s tool.Spec) string {
	return core.Digest(s.FullName(), string(s.Schema), s.Target)
}

// changed reports whether an approved call is no longer what was shown. A tool that is gone fails when it is
// called, and runs nothing.
func (e *Engine) changed(a *Agent, c core.Call) bool {
	t, ok := a.lookup(c.Tool)
	return ok && differs(t, c)
}

// differs reports whether a tool is not the one that a call was approved for.
func differs(t tool.Tool, c core.Call) bool {
	return specDigest(t.Spec()) != c.Spec || core.CallHash(c.Tool, c.Arguments, c.Spec) != c.Hash
}
