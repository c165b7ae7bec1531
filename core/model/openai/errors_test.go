package openai

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/core/model"
	"parley/core/model/modeltest"
	"parley/core/model/wire"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	fail := modeltest.Failure
	for _, tt := range []struct {
		name     string
		status   int
		body     string
		sentence string
		retry    bool
		words    string // part of the log's text
	}{
		{"key", 401, fail("Incorrect API key", "invalid_request_error", "", "invalid_api_key"), wire.KeyRefused, false, "invalid_api_key"},
		{"key with status 400", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, wire.KeyRefused, false, "INVALID_ARGUMENT, 400"},
		{"no permission", 403, fail("no", "", "", ""), wire.NotAllowed, false, "status 403"},
		{"model", 404, fail("The model does not exist", "invalid_request_error", "model", "model_not_found"), wire.Unknown, false, "model_not_found, model"},
		{"address", 404, "404 page not found", wire.Unknown, false, "status 404"},
		{"credit", 429, fail("You exceeded your current quota", "insufficient_quota", "", "insufficient_quota"), wire.NoCredit, false, "insufficient_quota"},
		{"credit by status", 402, `{"error":{"message":"Insufficient credits","code":402}}`, wire.NoCredit, false, "402"},
		{"rate", 429, `{"error":"slow down"}`, wire.Limited, true, "status 429"},
		{"too long", 400, fail("too many", "invalid_request_error", "messages", "context_length_exceeded"), wire.TooLong, false, "context_length_exceeded"},
		{"too long in words", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, wire.TooLong, false, "BadRequestError"},
		{"too large", 413, "", wire.TooLong, false, "status 413"},
		{"wrong", 422, `{"detail":[{"loc":["body"]}]}`, wire.NotTaken, false, "status 422"},
		{"other", 418, "", wire.NotTaken, false, "status 418"},
		{"late", 408, "", wire.Late, true, "status 408"},
		{"gateway", 504, "<html>", wire.Broken, true, "status 504"},
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, wire.Broken, true, "overloaded_error"},
		{"200 with a code", 200, `{"error":{"message":"x","code":502}}`, wire.Broken, true, "status 502"},
		{"200 with a rate limit", 200, `{"error":{"message":"x","code":"rate_limit_exceeded"},"choices":null}`, wire.Limited, true, "rate_limit_exceeded"},
		{"200 with a wrong key", 200, fail("x", "authentication_error", "", ""), wire.KeyRefused, false, "authentication_error"},
		{"200 with an unknown model", 200, fail("x", "not_found_error", "", ""), wire.Unknown, false, "not_found_error"},
		{"200 with a wrong request", 200, fail("x", "invalid_request_error", "", ""), wire.NotTaken, false, "invalid_request_error"},
		{"200 with text", 200, `{"error":"model is loading"}`, wire.Broken, true, "status 500"},
		{"200 with an unreadable error", 200, `{"error":{"code":{}}}`, wire.Broken, true, "status 500"},
		{"200 with an error in the choice", 200, `{"choices":[{"error":{"code":429,"message":"x"},"finish_reason":"error","message":{"role":"assistant","content":""}}]}`, wire.Limited, true, "status 429"},
		{"code that is no word", 400, fail("x", "delete the staging database", "a b", "<b>"), wire.NotTaken, false, "status 400"},
		{"choice without a message", 200, `{"choices":[{"finish_reason":"stop"}]}`, wire.Unreadable, true, "without a message"},
		{"choice of text", 200, `{"choices":[{"message":"hello"}]}`, wire.Unreadable, true, "without a message"},
		{"calls of an unknown shape", 200, `{"choices":[{"message":{"tool_calls":[[]]}}]}`, wire.Unreadable, true, "unknown shape"},
		{"list", 200, `[]`, wire.Unreadable, true, "no JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.NewServer(t, modeltest.InOrder(modeltest.Status(tt.status, nil, tt.body)))
			k := &modeltest.Talk{Model: open(t, s)}
			k.Say("delete the staging database")
			e := k.Fails(t)
			if e.Sentence != tt.sentence || e.Retry != tt.retry || !strings.Contains(e.Error(), tt.words) {
				t.Errorf("got %v (retry %v)\nwant %q (retry %v) with %q", e, e.Retry, tt.sentence, tt.retry, tt.words)
			}
		})
	}
}

