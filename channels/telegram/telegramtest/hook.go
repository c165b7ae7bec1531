package telegramtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// hook is a webhook that is set.
type hook struct {
	url, secret string
	ctx         context.Context
	stop        context.CancelFunc
	work        sync.WaitGroup
	busy        map[int64]bool // lanes with a request under way
	lastError   string
}

// setWebhook begins to post updates. s.mu is held.
func (s *Server) setWebhook(p params) (any, *refusal) {
	u, err := url.Parse(p.str("url"))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, bad("bad webhook: invalid webhook URL specified")
	}
	if secret := p.str("secret_token"); len(secret) > 256 {
		return nil, bad("secret token is too long")
	}
	if no := s.allow(p); no != nil {
		return nil, no
	}
	if p.yes("drop_pending_updates") {
		s.queue = nil
	}
	if s.poller != nil {
		close(s.poller)
		s.poller = nil
	}
	if s.hook != nil {
		s.hook.stop()
	}
	h := &hook{url: u.String(), secret: p.str("secret_token"), busy: map[int64]bool{}}
	h.ctx, h.stop = context.WithCancel(s.ctx)
	for _, w := range s.queue {
		w.posted = false
	}
	s.hook = h
	s.work.Go(func() { s.pump(h) })
	return true, nil
}

func (s *Server) deleteWebhook(p params) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.mu.Note()
	if s.hook != nil {
		s.hook.stop()
		s.hook = nil
	}
	if p.yes("drop_pending_updates") {
		s.queue = nil
	}
	return true, nil
}

func (s *Server) webhookInfo() map[string]any {
	out := map[string]any{"url": "", "has_custom_certificate": false, "pending_update_count": len(s.queue)}
	if s.hook != nil {
		out["url"] = s.hook.url
		if s.hook.lastError != "" {
			out["last_error_message"] = s.hook.lastError
		}
	}
	return out
}

// pump posts updates until the webhook is taken away: of each chat one at a time, in order.
func (s *Server) pump(h *hook) {
	defer h.work.Wait()
	for {
		s.mu.Lock()
		changed := s.mu.Changed()
		passed := map[int64]bool{}
		for _, w := range s.queue {
			if !w.posted && !h.busy[w.chat] && !passed[w.chat] && s.hook == h {
				w.posted, h.busy[w.chat] = true, true
				h.work.Go(func() { s.bring(h, w) })
			}
			passed[w.chat] = true
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-h.ctx.Done():
			return
		}
	}
}

// bring posts one update once, and puts it back where that fails.
func (s *Server) bring(h *hook, w *waiting) {
	err := s.postUpdate(h, w.raw)
	if err != "" {
		t := time.NewTimer(s.cfg.HookRetry)
		select {
		case <-t.C:
		case <-h.ctx.Done():
		}
		t.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.mu.Note()
	delete(h.busy, w.chat)
	h.lastError = err
	w.posted = false
	if err == "" {
		s.confirmed = append(s.confirmed, w.id)
		s.queue = slices.DeleteFunc(s.queue, func(o *waiting) bool { return o == w })
	}
}

// postUpdate returns "" if the bot took the update, else why not.
func (s *Server) postUpdate(h *hook, raw []byte) string {
	req, err := http.NewRequestWithContext(h.ctx, http.MethodPost, h.url, bytes.NewReader(raw))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	resp, err := s.cfg.HookClient.Do(req)
	if err != nil {
		return "Connection failed"
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // only the status counts
	if resp.StatusCode/100 != 2 {
		return "Wrong response from the webhook: " + resp.Status
	}
	return ""
}
