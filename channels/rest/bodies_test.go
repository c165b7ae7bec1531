package rest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels/rest"
	"parley/core"
)

// writers are the routes that take a body, by method.
func writers(t testing.TB, in input, r run) (out [][2]string) {
	t.Helper()
	fill := strings.NewReplacer("{agent}", "ops", "{input}", in.ID, "{run}", r.ID)
	paths, _ := at(t, loaded().doc, "paths").(map[string]any)
	for p, methods := range paths {
		for _, m := range []string{"post", "put"} {
			if at(t, methods, m) != nil {
				out = append(out, [2]string{strings.ToUpper(m), fill.Replace(p)})
			}
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	if len(out) < 9 {
		t.Fatalf("only %d routes take a body: the document is broken", len(out))
	}
	return out
}

// TestEveryRouteWithOddBodies: missing, empty, huge, deep, of another type or shape: each route refuses it as the
// document says, within its limits, and nothing happens.
func TestEveryRouteWithOddBodies(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, func(c *rest.Config) {
		c.MaxBody = 64 << 10
		c.Define = func(_ context.Context, _ core.AgentID, body []byte) (bool, error) {
			return false, rest.Invalid(fmt.Sprintf("%d bytes", len(body)), core.FieldError{Field: "model", Reason: "missing"})
		}
	})
	r := w.begin(drop)
	in := r.Inputs[0]
	huge := strings.Repeat("x", 80<<10)
	for _, route := range writers(t, in, r) {
		for name, tt := range map[string]struct {
			body, kind string
			status     int
		}{
			"missing": {"", "", 415}, "no type": {`{}`, "", 415}, "form": {`a=b`, "application/x-www-form-urlencoded", 415},
			"empty": {"", "application/json", 400}, "null": {"null", "application/json", 400}, "list": {"[]", "application/json", 400}, "text": {`"x"`, "application/json", 400},
			"number": {"1e999", "application/json", 400}, "cut": {`{"a":`, "application/json", 400}, "two": {`{}{}`, "application/json", 400},
			"unknown": {`{"admin":true,"__proto__":{}}`, "application/json", 400}, "twice": {`{"from":"test:ana","from":"test:ben"}`, "application/json", 400},
			"not UTF-8": {"{\"text\":\"\xff\xfe\"}", "application/json", 400}, "deep": {`{"a":` + strings.Repeat("[", 30000) + strings.Repeat("]", 30000) + `}`, "application/json", 400},
			"huge": {`{"text":"` + huge + `"}`, "application/json", 413}, "huge space": {strings.Repeat(" ", 80<<10) + "{}", "application/json", 413},
			"types": {`{"text":{},"from":[],"action":7,"answers":{"a":1},"runId":null,"conversation":true}`, "application/json", 400},
		} {
			a := w.do("root", route[0], route[1], tt.body, "Content-Type", tt.kind)
			if a.status != tt.status && !(route[0] == "PUT" && a.status == 400) {
				t.Errorf("%s %s, %s: %d, want %d: %.200s", route[0], route[1], name, a.status, tt.status, a.body)
			}
		}
	}
	if got := w.input(in.ID); got.State != "pending" || len(w.effects()) != 0 {
		t.Errorf("it is %s, effects %q", got.State, w.effects())
	}
}

// TestAHugeBodyIsNotRead: it is refused while it is still being sent, and the connection is given up.
func TestAHugeBodyIsNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	head := "POST /v1/agents/ops/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer gate-secret\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	go func() {
		_, err := io.WriteString(conn, head)
		for err == nil { // for ever, if it were read
			_, err = io.WriteString(conn, "10000\r\n"+strings.Repeat(" ", 0x10000)+"\r\n")
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !resp.Close {
		t.Errorf("status %d, closed %v", resp.StatusCode, resp.Close)
	}
}

// TestASlowBodyIsCut at the server's time: who sends half of it holds nothing for ever, and nothing happens.
func TestASlowBodyIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin(drop).Inputs[0]
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST /v1/agents/ops/inputs/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer one-secret\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"action\":\"accept\"}", in.ID)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusBadRequest || !resp.Close {
		t.Errorf("status %d, closed %v", resp.StatusCode, resp.Close)
	}
	if got := w.input(in.ID); got.State != "pending" {
		t.Errorf("it is %s", got.State)
	}
}

// TestOddAddresses name nothing, and are answered as such.
func TestOddAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"%00", "..%2f..%2fv1", "%ff", strings.Repeat("a", 3000), "a%7Cb", "%E2%80%AE", "-", "%20", "i1%0a"} {
		for _, path := range []string{"/v1/runs/%s", "/v1/inputs/%s", "/v1/agents/%s", "/v1/agents/%s/inputs", "/v1/agents/ops/inputs/%s", "/v1/runs/%s/events", "/v1/agents/%s/events"} {
			if a := w.send("root", "GET", fmt.Sprintf(path, id), nil); a.status != 404 && a.status != 400 {
				t.Errorf(path+": %d %s", id, a.status, a.body)
			}
		}
	}
}

// FuzzQuery: no query makes a list fail, and none shows what the token may not see.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"", "state=pending", "limit=0", "limit=201", "limit=1&cursor=eyJhIjp7Im9wcyI6ImEifX0", "cursor=e30", "cursor=%00", "state=pending&state=accepted", "x=1", "cursor=eyJkIjpbIm9wcyJdfQ", "cursor=eyJhIjp7Im90aGVyIjoiLyJ9fQ", "%", "limit=1;cursor=a",
	} {
		f.Add(q)
	}
	w := newWorld(f)
	w.begin(drop)
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := url.Parse("http://x/v1/inputs?" + query); err != nil || strings.ContainsAny(query, "#\r\n\x00 ") || strings.ContainsFunc(query, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Skip()
		}
		w.t = t // one at a time
		defer func() { w.t = f }()
		for _, token := range []string{"one", "far"} {
			a := w.do(token, "GET", "/v1/inputs?"+query, nil)
			if a.status != 200 && a.status != 400 {
				t.Errorf("status %d: %s", a.status, a.body)
			}
			if token == "far" && strings.Contains(string(a.body), `"agent":"ops"`) {
				t.Errorf("%q shows another agent's: %s", query, a.body)
			}
		}
	})
}
