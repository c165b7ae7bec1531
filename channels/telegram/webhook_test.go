package telegram

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/telegram/telegramtest"
	"parley/core"
)

func byWebhook(_ *telegramtest.Config, c *Config) { c.Webhook = true }

func TestWebhookHandsOverAndConfirms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byWebhook)
		r.srv.Say(ana, dm, "before the start")
		r.start()
		r.srv.Say(ana, dm, "yes")
		after(time.Second)
		if got := r.sink.Texts(); got != "before the start|yes" {
			t.Errorf("handed over %q", got)
		}
		if p := r.srv.Pending(); len(p) != 0 {
			t.Errorf("updates %v are not confirmed", p)
		}
		set := r.srv.Calls("setWebhook")
		if len(set) != 1 {
			t.Fatalf("%d calls of setWebhook", len(set))
		}
		p := set[0].Params
		if p["url"] != "https://bot.test/channels/tg" || p["allowed_updates"] != allowedUpdates || p["drop_pending_updates"] != "false" {
			t.Errorf("setWebhook with %v", p)
		}
		if !validSecret.MatchString(p["secret_token"]) || strings.Contains(p["secret_token"], r.srv.Token()) {
			t.Errorf("secret_token %q", p["secret_token"])
		}
	})
}

// 200 only once it is durable: a store that fails makes Telegram bring it again, in order, and others go on.
func TestWebhookRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byWebhook)
		var broken atomic.Bool
		broken.Store(true)
		r.sink.Refuse(func(m core.Message) error {
			if broken.Load() && m.From == "telegram:42" {
				return errors.New("disk full")
			}
			return nil
		})
		r.start()
		r.srv.Say(ana, dm, "one")
		r.srv.Say(ana, dm, "two")
		r.srv.Say(ben, bens, "hello")
		after(time.Minute)
		if got := r.sink.Texts(); got != "hello" {
			t.Fatalf("handed over %q", got)
		}
		if n := len(r.srv.Confirmed()); n != 1 {
			t.Fatalf("%d updates confirmed, want Ben's", n)
		}
		broken.Store(false)
		after(time.Minute)
		if got := r.sink.Texts(); got != "hello|one|two" {
			t.Errorf("handed over %q", got)
		}
	})
}

// A second delivery of the same update has the same identity.
func TestWebhookSecondDelivery(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byWebhook)
		r.start()
		const raw = `{"update_id":5,"message":{"message_id":9,"date":1764000000,"chat":{"id":42,"type":"private"},"from":{"id":42},"text":"yes"}}`
		for range 2 {
			if w := post(r.a, r.a.secret(), raw); w.Code != http.StatusOK {
				t.Fatalf("status %d", w.Code)
			}
		}
		got := r.sink.Got()
		if len(got) != 2 || got[0].ID != "42:9" || got[0].ID != got[1].ID {
			t.Errorf("handed over %+v", got)
		}
	})
}

func post(a *Adapter, secret, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/channels/tg", strings.NewReader(body))
	if secret != "" {
		req.Header.Set(secretHeader, secret)
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, req)
	return w
}

func TestWebhookGuards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byWebhook)
		const good = `{"update_id":5,"message":{"message_id":9,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42},"text":"yes"}}`
		if w := post(r.a, r.a.secret(), good); w.Code != http.StatusServiceUnavailable {
			t.Errorf("before Run: status %d, want 503 so that it comes again", w.Code)
		}
		r.start()
		tests := []struct {
			name, secret, body string
			want               int
		}{
			{"no secret", "", good, 401},
			{"wrong secret", "x", good, 401},
			{"secret with a space", r.a.secret() + " ", good, 401},
			{"the bot token", r.srv.Token(), good, 401},
			{"huge", r.a.secret(), `{"x":"` + strings.Repeat("a", maxUpdate) + `"}`, 413},
			{"not JSON", r.a.secret(), `yes`, 200},
			{"no id", r.a.secret(), `{"message":{}}`, 200},
			{"wrong types", r.a.secret(), `{"update_id":5,"message":7}`, 200},
			{"empty", r.a.secret(), ``, 200},
		}
		for _, tt := range tests {
			if w := post(r.a, tt.secret, tt.body); w.Code != tt.want {
				t.Errorf("%s: status %d, want %d", tt.name, w.Code, tt.want)
			}
		}
		w := httptest.NewRecorder()
		r.a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/channels/tg", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("GET: status %d", w.Code)
		}
		if n := len(r.sink.Got()); n != 0 {
			t.Errorf("%d messages got through", n)
		}
		r.Stop()
		if w := post(r.a, r.a.secret(), good); w.Code != http.StatusServiceUnavailable {
			t.Errorf("after Run: status %d", w.Code)
		}
	})
}

