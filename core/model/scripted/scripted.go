// Package scripted is a model that answers by rules: for the demo, for tests, and to try a configuration
// without a key and a network.
//
// # A script
//
// A script is a JSON file. The first rule whose "when", a regular expression, matches the text of the last
// user message speaks; else "else" does, and without it the model says that it knows no answer.
//
//	{
//	  "rules": [
//	    {
//	      "when": "(?i)delete the (\\w+) database",
//	      "say": "I will delete it.",
//	      "calls": [{"name": "db__drop", "arguments": {"name": "{{match 1}}"}}],
//	      "then": [
//	        {"if": "(?i)declined", "say": "Then it stays.", "else": {"say": "Gone: {{result}}"}}
//	      ]
//	    }
//	  ],
//	  "else": {"say": "I did not understand: {{message}}"}
//	}
//
// A rule, each entry of its "then" and an "else" are steps: what to "say", which tools to call in "calls",
// or both. A step without calls ends the turn. After the results of a step's calls the next entry of
// "then" follows; after the last one the results are the reply. A step with "if", a regular expression,
// counts only if the results match it (one result a line); otherwise its "else" takes its place, and
// nothing said ends the turn.
//
// In every "say" and in every string within "arguments":
//
//	{{message}}    the user's message
//	{{match N}}    group N of the rule's "when", 0 the whole match
//	{{result}}     the results of the last reply's calls, joined by line breaks
//	{{result N}}   one of them, from 1
//
// # No state
//
// Where a turn stands is read from the request: the number of replies of this provider since the last user
// message. A turn therefore goes on after a restart, and the same request gets the same reply.
package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"parley/core"
	"parley/core/model"
)

// Provider is the provider of the replies.
const Provider = "scripted"

// Script is what a script file says; the package comment describes it.
type Script struct {
	Rules []Rule `json:"rules"`
	Else  *Step  `json:"else,omitempty"`
}

// Rule is the steps of a turn, for messages that match When.
type Rule struct {
	When string `json:"when"`
	Step
	Then []Step `json:"then,omitempty"`
}

// Step is one reply.
type Step struct {
	// If says which results it is for; "" for any. Else stands in for it otherwise.
	If    string `json:"if,omitempty"`
	Say   string `json:"say,omitempty"`
	Calls []Call `json:"calls,omitempty"`
	Else  *Step  `json:"else,omitempty"`
}

// Call is a tool call of a step. Missing arguments are an empty object.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Model answers by a script. It is safe for concurrent use.
type Model struct {
	rules []rule
	other *step
}

// rule is a rule with its expressions compiled.
type rule struct {
	when  *regexp.Regexp
	steps []*step
}

type step struct {
	cond     *regexp.Regexp
	say      string
	calls    []Call
	fallback *step
}

// Generate returns the reply that the script has for the request. Its only error is that the conversation is not valid.
func (m *Model) Generate(ctx context.Context, req model.Request) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, stopped(err)
	}
	if err := model.Valid(req.Messages); err != nil {
		return model.Response{}, &model.Error{
			Sentence: "This conversation could not be put to the model because its record is not in order. Please tell whoever runs this bot.",
			Err:      fmt.Errorf("scripted: %w", err),
		}
	}
	at := locate(req.Messages)
	resp := model.Response{Stop: model.StopEnd, Provider: Provider, Usage: core.Usage{Requests: 1}}
	s := m.choose(&at)
	if s == nil {
		resp.Text = strings.Join(at.results, "\n")
		return resp, nil
	}
	resp.Text = at.fill(s.say)
	for _, c := range s.calls {
		resp.Calls = append(resp.Calls, model.Call{Name: c.Name, Arguments: at.fillJSON(c.Arguments)})
	}
	if len(resp.Calls) > 0 {
		resp.Calls, resp.Stop = model.Mend(resp.Calls, req.Messages), model.StopTools
	}
	return resp, nil
}

func stopped(err error) *model.Error {
	return &model.Error{Sentence: "The request to the model was stopped.", Err: err}
}

// choose finds the step that is next; nil if the rule has no more.
func (m *Model) choose(at *place) *step {
	steps := []*step{m.other}
	for _, r := range m.rules {
		if match := r.when.FindStringSubmatch(at.message); match != nil {
			at.match, steps = match, r.steps
			break
		}
	}
	if at.done >= len(steps) {
		return nil
	}
	s := steps[at.done]
	for s != nil && s.cond != nil && !s.cond.MatchString(strings.Join(at.results, "\n")) {
		if s.fallback == nil {
			return &step{}
		}
		s = s.fallback
	}
	return s
}

// New compiles a script. The error names the rule, from 1.
func New(s Script) (*Model, error) {
	m := &Model{}
	for i, r := range s.Rules {
		c, err := compileRule(r)
		if err != nil {
			return nil, fmt.Errorf("scripted: rule %d: %w", i+1, err)
		}
		m.rules = append(m.rules, c)
	}
	other := Step{Say: "I have no answer to that."}
	if s.Else != nil {
		other = *s.Else
	}
	var err error
	if m.other, err = compileStep(other); err != nil {
		return nil, fmt.Errorf("scripted: else: %w", err)
	}
	return m, nil
}

func compileRule(r Rule) (rule, error) {
	if r.When == "" {
		return rule{}, errors.New(`"when" is missing: want a regular expression, ".*" for any message`)
	}
	if r.If != "" {
		return rule{}, errors.New(`"if" has no meaning in a rule, before there are results: use "when"`)
	}
	when, err := regexp.Compile(r.When)
	if err != nil {
		return rule{}, fmt.Errorf("when: %w", err)
	}
	c := rule{when: when}
	for i, s := range append([]Step{r.Step}, r.Then...) {
		cs, err := compileStep(s)
		if err != nil && i > 0 {
			err = fmt.Errorf("then %d: %w", i, err)
		}
		if err != nil {
			return rule{}, err
		}
		c.steps = append(c.steps, cs)
	}
	return c, nil
}

func compileStep(s Step) (*step, error) {
	c := &step{say: s.Say, calls: s.Calls}
	for _, call := range s.Calls {
		if call.Name == "" {
			return nil, errors.New(`a call without "name"`)
		}
	}
	if s.Else != nil && s.If == "" {
		return nil, errors.New(`"else" without "if"`)
	}
	if s.If == "" {
		return c, nil
	}
	var err error
	if c.cond, err = regexp.Compile(s.If); err != nil {
		return nil, fmt.Errorf("if: %w", err)
	}
	if s.Else != nil {
		if c.fallback, err = compileStep(*s.Else); err != nil {
			return nil, fmt.Errorf("else: %w", err)
		}
	}
	return c, nil
}
