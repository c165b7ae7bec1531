package slacktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Sign returns the signature of a body at a time, as Slack makes it.
func Sign(secret string, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	h := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(h, "v0:%s:", timestamp)
	h.Write(body)
	return timestamp, "v0=" + hex.EncodeToString(h.Sum(nil))
}

// Request is a signed request of Slack to the app: JSON, or a form where form is set.
func (s *Server) Request(ctx context.Context, body []byte, form bool) *http.Request {
	target := s.cfg.EventsURL
	if target == "" {
		target = "http://app.test/"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		panic(err) // the address of a test
	}
	r.Header.Set("Content-Type", "application/json")
	if form {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	ts, sig := Sign(s.cfg.SigningSecret, s.cfg.Now(), body)
	r.Header.Set("X-Slack-Request-Timestamp", ts)
	r.Header.Set("X-Slack-Signature", sig)
	return r
}

// post delivers by HTTP: the first attempts of a channel in their order, retries on their own. s.mu is held.
func (s *Server) post(d *delivery) {
	before, first := s.chain[d.channel], make(chan struct{})
	s.chain[d.channel] = first
	s.work.Go(func() {
		if before != nil {
			<-before
		}
		s.mu.Lock()
		d.sent = s.cfg.Now()
		s.mu.Unlock()
		for n := 0; ; n++ {
			status := s.postOnce(d, n)
			if n == 0 {
				close(first)
			}
			s.mu.Lock()
			d.attempts++
			switch {
			case status/100 == 2:
				s.done(d, d.sent)
				s.mu.Unlock()
				return
			case n >= len(s.cfg.Retries) || s.ctx.Err() != nil || d.kind == "interactive":
				s.giveUp(d) // presses are never repeated
				s.mu.Unlock()
				return
			}
			s.mu.Unlock()
			pause := time.NewTimer(s.cfg.Retries[n])
			select {
			case <-pause.C:
			case <-s.ctx.Done():
			}
		}
	})
}

// postOnce makes one attempt and returns its status, 0 where there was none within three seconds.
func (s *Server) postOnce(d *delivery, n int) int {
	ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
	defer cancel()
	body := []byte(d.payload)
	if d.kind == "interactive" {
		body = []byte(url.Values{"payload": {string(d.payload)}}.Encode())
	}
	r := s.Request(ctx, body, d.kind == "interactive")
	if n > 0 {
		r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(n))
		r.Header.Set("X-Slack-Retry-Reason", "http_error")
	}
	resp, err := s.cfg.EventsClient.Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // only the status counts
	if resp.Header.Get("X-Slack-No-Retry") != "" {
		s.mu.Lock()
		s.noRetry = true
		s.mu.Unlock()
	}
	return resp.StatusCode
}

// ForbadeRetry reports whether the app ever asked for no retry.
func (s *Server) ForbadeRetry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noRetry
}
