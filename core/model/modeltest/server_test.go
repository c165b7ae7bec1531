package modeltest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// post sends a body with the server's key.
func post(t *testing.T, s *Server, body string) (int, string, http.Header, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), resp.Header, err
}

const (
	sys   = `{"role":"system","content":"s"}`
	usr   = `{"role":"user","content":"u"}`
	callX = `{"id":"x","type":"function","function":{"name":"t","arguments":"{}"}}`
	callY = `{"id":"y","type":"function","function":{"name":"t","arguments":"{}"}}`
	resX  = `{"role":"tool","tool_call_id":"x","content":"r"}`
	resY  = `{"role":"tool","tool_call_id":"y","content":"r"}`
)

func makes(calls ...string) string {
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func messages(m ...string) string {
	return `{"model":"m","messages":[` + strings.Join(m, ",") + `]}`
}

func offers(tools string) string {
	return `{"model":"m","messages":[` + usr + `],"tools":[` + tools + `]}`
}

func TestServerIsStrict(t *testing.T) {
	t.Parallel()
	tool := func(name, schema string) string {
		return `{"type":"function","function":{"name":"` + name + `","parameters":` + schema + `}}`
	}
	object := `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"b":true}}`
	for _, tt := range []struct {
		name, body, refusal string
	}{
		{"talk", messages(sys, usr, `{"role":"assistant","content":"a"}`, usr), ""},
		{"parts", messages(`{"role":"user","content":[{"type":"text","text":"a"}]}`), ""},
		{"calls", messages(usr, makes(callX, callY), resX, resY, usr), ""},
		{"refusal", messages(usr, `{"role":"assistant","content":null,"refusal":"no"}`, usr), ""},
		{"tools", offers(tool("a__b", object) + "," + tool("c", object)), ""},
		{"not JSON", `{`, "could not parse"},
		{"no model", `{"messages":[` + usr + `]}`, "model parameter"},
		{"no messages", messages(), "empty array"},
		{"stream options", `{"model":"m","stream_options":{"include_usage":true},"messages":[` + usr + `]}`, "stream_options"},
		{"both limits", `{"model":"m","max_tokens":1,"max_completion_tokens":1,"messages":[` + usr + `]}`, "at the same time"},
		{"result missing at the end", messages(usr, makes(callX)), "did not have response messages: x"},
		{"results missing before a message", messages(usr, makes(callX, callY), usr), "did not have response messages: x, y"},
		{"second result missing", messages(usr, makes(callX, callY), resX, usr), "did not have response messages: y"},
		{"doubled result", messages(usr, makes(callX), resX, resX), "a second result for"},
		{"doubled result in place of another", messages(usr, makes(callX, callY), resX, resX), "a second result for"},
		{"order", messages(usr, makes(callX, callY), resY, resX), "out of order"},
		{"unknown result", messages(usr, makes(callX), resY), "not found in 'tool_calls'"},
		{"result of nothing", messages(usr, resX), "must be a response to a preceeding message"},
		{"late result", messages(usr, makes(callX), resX, usr, resX), "a second result for"},
		{"empty id", messages(usr, makes(strings.Replace(callX, `"x"`, `""`, 1)), resX), "empty string"},
		{"doubled id", messages(usr, makes(callX, callX), resX, resX), "Duplicate value"},
		{"id of an earlier reply", messages(usr, makes(callX), resX, makes(callX), resX), "Duplicate value"},
		{"empty list of calls", messages(usr, `{"role":"assistant","content":"a","tool_calls":[]}`), "empty array"},
		{"no call type", messages(usr, makes(`{"id":"x","function":{"name":"t","arguments":"{}"}}`), resX), "is not 'function'"},
		{"arguments as an object", messages(usr, makes(`{"id":"x","type":"function","function":{"name":"t","arguments":{}}}`), resX), "wrong shape"},
		{"name of a call", messages(usr, makes(strings.Replace(callX, `"t"`, `"t t"`, 1)), resX), "does not match pattern"},
		{"calls of a user", messages(`{"role":"user","content":"u","tool_calls":[` + callX + `]}`), "only allowed for the role"},
		{"result without id", messages(usr, makes(callX), `{"role":"tool","content":"r"}`), "Missing required parameter"},
		{"result without content", messages(usr, makes(callX), `{"role":"tool","tool_call_id":"x"}`), "Missing required parameter"},
		{"assistant says nothing", messages(usr, `{"role":"assistant","content":null}`), "expected a string"},
		{"user says null", messages(`{"role":"user","content":null}`), "expected a string"},
		{"content is a number", messages(`{"role":"user","content":1}`), "expected a string or an array"},
		{"no parts", messages(`{"role":"user","content":[]}`), "list of parts"},
		{"part of unknown type", messages(`{"role":"user","content":[{"type":"smell"}]}`), "part of type"},
		{"role", messages(`{"role":"model","content":"a"}`), "Supported values"},
		{"system is second", messages(usr, sys), "must be the first"},
		{"two systems", messages(sys, sys, usr), "must be the first"},
		{"tool name", offers(tool("a.b", object)), "does not match pattern"},
		{"long tool name", offers(tool(strings.Repeat("a", 65), object)), "does not match pattern"},
		{"tool twice", offers(tool("a", object) + "," + tool("a", object)), "there twice"},
		{"tool type", offers(`{"type":"web","function":{"name":"a"}}`), "type"},
		{"schema is no object", offers(tool("a", `[]`)), "must be a JSON object"},
		{"schema of a string", offers(tool("a", `{"type":"string"}`)), "type: \"string\""},
		{"schema without type", offers(tool("a", `{}`)), "must be a JSON Schema"},
		{"schema without properties", offers(tool("a", `{"type":"object"}`)), "missing properties"},
		{"array without items", offers(tool("a", `{"type":"object","properties":{"l":{"type":"array"}}}`)), "in 'l': array schema missing items"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := NewServer(t, func(Request) Reply { return Say("ok") })
			status, body, _, err := post(t, s, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.refusal == "" {
				if status != http.StatusOK || len(s.Requests()) != 1 || len(s.Refusals()) != 0 {
					t.Errorf("status %d: %s", status, body)
				}
				return
			}
			if status != http.StatusBadRequest || len(s.Requests()) != 0 || len(s.Refusals()) != 1 || !strings.Contains(s.Refusals()[0], tt.refusal) {
				t.Errorf("status %d, refusals %q, want one with %q", status, s.Refusals(), tt.refusal)
			}
			if !strings.Contains(body, `"type":"invalid_request_error"`) {
				t.Errorf("not in the service's style: %s", body)
			}
		})
	}
}

func TestServerWantsItsKeyAndPath(t *testing.T) {
	t.Parallel()
	s := NewServer(t, func(Request) Reply { return Say("ok") })
	for _, tt := range []struct {
		name, method, url, key string
		status                 int
	}{
		{"no key", "POST", "/chat/completions", "", 401},
		{"other key", "POST", "/chat/completions", "Bearer x", 401},
		{"path", "POST", "/completions", "Bearer " + Key, 404},
		{"method", "GET", "/chat/completions", "Bearer " + Key, 405},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+tt.url, strings.NewReader(messages(usr)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", tt.key)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.status)
			}
		})
	}
}

