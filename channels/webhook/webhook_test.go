package webhook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	oracle "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"parley/channels/webhook"
	"parley/core"
)

// bubble runs a test on virtual time.
func bubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newWorld(t)) })
}

func TestRequestedAndResolved(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start()
		in := approval("i1")
		w.put(in)
		w.tell(core.Event{Type: core.EventRunStarted, Run: "r1"}, asked("i1"), core.Event{Type: core.EventInputRequired, Run: "r1", Input: "i1"})
		in.State = core.InputAccepted
		in.Settled = &core.Settled{By: "api:ana", Via: "rest", Role: "asker", At: time.Now(), Answer: &core.Answer{Action: core.ActionAccept}}
		w.put(in)
		w.tell(ended("i1"))
		got := w.attempts()
		if len(got) != 2 {
			t.Fatalf("%d requests, want 2", len(got))
		}
		for i, want := range []struct {
			kind  string
			state core.InputState
			seq   uint64
		}{{"input.requested", core.InputPending, 2}, {"input.resolved", core.InputAccepted, 4}} {
			var p struct {
				Type      string
				Timestamp time.Time
				Sequence  uint64
				Data      struct {
					ID        core.InputID
					State     core.InputState
					Arguments json.RawMessage
					Settled   *struct{ By, Via string }
					Agent     string
					Place     string `json:"conversation"`
				}
			}
			if err := json.Unmarshal([]byte(got[i].body), &p); err != nil {
				t.Fatal(err)
			}
			if p.Type != want.kind || p.Data.State != want.state || p.Sequence != want.seq || p.Data.ID != "i1" || p.Timestamp.IsZero() || p.Data.Agent != "ops" || p.Data.Place != "work:C1" {
				t.Errorf("message %d: %s", i, got[i].body)
			}
			if settled := p.Data.Settled; (settled != nil) != (want.kind == "input.resolved") || settled != nil && (settled.By != "api:ana" || settled.Via != "rest") {
				t.Errorf("message %d: settled %+v", i, settled)
			}
		}
		if s := w.look(); len(s.Pending)+len(s.Dead) != 0 {
			t.Errorf("left: %+v", s)
		}
	})
}

