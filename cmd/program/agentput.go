package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"parley/channels/rest"
	"parley/core"
	"parley/core/tool/mcp"
	"parley/core/turn"
)

// maxPut is how many agents may be put.
const maxPut = 1000

// How long putting an agent waits for its MCP servers to tell their tools; and the pauses between attempts
// to make the sources of one that is stored and whose documents could not be fetched at the start.
const (
	putListTime = 10 * time.Second
	putRetry    = time.Second
	putLongest  = time.Minute
)

// putAgents are the agents that were defined by the API, beside those of the file. A definition is kept
// in the store, checked again at each start, and put in the place of the one before while turns wait and run.
//
//	put: checked ──▶ sources made, servers listed ──▶ stored ──▶ in use; the sources before end with their last call
type putAgents struct {
	shop   *workshop
	stored definitions
	log    *slog.Logger
	// alone lets one definition be stored and put to use at a time.
	alone sync.Mutex

	mu   sync.Mutex
	byID map[string]*putAgent
	over bool // nothing is started any more

	begun   chan struct{}   // closed once run has begun
	ready   chan struct{}   // closed once the stored agents have their tools, or could not get them
	work    context.Context // of run
	servers sync.WaitGroup
}

// putAgent is one of them. It is replaced as a whole; tools goes from one to the next.
type putAgent struct {
	config  AgentConfig
	written any
	agent   *turn.Agent
	tools   *liveTools
}

// newPutAgents reads the definitions of the store. The agents have no tools until run. One that the file
// defines too, or that no longer fits what the file says, is left out with a warning, and stays stored.
func newPutAgents(ctx context.Context, shop *workshop, m memory) (*putAgents, error) {
	p := &putAgents{
		shop: shop, stored: definitions{m}, log: shop.log, byID: map[string]*putAgent{},
		ready: make(chan struct{}), begun: make(chan struct{}),
	}
	all, err := p.stored.all(ctx)
	if err != nil {
		return nil, err
	}
	// All may delegate to one another: what is wrong with one is found with all of them known.
	known := maps.Clone(shop.cfg.Agents)
	for id, raw := range all {
		var a AgentConfig
		if _, file := known[id]; !file && json.Unmarshal(raw, &a) == nil {
			known[id] = a
		}
	}
	for id, raw := range all {
		if _, file := shop.cfg.Agents[id]; file {
			p.log.Warn("the configuration file defines an agent that was put by the API: the file's is used", "agent", id)
			continue
		}
		a, problems, err := p.read(id, raw, nil, known)
		if err != nil {
			return nil, err
		}
		if len(problems) > 0 {
			p.log.Warn("an agent that was put by the API does not fit the configuration and is not there: put it anew", "agent", id, "problem", problems[0].Text, "at", problems[0].Path)
			continue
		}
		p.byID[id] = a
	}
	return p, nil
}

// read checks a definition and makes its agent, without sources.
func (p *putAgents) read(id string, body []byte, before any, known map[string]AgentConfig) (*putAgent, []Problem, error) {
	config, written, problems, err := readDefinition(p.shop.cfg, id, body, before, known)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	agent, err := p.shop.agent(id, config)
	if err != nil {
		return nil, []Problem{{Text: err.Error()}}, nil
	}
	tools := &liveTools{}
	agent.Tools = tools
	return &putAgent{config: config, written: written, agent: agent, tools: tools}, nil, nil
}

// find returns the agent of an id, nil for none.
func (p *putAgents) find(id string) *putAgent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byID[id]
}

// all are the agents of the file and those that were put.
func (p *putAgents) all() map[string]AgentConfig {
	out := maps.Clone(p.shop.cfg.Agents)
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, a := range p.byID {
		out[id] = a.config
	}
	return out
}

// run has the sources of the stored agents made, and keeps the servers of all until ctx ends.
func (p *putAgents) run(ctx context.Context) error {
	p.work = ctx
	close(p.begun)
	var all sync.WaitGroup
	p.mu.Lock()
	for id, a := range p.byID {
		first := make(chan struct{})
		p.servers.Go(func() { p.equip(ctx, id, a, first) })
		all.Go(func() { <-first })
	}
	p.mu.Unlock()
	all.Wait()
	close(p.ready)
	<-ctx.Done()
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.servers.Wait()
	return nil
}

// start runs f until it returns, unless the time is over.
func (p *putAgents) start(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.servers.Go(f)
	}
}

