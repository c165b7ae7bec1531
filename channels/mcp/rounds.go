package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
)

// answers takes what a client of today handed back: an ask without an answer settles nothing.
func (c *call) answers(ctx context.Context, got sdk.InputResponseMap) error {
	for i := range c.asks {
		res, _ := got[askKey(i, c.asks[i])].(*sdk.ElicitResult)
		if err := c.take(ctx, &c.asks[i], res); err != nil {
			return err
		}
	}
	return nil
}

// askKey names an ask of a round; clients ask in the order of these names.
func askKey(i int, a ask) string { return fmt.Sprintf("%03d-%s", i+1, a.Input) }

// round ends the call of a client of today: with the turn's end, with what reaches the client, or with what waits.
func (c *call) round(ctx context.Context, digest string) (*sdk.CallToolResult, error) {
	run, waiting, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	next := held{
		Token: c.client.Name, Person: c.client.person(), Agent: c.agent, Message: digest, Run: c.run,
		Until: c.e.c.Now().Add(c.e.c.StateTTL).Unix(),
	}
	requests := sdk.InputRequestMap{}
	for _, in := range waiting {
		if a, p := c.open(in); p != nil {
			requests[askKey(len(next.Asks), a)] = p
			next.Asks = append(next.Asks, a)
		}
	}
	if len(requests) == 0 {
		return c.result(run, waiting), nil
	}
	state, err := c.e.seal(next)
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}, err
}

// look waits for the next stop and lists what the run waits on.
func (c *call) look(ctx context.Context) (core.Run, []core.Input, error) {
	run, err := c.next(ctx)
	if err != nil || run.Status != core.RunInputRequired {
		return run, nil, err
	}
	waiting, err := c.e.c.Turns.Waiting(ctx, c.conv)
	return run, waiting, err
}

// open is the ask of an input that waits, nil where the client is not to be asked.
func (c *call) open(in core.Input) (ask, *sdk.ElicitParams) {
	if c.enough || !c.reaches(in) {
		return ask{}, nil
	}
	a := ask{Input: in.ID}
	if before := c.asked(in.ID); before != nil {
		a = *before
	}
	a.Hash = in.Hash
	p, ok := elicit(in, a, c.name)
	if !ok {
		return ask{}, nil
	}
	return a, p
}

// converse asks an older client over its open call, one input after the other, until the turn has ended or
// waits on what does not reach the client.
func (c *call) converse(ctx context.Context) (*sdk.CallToolResult, error) {
	for {
		run, waiting, err := c.look(ctx)
		if err != nil {
			return nil, err
		}
		var in core.Input
		var params *sdk.ElicitParams
		for _, in = range waiting {
			var a ask
			if a, params = c.open(in); params != nil {
				if before := c.asked(in.ID); before != nil {
					*before = a
				} else {
					c.asks = append(c.asks, a)
				}
				break
			}
		}
		if params == nil {
			return c.result(run, waiting), nil
		}
		res, err := c.elicit(ctx, in, params)
		switch {
		case errors.Is(err, errElsewhere):
			c.note("%s was answered elsewhere", in.ID)
			continue
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && unfit(err) != "":
			c.misfit(c.asked(in.ID), unfit(err))
			continue
		case err != nil:
			c.e.c.Log.Info("a client could not ask", "client", c.client.Name, "input", in.ID, "err", err)
			c.note("%s was not answered: %s", in.ID, clean(err.Error()))
			c.enough = true
			continue
		}
		if err := c.take(ctx, c.asked(in.ID), res); err != nil {
			return nil, err
		}
	}
}

// unfit is why a library, ours or the client's, refused an accepted answer for its content; "" for every other
// error. Neither library has a value for it, so that it is known by its sentence.
func unfit(err error) string {
	const sentence = "content does not match requested schema"
	_, reason, found := strings.Cut(err.Error(), sentence)
	var wire *jsonrpc.Error
	if !found || errors.As(err, &wire) && wire.Code != jsonrpc.CodeInvalidParams {
		return ""
	}
	return "the content does not match the schema" + reason
}

// errElsewhere ends an ask whose input has ended at another door.
var errElsewhere = errors.New("answered elsewhere")

// elicit asks over the open call. It ends with the input, wherever that is answered, and in any case in time.
func (c *call) elicit(ctx context.Context, in core.Input, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	open, cancel := context.WithTimeout(ctx, c.e.c.MaxWait)
	defer cancel()
	watched := make(chan bool, 1)
	go func() {
		ended := c.ended(open, in)
		if ended {
			cancel()
		}
		watched <- ended
	}()
	res, err := c.session.Elicit(open, p)
	if late := open.Err(); err == nil && late != nil && res.Action == "cancel" {
		res, err = nil, late // we took the ask back, and the client closes it: nobody said so
	}
	cancel()
	if ended := <-watched; ended && err != nil {
		return nil, errElsewhere
	}
	return res, err
}

// ended waits until an input has ended; false where ctx ends first.
func (c *call) ended(ctx context.Context, in core.Input) bool {
	const poll = 30 * time.Second // another process may have answered
	for {
		news := c.e.c.Turns.News(in.Conversation.Agent())
		now, err := c.e.c.Turns.Input(ctx, in.ID)
		if err == nil && !now.Pending() {
			return true
		}
		timer := time.NewTimer(poll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-news:
		case <-timer.C:
		}
		timer.Stop()
	}
}