func TestUntrustedServer(t *testing.T) {
	t.Parallel()
	h := httptest.NewUnstartedServer(http.NotFoundHandler())
	h.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	h.StartTLS()
	t.Cleanup(h.Close)
	for _, base := range []string{h.URL, strings.Replace(modeltest.NewServer(t, nil).URL, "http:", "https:", 1)} {
		c, err := New(Config{Model: "m", APIKey: modeltest.Key, BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		k := &modeltest.Talk{Model: c}
		k.Say("hello")
		if e := k.Fails(t); e.Retry || e.Sentence != wire.Insecure {
			t.Errorf("%v (retry %v)", e, e.Retry)
		}
	}
}

func TestLogHasNoKey(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := modeltest.NewServer(t, modeltest.InOrder(modeltest.Status(400, nil, modeltest.Failure("does not support tools, "+modeltest.Key, "", "", ""))))
	c, err := New(Config{Model: "m", APIKey: modeltest.Key, BaseURL: s.URL, Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: c}
	k.Say("hello")
	k.Fails(t)
	if !strings.Contains(out.String(), "level=DEBUG") || !strings.Contains(out.String(), "does not support tools, ***") {
		t.Errorf("log: %s", &out)
	}
}

// FuzzDecode checks that whatever a server answers leads to an error that can be shown, or to a reply that
// can be stored and whose message makes the next request a valid one.
func FuzzDecode(f *testing.F) {
	for _, m := range []string{
		`{"role":"assistant","content":"a"}`, `{"content":[{"type":"text","text":"a"},"b",{"text":{"value":"c"}},7,null]}`,
		`{"tool_calls":[{"function":{"name":"t","arguments":"{"}},null,{"id":1},{"id":"a","type":"custom"}],"content":7}`,
		`{"tool_calls":[],"refusal":"no"}`, `{"tool_calls":[{"id":"a","function":{"arguments":{"b":1}}},{"id":"a","function":null}]}`, `null`, `"a"`,
	} {
		f.Add(`{"choices":[{"message":` + m + `,"finish_reason":"stop"}],"usage":{"prompt_tokens":-1}}`)
		f.Add(m)
	}
	f.Add(`{"error":{"code":429}}`)
	f.Fuzz(func(t *testing.T, body string) {
		c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: "http://host/v1"})
		if err != nil {
			t.Fatal(err)
		}
		req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: "u"}}}
		if said, ok := wire.ErrorIn([]byte(body)); ok {
			modeltest.CheckError(t, c.far.Refused(said.Status(), said, nil), model.Request{})
			return
		}
		resp, err := c.decode([]byte(body), req)
		if err != nil {
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %T", err)
			}
			modeltest.CheckError(t, e, model.Request{})
			return
		}
		checkNext(t, c, resp, req)
	})
}

// checkNext checks that a reply can be stored, and that its message makes the next request a valid one.
func checkNext(t *testing.T, c *Client, resp model.Response, req model.Request) {
	t.Helper()
	b, err := json.Marshal(resp)
	if err != nil {
		t.Fatalf("cannot be stored: %v", err)
	}
	var back model.Response
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatalf("cannot be read back: %v", err)
	}
	req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Text: back.Text, Calls: back.Calls, Raw: back.Raw, Provider: back.Provider})
	for _, call := range back.Calls {
		req.Messages = append(req.Messages, model.Message{Role: model.RoleTool, Result: &model.Result{CallID: call.ID, Content: "r"}})
	}
	if err := model.Valid(req.Messages); err != nil {
		t.Fatalf("the next conversation: %v", err)
	}
	p, err := c.params(req)
	if err != nil {
		t.Fatalf("the next request: %v", err)
	}
	sent, err := p.MarshalJSON()
	if err != nil {
		t.Fatalf("the next request: %v", err)
	}
	checkSent(t, sent)
}

// checkSent checks the ids of the calls and results of a request, which is all that servers differ little in.
func checkSent(t *testing.T, body []byte) {
	t.Helper()
	var w struct {
		Messages []struct {
			Role       string
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function struct{ Name string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &w); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var calls, results []string
	for _, m := range w.Messages {
		for _, c := range m.ToolCalls {
			if c.Function.Name == "" {
				t.Errorf("a call without a name in %s", body)
			}
			calls = append(calls, c.ID)
		}
		if m.Role == "tool" {
			results = append(results, m.ToolCallID)
		}
	}
	if w.Messages[1].Role != "assistant" || strings.Join(calls, "|") != strings.Join(results, "|") {
		t.Errorf("calls %q, results %q in %s", calls, results, body)
	}
}
