package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"parley/core"
	"parley/core/turn"
	"parley/render"
)

const (
	// pageSize is how many inputs a page of the queue shows.
	pageSize = 20
	// chunk is how many are read at once, maxChunks how often for one page: a filter that few pass goes on with
	// the next page.
	chunk     = 100
	maxChunks = 20
)

// The lists of the queue.
const (
	listMine    = ""        // what the person may answer
	listStarted = "started" // what their own messages wait for, whoever may answer
	listLost    = "lost"    // what could not be delivered, newest first
)

// query is what a page of the queue asks for.
type query struct {
	List   string
	Agent  core.AgentID
	Asker  core.PersonID
	After  string
	Agents []Agent // to choose from
}

// Link is the address of this list from another place on; after "" is its beginning.
func (q query) Link(list, after string) string {
	u := url.Values{}
	for name, value := range map[string]string{"show": list, "agent": string(q.Agent), "person": string(q.Asker), "after": after} {
		if value != "" {
			u.Set(name, value)
		}
	}
	if len(u) == 0 {
		return "/inbox"
	}
	return "/inbox?" + u.Encode()
}

// queuePage shows what waits.
type queuePage struct {
	frame
	query
	Cards []card
	Lost  []lost
	// Next is where more is, "" on the last page.
	Next string
}

func (v *visit) query() query {
	u := v.r.URL.Query()
	q := query{List: u.Get("show"), Agent: core.AgentID(u.Get("agent")), Asker: core.PersonID(u.Get("person")), After: u.Get("after")}
	if q.List != listStarted && q.List != listLost {
		q.List = listMine
	}
	if q.Asker != "" {
		q.Asker = core.PersonID(render.Visible(string(v.i.c.Canonical(q.Asker)))) // no id has what is not seen
	}
	for _, a := range v.i.c.Agents() {
		if v.s.token.sees(a.ID) {
			q.Agents = append(q.Agents, a)
		}
	}
	return q
}

func (v *visit) queue() error {
	q := v.query()
	if q.List == listLost {
		return v.showLost(q)
	}
	found, next, err := v.list(q)
	if err != nil {
		return err
	}
	p := queuePage{frame: v.frame("Inbox", v.r.URL.RequestURI()), query: q}
	if next != "" {
		p.Next = q.Link(q.List, next)
	}
	for _, in := range found {
		c := v.card(in, nil)
		if err := v.undelivered(&c); err != nil {
			return err
		}
		p.Cards = append(p.Cards, c)
	}
	p.Version = versions(found, next)
	p.Live = "/inbox/events?" + v.r.URL.RawQuery
	return v.show(http.StatusOK, "queue", p)
}

// versions changes with whatever a page of the queue shows.
func versions(found []core.Input, next string) string {
	parts := []string{next}
	for _, in := range found {
		parts = append(parts, string(in.ID), version(in))
	}
	return core.Digest(parts...)
}

// list is a page of what waits, oldest first. next is "" where there is no more.
func (v *visit) list(q query) (found []core.Input, next string, err error) {
	f := turn.InputFilter{Agent: q.Agent, After: q.After, Limit: chunk}
	if q.List == listMine {
		f.Responder = v.s.Person
	}
	for range maxChunks {
		page, next, err := v.inputs(f)
		if err != nil {
			return nil, "", err
		}
		for at, in := range page {
			if !v.lists(q, in) {
				continue
			}
			found = append(found, in)
			if len(found) < pageSize {
				continue
			}
			if at == len(page)-1 {
				return found, next, nil
			}
			f.Limit = at + 1 // the store says itself where this one stands
			_, next, err = v.inputs(f)
			return found, next, err
		}
		if next == "" {
			return found, "", nil
		}
		f.After = next
	}
	return found, f.After, nil
}

// inputs is a page of the store; a place that is none of its own is the person's mistake.
func (v *visit) inputs(f turn.InputFilter) ([]core.Input, string, error) {
	page, next, err := v.i.c.Turns.Inputs(v.r.Context(), f)
	if err != nil && f.After != "" && v.r.Context().Err() == nil {
		v.i.c.Log.Debug("a page of the inbox could not be read", "after", f.After, "err", err)
		return nil, "", &failure{http.StatusBadRequest, "There is no such page of the inbox. Begin at its first."}
	}
	return page, next, err
}

// lists reports whether an input belongs to a list.
func (v *visit) lists(q query, in core.Input) bool {
	if q.Asker != "" && in.Responders.Asker != q.Asker || !v.may(in) {
		return false
	}
	if q.List == listStarted {
		return in.Responders.Asker == v.s.Person
	}
	return v.i.c.Turns.MayAnswer(in, v.s.Person)
}

// maxTrouble bounds how many events are looked through for one card.
const maxTrouble = 500

// undelivered adds what could not be shown to anybody where the input was asked.
func (v *visit) undelivered(c *card) error {
	if len(c.Prompts) > 0 && !c.Alone {
		return nil // it stands in its chat
	}
	events, err := v.i.c.Turns.Events(v.r.Context(), c.Run, 0, maxTrouble)
	if err != nil && !errors.Is(err, turn.ErrNotFound) {
		return err
	}
	for _, e := range events {
		if e.Type == core.EventUndeliverable && e.Input == c.Input.ID {
			c.Undelivered = append(c.Undelivered, trouble(e))
		}
	}
	return nil
}

// trouble is a line about something that could not be shown.
func trouble(e core.Event) string {
	var d struct{ Kind, Error string }
	if json.Unmarshal(e.Data, &d) != nil {
		d.Kind = "message"
	}
	return fmt.Sprintf("The %s could not be shown at %s: %s", d.Kind, place(e.Conversation), render.Hidden(d.Error))
}
