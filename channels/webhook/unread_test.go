package webhook_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels/webhook"
	"parley/core"
)

// TestUnread is the oldest event that a hook has not taken in: of those it is told of, and while it is not disabled.
func TestUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hooks[0].Events = []string{webhook.Resolved}
		unread := func() time.Time {
			t.Helper()
			h, err := webhook.New(webhook.Config{Turns: w, Memory: w.store, Hooks: w.hooks, Client: http.DefaultClient, Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			at, err := h.Unread(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		w.put(approval("i1"))
		w.tell(ended("i1"))
		if at := unread(); !at.IsZero() {
			t.Errorf("a hook that the store has not seen is told of nothing before: %s", at)
		}
		w.start()
		w.stop()
		later(time.Hour)
		for range 500 { // of no interest, and more than a page
			w.tell(asked("i1"), core.Event{Type: core.EventRunStarted})
		}
		if at := unread(); !at.IsZero() {
			t.Errorf("nothing of interest: %s", at)
		}
		want := time.Now()
		w.tell(ended("i1"))
		later(time.Hour)
		w.tell(ended("i1"))
		if at := unread(); !at.Equal(want) {
			t.Errorf("%s, want %s", at, want)
		}
		w.start()
		if at := unread(); !at.IsZero() {
			t.Errorf("all is taken in: %s", at)
		}
		w.answer = func(int, *http.Request) (*http.Response, error) { return status(http.StatusGone), nil }
		w.tell(ended("i1"))
		w.stop()
		w.tell(ended("i1"))
		if w.look().Disabled == "" {
			t.Fatal("it is not disabled")
		}
		if at := unread(); !at.IsZero() {
			t.Errorf("a disabled hook keeps %s back", at)
		}
	})
}
