package webhook_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels/webhook"
	"parley/core"
)

// endless is an answer without an end; it counts what was read of it.
type endless struct {
	read atomic.Int64
	slow <-chan struct{} // nil: it comes at once
}

func (e *endless) Read(p []byte) (int, error) {
	if e.slow != nil {
		<-e.slow
		return 0, io.ErrUnexpectedEOF
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// TestAP06AnswersOfEveryKind: what counts is the status; a huge, slow or odd answer holds nothing up, and a wait that
// is asked for is honoured within bounds.
func TestAP06AnswersOfEveryKind(t *testing.T) {
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		code  int
		after func() string
		wait  time.Duration // until the second attempt; 0: there is none
	}{
		"no content":             {204, nil, 0},
		"accepted":               {202, nil, 0},
		"not modified":           {304, nil, 5 * time.Second},
		"moved":                  {308, nil, 5 * time.Second},
		"not found":              {404, nil, 5 * time.Second},
		"limited, seconds":       {429, func() string { return "90" }, 90 * time.Second},
		"limited, a date":        {429, func() string { return date(90 * time.Second) }, 90 * time.Second},
		"limited, a date before": {503, func() string { return date(-time.Hour) }, 5 * time.Second},
		"limited, for ever":      {503, func() string { return date(100 * 365 * 24 * time.Hour) }, 5 * time.Hour},
		"limited, nonsense":      {503, func() string { return "soon" }, 5 * time.Second},
		"limited, negative":      {429, func() string { return "-5" }, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				body := &endless{}
				w.answer = func(n int, _ *http.Request) (*http.Response, error) {
					if n > 1 {
						return status(200), nil
					}
					res := status(c.code)
					res.Body = body
					if c.after != nil {
						res.Header.Set("Retry-After", c.after())
					}
					return res, nil
				}
				w.start()
				w.put(approval("i1"))
				w.tell(asked("i1"))
				later(10 * time.Hour)
				got := w.attempts()
				if c.wait == 0 && len(got) != 1 || c.wait > 0 && (len(got) != 2 || got[1].at.Sub(got[0].at).Round(time.Second) != c.wait) {
					t.Errorf("%d attempts: %v", len(got), got)
				}
				if n := body.read.Load(); n > 1<<20 {
					t.Errorf("%d bytes of the answer were read", n)
				}
				if s := w.look(); len(s.Pending)+len(s.Dead) != 0 || s.Disabled != "" {
					t.Errorf("left: %+v", s)
				}
			})
		})
	}
}

// TestAP07RequestedAfterResolved: the first delivery fails, and what came second arrives first. Both tell the input,
// its state then, a sequence and a time that put them in order; each keeps its id at every try (AU-16: and who
// answered, by which door).
func TestAP07RequestedAfterResolved(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.answer = func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return nil, errBroken
			}
			return status(200), nil
		}
		w.start()
		in := approval("i1")
		w.put(in)
		w.tell(asked("i1"))
		in.State = core.InputAccepted
		in.Settled = &core.Settled{By: "slack:T1/U2", Via: "chat", Role: "approver", At: time.Now(), Answer: &core.Answer{Action: core.ActionAccept}}
		w.put(in)
		w.tell(ended("i1"))
		later(time.Minute)
		got := w.attempts()
		if len(got) != 3 || got[0].body != got[2].body || got[0].head.Get("webhook-id") != got[2].head.Get("webhook-id") {
			t.Fatalf("%d attempts", len(got))
		}
		type message struct {
			Type      string
			Sequence  uint64
			Timestamp time.Time
			Data      struct {
				ID      core.InputID
				State   core.InputState
				Settled *struct{ By, Via, Role string }
			}
		}
		var first, second message // in the order of their arrival
		for i, m := range []*message{&first, &second} {
			if err := json.Unmarshal([]byte(got[i+1].body), m); err != nil {
				t.Fatal(err)
			}
		}
		if first.Type != webhook.Resolved || second.Type != webhook.Requested || first.Data.ID != second.Data.ID || first.Sequence <= second.Sequence || first.Timestamp.Before(second.Timestamp) {
			t.Errorf("%+v\n%+v", first, second)
		}
		if first.Data.State != core.InputAccepted || second.Data.State != core.InputPending || second.Data.Settled != nil {
			t.Errorf("%+v\n%+v", first, second)
		}
		if s := first.Data.Settled; s == nil || s.By != "slack:T1/U2" || s.Via != "chat" || s.Role != "approver" {
			t.Errorf("settled %+v", s)
		}
	})
}

// TestAP06AnAnswerThatNeverEnds is given up in time, and counts by its status.
func TestAP06AnAnswerThatNeverEnds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.answer = func(_ int, r *http.Request) (*http.Response, error) {
			res := status(200)
			res.Body = &endless{slow: r.Context().Done()}
			return res, nil
		}
		w.start()
		w.put(approval("i1"))
		w.put(approval("i2"))
		w.tell(asked("i1"), asked("i2"))
		later(time.Minute)
		got := w.attempts()
		if len(got) != 2 || !strings.Contains(got[1].body, `"i2"`) || got[1].at.Sub(got[0].at) > 20*time.Second {
			t.Errorf("%d attempts", len(got))
		}
	})
}
