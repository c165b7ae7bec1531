package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// backoff is how long a message rests after each failure: ten tries over about 14 hours.
var backoff = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 5 * time.Hour, 5 * time.Hour,
}

// attemptTimeout bounds one attempt with its answer; maxAnswer how much of the answer is read.
const (
	attemptTimeout = 15 * time.Second
	maxAnswer      = 64 << 10
)

// errGone says that the address wants no more messages.
var errGone = errors.New("410 Gone: the address wants no more messages")

// failure is an attempt that was answered with something else than 2xx.
type failure struct {
	status string
	after  time.Duration // as the answer asks, 0 if it does not
}

func (f *failure) Error() string { return "answered " + f.status }

// deliver tries a letter once and stores what became of it.
func (s *sender) deliver(ctx context.Context, l Letter) {
	body, ok, err := s.Memory.Recall(ctx, bodyKey(s.hook.URL, l.ID))
	if err != nil {
		s.log.Error("a message could not be read", "message", l.ID, "err", err)
		l.NextAt = s.Now().Add(again)
		s.state.replace(l)
		return
	}
	if ok {
		err = s.attempt(ctx, l.ID, body)
	} else {
		err, l.Tries = errors.New("its text is gone"), len(backoff)
	}
	if err != nil && ctx.Err() != nil {
		return // cut short by the end: the next start tries it again
	}
	outcome, forget := s.account(l, err)
	// Once it was sent this is stored even at the end, so that it is not sent again.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
	defer cancel()
	s.persist(late, "store how an attempt ended", func(ctx context.Context) error {
		return s.state.save(ctx, s.Memory, s.hook.URL)
	})
	s.stored = s.state.Cursor
	for _, id := range forget {
		if err := s.Memory.Remember(late, bodyKey(s.hook.URL, id), nil, keepNone); err != nil {
			s.log.Warn("the text of a message stays until its time is over", "message", id, "err", err)
		}
	}
	if s.Observe != nil {
		s.Observe(s.host, outcome)
	}
}

// account puts the end of an attempt into the state; forget are ids whose bodies are needed no more.
func (s *sender) account(l Letter, err error) (o Outcome, forget []string) {
	if err == nil {
		s.state.drop(l.ID)
		return Delivered, []string{l.ID}
	}
	l.Tries++
	now := s.Now()
	l.Error, l.NextAt = err.Error(), now
	log := s.log.With("message", l.ID, "input", l.Input, "tries", l.Tries, "err", err)
	switch {
	case errors.Is(err, errGone):
		s.state.Disabled = err.Error()
		s.state.replace(l)
		log.Error("disabled")
		return Refused, nil
	case l.Tries > len(backoff):
		log.Error("given up: it is kept as a dead letter")
		for _, g := range s.state.bury(l) {
			forget = append(forget, g.ID)
		}
		return Died, forget
	}
	wait := backoff[l.Tries-1]
	var f *failure
	if errors.As(err, &f) {
		wait = min(max(wait, f.after), backoff[len(backoff)-1])
	}
	l.NextAt = now.Add(wait)
	s.state.replace(l)
	log.Warn("not delivered", "again", l.NextAt)
	return Retried, nil
}

// attempt sends a message once: nil for any 2xx. No error holds the address.
func (s *sender) attempt(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.hook.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the request could not be made")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Parley")
	sign(req.Header, s.keys, id, s.Now(), body)
	resp, err := s.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection can be used again
	_ = resp.Body.Close()
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusGone:
		return errGone
	default:
		return &failure{status: fmt.Sprint(code, " ", http.StatusText(code)), after: retryAfter(resp.Header, s.Now())}
	}
}

// retryAfter reads seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n > 0 && n < 1e6 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// withoutURL takes the address, which may hold keys, out of a client's error.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
