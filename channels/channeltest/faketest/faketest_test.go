package faketest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitIsWokenByAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m Mutex
		n, looks := 0, 0
		ended := make(chan error, 1)
		go func() {
			ended <- m.Wait(t.Context(), func() bool {
				m.Lock()
				defer m.Unlock()
				looks++
				return n == 2
			})
		}()
		for range 2 {
			synctest.Wait()
			m.Lock()
			n++
			m.Note()
			m.Unlock()
		}
		if err := <-ended; err != nil || looks != 3 {
			t.Errorf("ended with %v after %d looks", err, looks)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Wait(ctx, func() bool { return false }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestFaultsHappenInTheirOrder(t *testing.T) {
	t.Parallel()
	var f Faults[string]
	f.Add("send", 2, "first")
	f.Add("send", 0, "then")
	f.Add("", 1, "any")
	for i, want := range []string{"first", "first", "then", "any", ""} {
		got := ""
		if p := f.Take("send"); p != nil {
			got = *p
		}
		if got != want {
			t.Errorf("call %d: %q, want %q", i, got, want)
		}
	}
	f.Add("edit", 1, "x")
	f.Clear()
	if f.Take("edit") != nil {
		t.Error("a fault that was taken back happened")
	}
}

func TestInProcessBreaksAndAnswersAsAProxy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, stopAll := context.WithCancel(context.Background())
		defer stopAll()
		c, stop := InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !Break(server, r, r.URL.Path == "/hang", r.URL.Path == "/reset") {
				Proxy(w, http.StatusBadGateway, 7, "<html>")
			}
		}))
		defer stop()
		resp, err := c.Get("http://any.test/")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadGateway || resp.Header.Get("Retry-After") != "7" || string(body) != "<html>" {
			t.Errorf("%d %v %q", resp.StatusCode, resp.Header, body)
		}
		if _, err := c.Get("http://any.test/reset"); err == nil {
			t.Error("no reset")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://any.test/hang", nil)
		if _, err := c.Do(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		stop()
		if _, err := c.Get("http://any.test/"); err == nil {
			t.Error("it goes on after the end")
		}
	})
}