// A sink that takes long holds its chat alone; the end of Run ends it and nothing hangs.
func TestWebhookLongSink(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byWebhook)
		r.start()
		entered := make(chan struct{}, 1)
		slow := slowSink{r.sink, entered}
		r.Stop()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.a.Run(ctx, slow) }()
		synctest.Wait()
		r.srv.Say(ana, dm, "slow")
		r.srv.Say(ana, dm, "behind it")
		<-entered
		r.srv.Say(ben, bens, "hello")
		after(time.Minute)
		if got := r.sink.Texts(); got != "hello" {
			t.Errorf("handed over %q while Ana's chat is busy", got)
		}
		began := time.Now()
		cancel()
		if err := <-ended; err != nil || time.Since(began) > 0 {
			t.Errorf("Run returned %v after %v", err, time.Since(began))
		}
		if n := len(r.srv.Confirmed()); n != 1 {
			t.Errorf("%d updates confirmed, want Ben's", n)
		}
	})
}

// slowSink blocks on Ana's messages until its context ends.
type slowSink struct {
	*channeltest.Sink
	entered chan struct{}
}

func (s slowSink) Message(ctx context.Context, m core.Message) error {
	if m.From == "telegram:42" {
		s.entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Sink.Message(ctx, m)
}

func TestWebhookRefusedByTelegram(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byWebhook)
		r.srv.Fail("setWebhook", telegramtest.Fault{Status: 400, Description: "Bad Request: bad webhook: HTTPS url must be provided for webhook"})
		r.start()
		var p *channels.Permanent
		if err := r.Result(); !errors.As(err, &p) || !strings.Contains(p.Hint, "publicURL") {
			t.Errorf("Run returned %v", err)
		}
	})
}

func TestSecretIsDerived(t *testing.T) {
	t.Parallel()
	a, b := deriveSecret("1:aaa", "tg"), deriveSecret("1:aab", "tg")
	if a == b || a == deriveSecret("1:aaa", "other") || a != deriveSecret("1:aaa", "tg") || !validSecret.MatchString(a) {
		t.Errorf("secrets %q %q", a, b)
	}
}

func TestNewRefusesBadSettings(t *testing.T) {
	t.Parallel()
	good := Config{Name: "tg", Agent: "ops", Token: "1:secretsecret"}
	tests := map[string]func(*Config){
		"name":        func(c *Config) { c.Name = "" },
		"agent":       func(c *Config) { c.Agent = "" },
		"botToken":    func(c *Config) { c.Token = " " },
		"a character": func(c *Config) { c.Token = "1:secret/secret" },
		"secretToken": func(c *Config) { c.SecretToken = "söcret" },
		"publicURL":   func(c *Config) { c.Webhook = true },
		"apiURL":      func(c *Config) { c.APIURL = "localhost:1" },
		"apiURL?":     func(c *Config) { c.APIURL = "http://h/?x=1" },
	}
	for word, spoil := range tests {
		c := good
		spoil(&c)
		_, err := New(c)
		if err == nil || !strings.Contains(err.Error(), strings.TrimRight(word, "?")) || strings.Contains(err.Error(), "secretsecret") {
			t.Errorf("%s: %v", word, err)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

// The whole body is read before anything is decided, however it is split.
func TestWebhookCutRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byWebhook)
		r.start()
		req := httptest.NewRequest(http.MethodPost, "/channels/tg", &cutReader{bytes.NewBufferString(`{"update_id":5`)})
		req.Header.Set(secretHeader, r.a.secret())
		w := httptest.NewRecorder()
		r.a.Handler().ServeHTTP(w, req)
		if w.Code != http.StatusBadRequest {
			t.Errorf("status %d, want one that brings it again", w.Code)
		}
	})
}

// cutReader breaks off instead of ending.
type cutReader struct{ b *bytes.Buffer }

func (c *cutReader) Read(p []byte) (int, error) {
	if c.b.Len() == 0 {
		return 0, errors.New("connection reset")
	}
	return c.b.Read(p)
}