func TestServerWantsItsMessagesBack(t *testing.T) {
	t.Parallel()
	sent := `{"role":"assistant","content":"a","extra":{"b":1.0,"a":2}}`
	s := NewServer(t, func(Request) Reply { return Raw(sent, "stop") })
	s.Verbatim = true
	if status, body, _, _ := post(t, s, messages(usr)); status != http.StatusOK || !strings.Contains(body, sent) {
		t.Fatalf("status %d: %s", status, body)
	}
	for _, back := range []string{
		`{"role":"assistant","content":"a"}`,
		`{"role":"assistant","content":"a","extra":{"b":1,"a":2}}`,
		`{"role":"assistant","content":"another"}`,
	} {
		if status, _, _, _ := post(t, s, messages(usr, back, usr)); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", back, status)
		}
	}
	same := `{"content":"a","role":"assistant", "extra":{"a" : 2, "b":1.0}}`
	if status, body, _, _ := post(t, s, messages(usr, same, usr)); status != http.StatusOK {
		t.Errorf("the same message with its keys in another order: %d %s", status, body)
	}
	for _, r := range s.Refusals() {
		if !strings.Contains(r, "not the message that was sent") {
			t.Error(r)
		}
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	s := NewServer(t, InOrder(RateLimited("3"), HTML(502), Cut(Say("hello")), CallTools("hm", Call{"x", "t", "{"}), Refuse("no")))
	status, body, h, _ := post(t, s, messages(usr))
	if status != 429 || h.Get("Retry-After") != "3" || !strings.Contains(body, "rate_limit_exceeded") {
		t.Errorf("%d %v %s", status, h, body)
	}
	if status, body, h, _ = post(t, s, messages(usr)); status != 502 || h.Get("Content-Type") != "text/html" || !strings.HasPrefix(body, "<!DOCTYPE") {
		t.Errorf("%d %s", status, body)
	}
	if _, _, _, err := post(t, s, messages(usr)); err == nil {
		t.Error("the connection did not break")
	}
	if _, body, _, _ = post(t, s, messages(usr)); !strings.Contains(body, `"arguments":"{"`) || !strings.Contains(body, `"finish_reason":"tool_calls"`) {
		t.Error(body)
	}
	if _, body, _, _ = post(t, s, messages(usr)); !strings.Contains(body, `"refusal":"no"`) {
		t.Error(body)
	}
	if status, body, _, _ = post(t, s, messages(usr)); status != 400 || !strings.Contains(body, "no reply to this request") {
		t.Errorf("after the script: %d %s", status, body)
	}
}

func TestHoldWaits(t *testing.T) {
	t.Parallel()
	until, asked, done := make(chan struct{}), make(chan struct{}), make(chan int, 1)
	s := NewServer(t, func(Request) Reply {
		close(asked)
		return Hold(until, Say("at last"))
	})
	go func() {
		status, _, _, _ := post(t, s, messages(usr))
		done <- status
	}()
	<-asked
	select {
	case <-done:
		t.Fatal("answered before it was let go")
	default:
	}
	close(until)
	select {
	case status := <-done:
		if status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	case <-time.After(10 * time.Second):
		t.Error("not answered")
	}
}
