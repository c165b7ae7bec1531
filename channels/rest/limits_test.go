package rest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/channels/rest"
)

// TestStreamsOutliveTheServersTime: a stream is not cut by the server's time for ordinary requests, nor is a
// request that waits; a still stream says that it is alive.
func TestStreamsOutliveTheServersTime(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, func(c *rest.Config) { c.KeepAlive = 50 * time.Millisecond })
	r := w.begin("call slow__go {}")
	l := w.listen("gate", "/v1/runs/"+r.ID+"/events", "")
	w.want(w.answer("gate", r.Inputs[0], accept(ana, true)), 202)
	<-w.started
	for alive := 0; alive < 30; { // three times the server's time
		if !l.lines.Scan() {
			t.Fatalf("the stream was cut: %v", l.lines.Err())
		}
		if strings.HasPrefix(l.lines.Text(), ": still") {
			alive++
		}
	}
	began := time.Now()
	var still run
	w.want(w.do("gate", "GET", "/v1/runs/"+r.ID+"?wait=1", nil), 200).into(t, &still)
	if took := time.Since(began); still.Status != "running" || took < time.Second {
		t.Errorf("it waited %s for %+v", took, still)
	}
	close(w.release)
	if all := l.rest(); len(all) == 0 || all[len(all)-1].event != "run_finished" {
		t.Errorf("%q", events(all))
	}
}

// TestStreamsAreBounded: one too many is told to come back; one that hangs up, or reads nothing, makes room.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, func(c *rest.Config) {
		c.MaxStreams, c.SlowWrite, c.KeepAlive = 1, 50*time.Millisecond, 50*time.Millisecond
	})
	first := w.listen("gate", "/v1/agents/ops/events", "")
	if a := w.do("gate", "GET", "/v1/agents/ops/events", nil); a.status != http.StatusServiceUnavailable || a.Code != "busy" || a.header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", a.status, a.body)
	}
	first.close()
	admitted := func() bool {
		l := w.listen("gate", "/v1/agents/ops/events", "")
		defer l.close()
		return l.resp.StatusCode == http.StatusOK
	}
	eventually(t, "there is room again", admitted)

	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	deaf := func() bool { // it asks, and reads the first bytes only
		if _, err := fmt.Fprintf(conn, "GET /v1/agents/ops/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer gate-secret\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 12)
		if _, err := conn.Read(head); err != nil {
			t.Fatal(err)
		}
		return strings.HasSuffix(string(head), "200")
	}
	eventually(t, "the deaf reader is let in", deaf)
	big := "call log__write " + `{"text":"` + strings.Repeat("x", 500_000) + `"}`
	eventually(t, "the deaf reader is dropped", func() bool { w.begin(big); return admitted() })
}

// eventually waits until ok is true, and fails the test where it does not become so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(30 * time.Second)
	defer late.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("this did not come: %s", what)
		}
	}
}

// TestNotReady: a check that fails is named, and its failure is not.
func TestNotReady(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, func(c *rest.Config) {
		c.Checks = append(c.Checks, rest.Check{Name: "channels", Run: func(context.Context) error { return fmt.Errorf("token 12345 refused") }})
	})
	a := w.want(w.do("", "GET", "/readyz", nil), 503)
	if !strings.Contains(string(a.body), `"channels":"failing"`) || strings.Contains(string(a.body), "12345") {
		t.Errorf("%s", a.body)
	}
}

// TestConfigIsChecked: what cannot work is refused at the start.
func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rest.Config){
		"no memory": func(c *rest.Config) { c.Memory = nil },
		"no secret": func(c *rest.Config) { c.Tokens = []rest.Token{{Name: "a"}} },
		"no name":   func(c *rest.Config) { c.Tokens = []rest.Token{{Secret: "a"}} },
		"bar":       func(c *rest.Config) { c.Tokens = []rest.Token{{Name: "a|b", Secret: "a"}} },
		"twice":     func(c *rest.Config) { c.Tokens = []rest.Token{{Name: "a", Secret: "a"}, {Name: "a", Secret: "b"}} },
	} {
		var err error
		w := newWorldWith(t, func(c *rest.Config) {
			broken := *c
			change(&broken)
			_, err = rest.New(broken)
		})
		w.end()
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
