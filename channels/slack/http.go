package slack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	slackapi "github.com/slack-go/slack"

	"parley/channels"
)

const (
	maxBody = 1 << 20 // bytes of one request
	// answerWithin is how long a request waits for the sink: Slack waits for three seconds.
	answerWithin = 2500 * time.Millisecond
)

// gate lets requests in while Run is there to handle them.
type gate struct {
	mu sync.Mutex
	p  *postman // nil: closed
	in sync.WaitGroup
}

func (g *gate) open(p *postman) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.p = p
}

// shut lets nobody in any more and waits for those inside.
func (g *gate) shut() {
	g.mu.Lock()
	g.p = nil
	g.mu.Unlock()
	g.in.Wait()
}

// enter returns the postman where the gate is open; the caller then calls g.in.Done.
func (g *gate) enter() (*postman, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.p == nil {
		return nil, false
	}
	g.in.Add(1)
	return g.p, true
}

// Handler takes requests of the Events API and of interactivity: it is to be served at the address that the
// app's settings name for both. It answers 200 once what it was given is durable, and 503 where Slack is to
// bring it again. Without a signing secret it refuses everything.
func (a *Adapter) Handler() http.Handler { return http.HandlerFunc(a.serve) }

func (a *Adapter) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		a.log.Error("slack: a request is too large", "limit", maxBody)
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "incomplete request", http.StatusBadRequest)
		return
	}
	if err := a.genuine(r.Header, body); err != nil {
		a.log.Warn("slack: a request without a valid signature was refused", "remote", r.RemoteAddr, "why", err,
			"fix", "signingSecret must be that of the app, under Basic Information; and this machine's clock must be right")
		http.Error(w, "invalid signature", http.StatusUnauthorized)
		return
	}
	kind, payload, ok := sort(r.Header.Get("Content-Type"), body)
	if !ok {
		http.Error(w, "neither an event nor an interaction", http.StatusBadRequest)
		return
	}
	a.admit(w, r, kind, payload)
}

// genuine checks the signature over the raw body.
func (a *Adapter) genuine(h http.Header, body []byte) error {
	v, err := slackapi.NewSecretsVerifier(h, a.api.secrets().signing)
	if err != nil {
		return errors.New(verdict(err))
	}
	if _, err := v.Write(body); err != nil {
		return errors.New("unreadable")
	}
	if v.Ensure() != nil {
		return errors.New("it does not fit the body")
	}
	return nil
}

// verdict puts the library's reasons into words that hold nothing of the request.
func verdict(err error) string {
	switch {
	case errors.Is(err, slackapi.ErrMissingHeaders):
		return "it is missing"
	case errors.Is(err, slackapi.ErrExpiredTimestamp):
		return "it is older than five minutes"
	case errors.Is(err, slackapi.ErrInvalidConfiguration):
		return "this channel has no signingSecret"
	}
	return "it is malformed"
}

// sort tells an interaction, which is a form with a field payload, from an event, which is JSON.
func sort(contentType string, body []byte) (kind string, payload json.RawMessage, ok bool) {
	if !strings.HasPrefix(contentType, "application/x-www-form-urlencoded") {
		return "events_api", body, json.Valid(body)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", nil, false
	}
	payload = json.RawMessage(form.Get("payload"))
	if len(payload) == 0 {
		return "other", nil, true // a slash command, or a check of the certificate
	}
	return "interactive", payload, json.Valid(payload)
}

func (a *Adapter) admit(w http.ResponseWriter, r *http.Request, kind string, payload json.RawMessage) {
	if kind == "events_api" {
		var c callback
		switch err := json.Unmarshal(payload, &c); {
		case err == nil && c.Type == "url_verification":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, c.Challenge) // Slack that went away
			return
		case err == nil && c.Type == "app_rate_limited":
			a.log.Error("slack: more events than Slack delivers in an hour; those beyond are lost")
			return
		case err == nil && c.Type != "event_callback":
			return
		}
	}
	if kind == "other" {
		return
	}
	p, ok := a.gate.enter()
	if !ok {
		later(w, "not running")
		return
	}
	defer a.gate.in.Done()
	j, err := p.take(kind, payload)
	switch {
	case err != nil:
		a.log.Warn("slack: not taken, Slack brings it again", "err", err)
		later(w, "not now")
	case j != nil:
		await(w, r.Context(), j)
	}
}

// await answers 200 once a job is done, or asks for the event again where that takes too long: by then it may
// be stored, and is known by its identity.
func await(w http.ResponseWriter, ctx context.Context, j *job) {
	t := time.NewTimer(answerWithin)
	defer t.Stop()
	select {
	case <-j.done:
		if j.err != nil {
			later(w, "not stored")
		}
	case <-t.C:
		later(w, "not stored yet")
	case <-ctx.Done():
	}
}

// later asks Slack to bring the event again.
func later(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(channels.FirstPause/time.Second)))
	http.Error(w, why, http.StatusServiceUnavailable)
}