// RE-10: the structure is there, the secrets are not.
func TestSecretsAreMasked(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start()
		in := approval("i1")
		in.Message = "use Bearer abcd1234efgh5678"
		in.Settled = &core.Settled{By: "api:ana", At: time.Now(), Answer: &core.Answer{Fields: map[string]json.RawMessage{"pin": []byte(`"hunter2222"`)}}}
		in.State, in.Kind, in.Schema = core.InputAccepted, core.KindForm, []byte(`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}`)
		w.put(in)
		w.tell(ended("i1"))
		body := w.attempts()[0].body
		for _, leak := range []string{"hunter2222", "abcd1234efgh5678", "p4ss"} {
			if strings.Contains(body, leak) {
				t.Errorf("%s stands in %s", leak, body)
			}
		}
		for _, want := range []string{`"staging"`, `"password"`, `"Authorization"`, `"masked":["/password"`, `"pin"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s is missing in %s", want, body)
			}
		}
	})
}

// The signature is judged by the library of the standard, with each key while they rotate.
func TestSignature(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		other := "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 24))
		w.hooks[0].Secret = other + " " + secret
		w.start()
		w.put(approval("i1"))
		w.tell(asked("i1"))
		a := w.attempts()[0]
		for _, s := range []string{secret, other} {
			judge, err := oracle.NewWebhook(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := judge.VerifyIgnoringTimestamp([]byte(a.body), a.head); err != nil {
				t.Errorf("%s: %v; %v", s[:10], err, a.head)
			}
			if judge.VerifyIgnoringTimestamp([]byte(a.body+" "), a.head) == nil {
				t.Error("another body passes")
			}
		}
		if n := len(strings.Fields(a.head.Get("webhook-signature"))); n != 2 {
			t.Errorf("%d signatures", n)
		}
		if sent, _ := strconv.ParseInt(a.head.Get("webhook-timestamp"), 10, 64); sent != a.at.Unix() {
			t.Errorf("timestamp %d, sent at %d", sent, a.at.Unix())
		}
	})
}

// AP-06: the same id and body at every try, a time of the attempt under the signature, the documented back-off.
func TestBackoffThenDeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.answer = func(n int, _ *http.Request) (*http.Response, error) {
			if n == 2 {
				return nil, errBroken
			}
			return status(500), nil
		}
		w.start()
		w.put(approval("i1"))
		w.tell(asked("i1"))
		in := approval("i1")
		in.Arguments = []byte(`{"changed":true}`)
		w.put(in) // a retry tells the same, whatever happened since
		later(20 * time.Hour)
		got := w.attempts()
		want := []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 5 * time.Hour, 5 * time.Hour}
		if len(got) != len(want)+1 {
			t.Fatalf("%d attempts, want %d", len(got), len(want)+1)
		}
		judge, err := oracle.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range got {
			if a.body != got[0].body || a.head.Get("webhook-id") != got[0].head.Get("webhook-id") {
				t.Errorf("attempt %d tells something else", i+1)
			}
			if err := judge.VerifyIgnoringTimestamp([]byte(a.body), a.head); err != nil {
				t.Errorf("attempt %d: %v", i+1, err)
			}
			if stamp := strconv.FormatInt(a.at.Unix(), 10); a.head.Get("webhook-timestamp") != stamp {
				t.Errorf("attempt %d: timestamp %s, want %s", i+1, a.head.Get("webhook-timestamp"), stamp)
			}
			if i > 0 && a.at.Sub(got[i-1].at).Round(time.Second) != want[i-1] {
				t.Errorf("attempt %d came after %v, want %v", i+1, a.at.Sub(got[i-1].at), want[i-1])
			}
		}
		s := w.look()
		if len(s.Pending) != 0 || len(s.Dead) != 1 || s.Dead[0].Tries != 10 || s.Dead[0].Input != "i1" || !strings.Contains(s.Dead[0].Error, "500") {
			t.Errorf("%+v", s)
		}
	})
}

func TestADeadLetterIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.answer = func(int, *http.Request) (*http.Response, error) { return status(503), nil }
		w.start()
		w.put(approval("i1"))
		w.tell(asked("i1"))
		later(20 * time.Hour)
		before := w.attempts()
		w.stop()
		if _, err := webhook.Revive(context.Background(), w.store, address, "msg_none"); err == nil {
			t.Error("an unknown letter is revived")
		}
		if n, err := webhook.Revive(context.Background(), w.store, address, w.look().Dead[0].ID); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		w.mu.Lock()
		w.answer = func(int, *http.Request) (*http.Response, error) { return status(200), nil }
		w.mu.Unlock()
		w.restart()
		after := w.attempts()
		if len(after) != len(before)+1 || after[len(before)].body != before[0].body {
			t.Errorf("%d attempts after %d", len(after), len(before))
		}
		if s := w.look(); len(s.Dead)+len(s.Pending) != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.answer = func(n int, _ *http.Request) (*http.Response, error) {
			res := status(map[bool]int{true: 429, false: 200}[n == 1])
			res.Header.Set("Retry-After", "90")
			return res, nil
		}
		w.start()
		w.put(approval("i1"))
		w.tell(asked("i1"))
		later(time.Hour)
		if got := w.attempts(); len(got) != 2 || got[1].at.Sub(got[0].at).Round(time.Second) != 90*time.Second {
			t.Errorf("%d attempts", len(got))
		}
	})
}

func TestGoneDisables(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.answer = func(int, *http.Request) (*http.Response, error) { return status(410), nil }
		w.start()
		w.put(approval("i1"))
		w.tell(asked("i1"))
		w.tell(asked("i1"))
		later(24 * time.Hour)
		w.restart()
		if n := len(w.attempts()); n != 1 {
			t.Errorf("%d attempts, want one", n)
		}
		if s := w.look(); s.Disabled == "" || len(s.Pending) != 1 {
			t.Errorf("%+v", s)
		}
		w.stop()
		if _, err := webhook.Revive(context.Background(), w.store, address); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		w.answer = func(int, *http.Request) (*http.Response, error) { return status(200), nil }
		w.mu.Unlock()
		w.restart()
		if n := len(w.attempts()); n != 3 { // both messages came
			t.Errorf("%d attempts after it was revived, want 3", n)
		}
	})
}

// A redirect is not followed: it could lead anywhere.
func TestRedirectIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.answer = func(int, *http.Request) (*http.Response, error) {
			res := status(307)
			res.Header.Set("Location", "http://169.254.169.254/")
			return res, nil
		}
		w.start()
		w.put(approval("i1"))
		w.tell(asked("i1"))
		if got := w.attempts(); len(got) != 1 || len(w.look().Pending) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// AP-07 and more: a message that waits for its next try holds back none behind it, and one hook no other.
func TestOneHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const slow = "https://slow.example.com/"
		w.hooks = append(w.hooks, webhook.Hook{URL: slow, Secret: secret, Events: []string{webhook.Resolved}})
		w.answer = func(n int, r *http.Request) (*http.Response, error) {
			if r.URL.String() == slow {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return status(map[bool]int{true: 500, false: 200}[n == 1]), nil
		}
		w.start()
		w.put(approval("i1"))
		w.tell(asked("i1"), ended("i1"))
		var types []string
		for _, a := range w.attempts() {
			if a.url == address {
				types = append(types, a.body[:24])
			}
		}
		if len(types) != 2 || !strings.Contains(types[0], "requested") || !strings.Contains(types[1], "resolved") {
			t.Errorf("%q", types)
		}
	})
}

// Each hook gets the events it asks for and no others.
func TestEventsAreChosen(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.hooks[0].Events = []string{webhook.Resolved}
		w.start()
		w.put(approval("i1"))
		w.tell(asked("i1"), core.Event{Type: core.EventElicitation, Input: "i1"}, core.Event{Type: core.EventRefused, Input: "i1"}, ended("i1"), ended("pruned"))
		if got := w.attempts(); len(got) != 1 || !strings.Contains(got[0].body, webhook.Resolved) {
			t.Errorf("%+v", got)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]webhook.Hook{
		"no url": {Secret: secret}, "a file": {URL: "file:///etc/passwd", Secret: secret}, "http": {URL: "http://example.com/", Secret: secret},
		"user": {URL: "https://u:p@example.com/", Secret: secret}, "event": {URL: address, Secret: secret, Events: []string{"run.started"}},
		"no secret": {URL: address}, "no prefix": {URL: address, Secret: "c2VjcmV0"}, "short": {URL: address, Secret: "whsec_c2VjcmV0"}, "no base64": {URL: address, Secret: "whsec_?"},
	} {
		err := webhook.Check(h)
		if err == nil {
			t.Errorf("%s passes", name)
		} else if strings.Contains(err.Error(), "c2VjcmV0") || strings.Contains(err.Error(), "/T0/") {
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
	for _, u := range []string{address, "http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]/x"} {
		if err := webhook.Check(webhook.Hook{URL: u, Secret: secret}); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}
