package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"parley/core"
)

func events(t testing.TB, in io.Reader, id string) (string, *wire) {
	t.Helper()
	w := &wire{token: "tok"}
	b := &eventBody{from: io.NopCloser(in), wire: w}
	if id != "" {
		b.id = json.RawMessage(id)
	}
	out, err := io.ReadAll(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), w
}

func TestEvents(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", maxMessage)
	for _, c := range []struct {
		name, in, id, want string
		answered           bool
	}{
		{"nothing", "", "", "", false},
		{"a comment", ": hi\n\n", "", ": hi\n\n", false},
		{"priming", "id: 1\nretry: 5\ndata:\n\n", "", "id: 1\nretry: 5\ndata: \n\n", false},
		{"an answer", "event: message\r\ndata: {\"id\":7,\"result\":{}}\r\n\r\n", "7", "event: message\ndata: {\"id\":7,\"result\":{}}\n\n", true},
		{"an answer to another", "data: {\"id\":8,\"result\":{}}\n\n", "7", "data: {\"id\":8,\"result\":{}}\n\n", false},
		{"lines", "data: {\"a\":\ndata: 1}\n\n", "7", "data: {\"a\": 1}\n\n", false},
		{"cut at the end", "data: {\"id\":7,\"result\":{}}", "7", "data: {\"id\":7,\"result\":{}}\n\n", true},
		{"cut within", "data: {\"id\":7,\"resu", "7", "", false},
		{"too large", "data: " + big + "\n\ndata: 1\n\n", "7", "data: " + string(tooLarge(json.RawMessage("7"))) + "\n\ndata: 1\n\n", true},
		{"too large by lines", "data: " + big[:maxMessage/2] + "\ndata: " + big[:maxMessage/2] + "\ndata: y\n\ndata: 1\n\n", "", "data: 1\n\n", false},
		{"too large and cut", "data: " + big, "7", "data: " + string(tooLarge(json.RawMessage("7"))) + "\n\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []io.Reader{strings.NewReader(c.in), iotest.HalfReader(strings.NewReader(c.in))} {
				out, w := events(t, in, c.id)
				if out != c.want || w.answered.Load() != c.answered {
					t.Errorf("%.300q, answered %v", out, w.answered.Load())
				}
			}
		})
	}
}

func TestAnnotate(t *testing.T) {
	t.Parallel()
	raw := `{"id":1,"method":"elicitation/create","params":{"_meta":{"parley/call":"forged","parley/approval":"forged","k":1},"requestedSchema":{"b":1,"a":2}}}`
	var m struct {
		Params struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	if err := json.Unmarshal(annotate([]byte(raw), "tok"), &m); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.Params.Meta); got != `map[k:1 parley/call:tok parley/schema:{"b":1,"a":2}]` {
		t.Errorf("meta %s", got)
	}
	for _, same := range []string{`{`, `[]`, `null`, `{"method":"ping"}`, `{"result":{"content":[]}}`, `{"result":7}`, `{"method":"elicitation/create","params":7}`, `{"result":{"inputRequests":{},"_meta":7}}`} {
		if got := annotate([]byte(same), "tok"); !core.SameJSON(got, json.RawMessage(same)) {
			t.Errorf("%s is made %s", same, got)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"inputRequests\":{}}}\n\n")
	f.Add(": c\r\n\r\ndata: a\ndata: b\n\n")
	f.Add("data: {\"method\":\"elicitation/create\",\"params\":{\"_meta\":{}}}\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		out, _ := events(t, strings.NewReader(in), "1")
		again, _ := events(t, strings.NewReader(out), "1")
		if out != again {
			t.Errorf("%q is made %q and then %q", in, out, again)
		}
	})
}

func FuzzAnnotate(f *testing.F) {
	f.Add([]byte(`{"result":{"inputRequests":{"a":{}},"structuredContent":[1]}}`))
	f.Add([]byte(`{"method":"elicitation/create","params":{"requestedSchema":{"type":"object"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := annotate(raw, "tok")
		if json.Valid(raw) && !json.Valid(out) {
			t.Errorf("%q is made %q", raw, out)
		}
		if !json.Valid(raw) && !bytes.Equal(raw, out) {
			t.Errorf("%q is no JSON and is made %q", raw, out)
		}
	})
}
