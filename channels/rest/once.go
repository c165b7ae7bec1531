package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// keyTTL is how long an Idempotency-Key is remembered.
const keyTTL = 24 * time.Hour

// maxKey is the greatest length of an Idempotency-Key.
const maxKey = 255

// flights are the keys whose first request is under way in this process.
type flights struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

// take waits until nobody else has the key; done gives it back.
func (f *flights) take(ctx context.Context, key string) (done func(), err error) {
	for {
		f.mu.Lock()
		other := f.open[key]
		if other == nil {
			mine := make(chan struct{})
			f.open[key] = mine
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.open, key)
				f.mu.Unlock()
				close(mine)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-other:
		}
	}
}

// remembered is what is kept under a key: before the work the body's digest alone, after it the answer too.
type remembered struct {
	Body     string          `json:"body"`
	Status   int             `json:"status,omitempty"`
	Location string          `json:"location,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
	Problem  *Problem        `json:"problem,omitempty"`
}

// once runs a route once for each Idempotency-Key. The same request again gets the same answer; with another
// body it is refused. Where the program died in between the route runs again, and finds what it had done:
// a message has the key as its identity, and an input is settled once.
func (c *call) once(f action) (reply, error) {
	given := c.r.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return f(c)
	}
	if len(given) > 1 || given[0] == "" || len(given[0]) > maxKey || strings.ContainsFunc(given[0], func(r rune) bool { return r < ' ' || r > '~' }) {
		return reply{}, badFields("the Idempotency-Key does not fit", fieldOf("Idempotency-Key", fmt.Sprintf("want one of 1 to %d visible characters", maxKey)))
	}
	route := c.r.URL.Path
	if c.r.Method != http.MethodPost {
		route = c.r.Method + " " + route
	}
	c.key = digest(c.token.Name, route, given[0])
	done, err := c.a.flights.take(c.ctx, c.key)
	if err != nil {
		return reply{}, err
	}
	defer done()
	body := digest(string(c.body))
	before, err := c.recall()
	switch {
	case err != nil:
		return reply{}, err
	case before == nil:
		if err := c.remember(remembered{Body: body}); err != nil {
			return reply{}, err
		}
	case before.Body != body:
		return reply{}, &Problem{Status: http.StatusUnprocessableEntity, Code: "key_reused", Detail: "take a new Idempotency-Key for another request"}
	case before.Problem != nil:
		return reply{}, before.Problem
	case before.Status != 0:
		return reply{status: before.Status, body: before.Answer, location: before.Location}, nil
	}
	out, err := f(c)
	if kept, ok := keep(out, err); ok {
		kept.Body = body
		if err := c.remember(kept); err != nil {
			return reply{}, err
		}
	}
	return out, err
}

// keep is what is remembered of an answer; one that may be otherwise next time is not.
func keep(out reply, err error) (remembered, bool) {
	if err != nil {
		p := problemOf(err)
		return remembered{Status: p.Status, Problem: p}, p.Status < 500 && !p.Again
	}
	if out.again {
		return remembered{}, false
	}
	raw, err := encode(out.body)
	return remembered{Status: out.status, Location: out.location, Answer: raw}, err == nil
}

func (c *call) recall() (*remembered, error) {
	raw, ok, err := c.a.c.Memory.Recall(c.ctx, c.key)
	if err != nil || !ok {
		return nil, err
	}
	var m remembered
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, errors.Join(errors.New("read what is remembered of an Idempotency-Key"), err)
	}
	return &m, nil
}

func (c *call) remember(m remembered) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.a.c.Memory.Remember(c.ctx, c.key, raw, keyTTL)
}

// digest is over parts that cannot run into one another.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
