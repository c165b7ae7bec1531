package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/core"
	"parley/core/turn"
)

// maxWait is how long a client may wait for a run.
const maxWait = 60 * time.Second

// agent is the agent of the address, if the token sees it and it is configured.
func (c *call) agent() (core.AgentID, error) {
	id := core.AgentID(c.r.PathValue("agent"))
	if _, ok := c.a.c.Agents(id); !ok || !c.token.sees(id) {
		return "", notFound("agent")
	}
	return id, nil
}

type startBody struct {
	Text         string  `json:"text"`
	Conversation string  `json:"conversation"`
	From         *string `json:"from"`
}

// startRun hands in a message. It is always a new one: answers name their input.
func (c *call) startRun() (reply, error) {
	agent, err := c.agent()
	if err != nil {
		return reply{}, err
	}
	var b startBody
	if err := decode(c.body, &b); err != nil {
		return reply{}, err
	}
	if strings.TrimSpace(b.Text) == "" {
		return reply{}, badFields("the message is empty", fieldOf("text", "want a text"))
	}
	who, err := c.person(b.From, "")
	if err != nil {
		return reply{}, err
	}
	conv, err := c.token.conversation(agent, b.Conversation)
	if err != nil {
		return reply{}, err
	}
	m := core.Message{
		ID: via + ":" + c.key, Conversation: conv, From: who, Text: b.Text, SentAt: c.a.c.Now(), Addressed: true, Fresh: true,
	}
	_, channel, _ := conv.Parts()
	m.Shared = channel != Channel // nobody knows here who reads there
	if c.key == "" {
		m.ID = via + ":" + c.a.c.NewID()
	}
	if _, err := c.a.c.Turns.Accept(c.ctx, m); err != nil {
		return reply{}, err
	}
	run, err := c.a.c.Turns.RunOf(c.ctx, conv, m.ID)
	if errors.Is(err, turn.ErrNotFound) {
		waits := runView{Agent: agent, Conversation: shown(conv), Status: queued, From: who, Inputs: []inputView{}}
		return reply{status: http.StatusAccepted, body: waits, again: true}, nil
	}
	if err != nil {
		return reply{}, err
	}
	v, err := c.view(run)
	return reply{status: http.StatusAccepted, body: v, location: "/v1/runs/" + string(run.ID)}, err
}

// run is the run of the address, if the token sees it.
func (c *call) run() (core.Run, error) {
	run, err := c.a.c.Turns.RunByID(c.ctx, core.RunID(c.r.PathValue("run")))
	if errors.Is(err, turn.ErrNotFound) || err == nil && !c.token.sees(run.Conversation.Agent(), run.Agent) {
		return run, notFound("run")
	}
	return run, err
}

// view is a run with what it waits on.
func (c *call) view(run core.Run) (runView, error) {
	if run.Status != core.RunInputRequired { // I2: it waits on nothing
		return viewRun(run, nil), nil
	}
	all, err := c.a.c.Turns.Waiting(c.ctx, run.Conversation)
	if err != nil {
		return runView{}, err
	}
	if run.Parent == "" {
		return viewRun(run, all), nil
	}
	var own []core.Input // and those of the runs below it
	for _, in := range all {
		is, err := c.isBelow(in.Run, run.ID)
		if err != nil {
			return runView{}, err
		}
		if is {
			own = append(own, in)
		}
	}
	return viewRun(run, own), nil
}

// isBelow reports whether a run is another one or works for it.
func (c *call) isBelow(id, above core.RunID) (bool, error) {
	for id != above && id != "" {
		run, err := c.a.c.Turns.RunByID(c.ctx, id)
		if err != nil {
			return false, err
		}
		id = run.Parent
	}
	return id == above, nil
}

func (c *call) getRun() (reply, error) {
	run, err := c.run()
	if err != nil {
		return reply{}, err
	}
	wait, err := c.wait()
	if err != nil {
		return reply{}, err
	}
	if wait > 0 && run.Status == core.RunRunning {
		if run, err = c.stopped(run.ID, wait); err != nil {
			return reply{}, err
		}
	}
	v, err := c.view(run)
	return reply{status: http.StatusOK, body: v}, err
}

// wait reads ?wait=SECONDS.
func (c *call) wait() (time.Duration, error) {
	s := c.r.URL.Query().Get("wait")
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if most := int(maxWait / time.Second); err != nil || n < 0 || n > most {
		return 0, badFields("wait does not fit", fieldOf("wait", "want a number of seconds from 0 to "+strconv.Itoa(most)))
	}
	return time.Duration(n) * time.Second, nil
}

// stopped waits for a run's next stop, the time's end or the server's.
func (c *call) stopped(id core.RunID, wait time.Duration) (core.Run, error) {
	patient(c.w)
	ctx, cancel := context.WithTimeout(c.r.Context(), wait)
	defer cancel()
	go func() {
		select {
		case <-c.a.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	run, err := c.a.c.Turns.Stopped(ctx, id)
	c.ctx = c.r.Context() // its time begins anew
	if err != nil && ctx.Err() != nil {
		return c.a.c.Turns.RunByID(c.ctx, id)
	}
	return run, err
}

type abortBody struct {
	Conversation string  `json:"conversation"`
	From         *string `json:"from"`
}

type abortView struct {
	// Aborted says that something was open; where a call runs, it ends after that.
	Aborted      bool   `json:"aborted"`
	Conversation string `json:"conversation"`
}

func (c *call) abort() (reply, error) {
	agent, err := c.agent()
	if err != nil {
		return reply{}, err
	}
	var b abortBody
	if err := decode(c.body, &b); err != nil {
		return reply{}, err
	}
	who, err := c.person(b.From, "")
	if err != nil {
		return reply{}, err
	}
	conv, err := c.token.conversation(agent, b.Conversation)
	if err != nil {
		return reply{}, err
	}
	found, err := c.a.c.Turns.Abort(c.ctx, conv, who, via)
	if err != nil {
		return reply{}, err
	}
	status := http.StatusOK
	if found {
		status = http.StatusAccepted
	}
	return reply{status: status, body: abortView{Aborted: found, Conversation: shown(conv)}}, nil
}