// equip makes the sources of a stored agent, again and again until it can or the agent is put anew; first is
// closed once it was tried.
func (p *putAgents) equip(ctx context.Context, id string, a *putAgent, first chan struct{}) {
	for wait := putRetry; ; wait = min(2*wait, putLongest) {
		g, err := p.generation(ctx, id, a.config)
		if err == nil {
			p.alone.Lock()
			if p.find(id) == a && ctx.Err() == nil {
				a.tools.change(g)
			} else {
				g.retire()
			}
			p.alone.Unlock()
		}
		if first != nil {
			close(first)
			first = nil
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		p.log.Warn("the sources of an agent that was put by the API cannot be made", "agent", id, "err", err, "retry", wait)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if p.find(id) != a {
			return
		}
	}
}

// generation makes the sources of a definition, runs their servers and waits for their tools. ctx bounds that.
func (p *putAgents) generation(ctx context.Context, id string, a AgentConfig) (*generation, error) {
	from, err := p.shop.sources(ctx, id, a)
	if err != nil {
		return nil, err
	}
	g := newGeneration(p.work, from, p.start, func(s *mcp.Source, err error) {
		p.log.Error("run an MCP server", "agent", id, "mcp", s.Name(), "err", err)
	})
	bound, cancel := context.WithTimeout(ctx, putListTime)
	defer cancel()
	for _, s := range from.run {
		s.Attempted(bound)
	}
	if err := ctx.Err(); err != nil {
		g.retire()
		return nil, err
	}
	return g, nil
}

// put defines an agent, or defines it anew. Turns that wait go on under the new definition.
func (p *putAgents) put(ctx context.Context, id string, body []byte) (created bool, err error) {
	if _, file := p.shop.cfg.Agents[id]; file {
		return false, rest.ErrReadOnly
	}
	if !agentName.MatchString(id) {
		return false, rest.Invalid("there can be no such agent", core.FieldError{Field: "id", Reason: wantName})
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-p.begun:
	}
	var before any
	if old := p.find(id); old != nil {
		before = old.written
	}
	a, problems, err := p.read(id, body, before, p.all())
	if err != nil {
		return false, err
	}
	if len(problems) > 0 {
		detail, all := fields(problems)
		return false, rest.Invalid(detail, all...)
	}
	g, err := p.generation(ctx, id, a.config)
	if err != nil {
		return false, unmade(err)
	}
	created, err = p.use(ctx, id, a, g)
	if err != nil {
		g.retire()
	}
	return created, err
}

// use stores a definition and puts it in the place of the one before.
func (p *putAgents) use(ctx context.Context, id string, a *putAgent, g *generation) (created bool, err error) {
	raw, err := json.Marshal(a.written)
	if err != nil {
		return false, fmt.Errorf("write the definition of agent %s: %w", id, err)
	}
	p.alone.Lock()
	defer p.alone.Unlock()
	if err := errors.Join(ctx.Err(), p.work.Err()); err != nil {
		return false, err
	}
	ids, err := p.stored.all(ctx)
	if err != nil {
		return false, err
	}
	_, had := ids[id]
	if !had && len(ids) >= maxPut {
		return false, rest.Invalid(fmt.Sprintf("there are %d agents that were put, and no more are taken", len(ids)))
	}
	// Begun, it is not given up: what is stored and what is in use must be the same.
	if err := p.stored.put(context.WithoutCancel(ctx), id, raw); err != nil {
		return false, err
	}
	p.mu.Lock()
	if old := p.byID[id]; old != nil {
		a.tools = old.tools
		a.agent.Tools = old.tools
	}
	p.byID[id] = a
	p.mu.Unlock()
	a.tools.change(g)
	p.log.Info("an agent is defined by the API", "agent", id, "created", !had)
	return !had, nil
}

// unmade says which sources of a definition cannot be made. The reason may pass: a document that is not there yet.
func unmade(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var all []core.FieldError
	for _, e := range parts(err) {
		var at *sourceError
		if errors.As(e, &at) {
			all = append(all, core.FieldError{Field: string(at.at), Reason: at.err.Error()})
		}
	}
	if len(all) == 0 {
		return rest.Invalid("the definition does not fit: " + err.Error())
	}
	p := rest.Invalid("the sources cannot be made", all...)
	p.Again = true
	return p
}

// parts are the errors that were joined, at any depth.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, parts(e)...)
	}
	return out
}
