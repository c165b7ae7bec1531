package anthropic

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/core/model"
	"parley/core/model/modeltest"
)

// canned is a transport that answers everything with one body.
type canned struct{ kind, body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", Request: r,
		Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body)),
	}, nil
}

// check asks a server that answers with the body, and checks that this leads to an error that can be shown,
// or to a reply that can be stored and makes the next request a valid one.
func check(t *testing.T, kind, body string, stream bool) {
	c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: "http://host", HTTPClient: &http.Client{Transport: canned{kind, body}}})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: c, Stream: stream}
	k.Say("u")
	resp, err := k.Ask(t, t.Context())
	if err != nil {
		var e *model.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %T", err)
		}
		modeltest.CheckError(t, e, model.Request{})
		return
	}
	b, err := json.Marshal(resp)
	if err != nil {
		t.Fatalf("cannot be stored: %v", err)
	}
	var back model.Response
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatalf("cannot be read back: %v", err)
	}
	k.Request.Messages = append(k.Request.Messages, model.Message{Role: model.RoleAssistant, Text: back.Text, Calls: back.Calls, Raw: back.Raw, Provider: back.Provider})
	k.End(back, modeltest.Endings...)
	if err := model.Valid(k.Request.Messages); err != nil {
		t.Fatalf("the next conversation: %v", err)
	}
	p, err := c.params(k.Request)
	if err != nil {
		t.Fatalf("the next request: %v", err)
	}
	sent, err := p.MarshalJSON()
	if err != nil {
		t.Fatalf("the next request: %v", err)
	}
	checkSent(t, sent)
}

// sentBlock is a content block of a request. Only the fields of calls, results and texts are read: a block of
// another type goes back as it came, whatever is in it.
type sentBlock struct {
	Type, ID, Name string
	Text           *string
	ToolUseID      string `json:"tool_use_id"`
	Input          json.RawMessage
}

// UnmarshalJSON reads the type first.
func (b *sentBlock) UnmarshalJSON(raw []byte) error {
	type plain sentBlock
	var kind struct{ Type any }
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case "tool_use", "tool_result", "text":
		return json.Unmarshal(raw, (*plain)(b))
	}
	return nil
}

// checkSent checks the calls and results of a request, and that no text is empty.
func checkSent(t *testing.T, body []byte) {
	var w struct {
		Messages []struct {
			Role    string
			Content []sentBlock
		}
	}
	if err := json.Unmarshal(body, &w); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var calls, results []string
	for i, m := range w.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			t.Errorf("message %d is of the %s in %s", i, m.Role, body)
		}
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_use":
				if b.Name == "" || len(b.Input) == 0 || b.Input[0] != '{' {
					t.Errorf("a call without a name or input in %s", body)
				}
				calls = append(calls, b.ID)
			case b.Type == "tool_result":
				results = append(results, b.ToolUseID)
			case b.Type == "text" && strings.TrimSpace(*b.Text) == "":
				t.Errorf("an empty text in %s", body)
			}
		}
	}
	if strings.Join(calls, "|") != strings.Join(results, "|") {
		t.Errorf("calls %q, results %q in %s", calls, results, body)
	}
}

func FuzzDecode(f *testing.F) {
	for _, content := range []string{
		thinking + `,` + text + `,` + call, `{"type":"tool_use"},{"type":"tool_use","id":7,"name":"","input":[]}`, `{"type":"text","text":null},{"type":"text"}`,
		`{"type":"x","y":1}`, `7,null,{}`, ``, `{"type":"tool_use","input":"a"},{"type":"redacted_thinking","data":"x"}`,
	} {
		for _, stop := range []string{"end_turn", "max_tokens", "refusal", "pause_turn", ""} {
			f.Add(`{"type":"message","role":"assistant","content":[` + content + `],"stop_reason":"` + stop + `","usage":{"input_tokens":-1}}`)
		}
	}
	f.Add(`{"type":"error","error":{"type":"overloaded_error","message":"x","details":{"error_code":"y"}}}`)
	f.Add(`{"content":{}}`)
	f.Add(`<html>`)
	f.Fuzz(func(t *testing.T, body string) { check(t, "application/json", body, false) })
}

func FuzzStream(f *testing.F) {
	start := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n"
	end := "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	block := func(kind, delta string) string {
		return "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"" + kind + "\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":" + delta + "}\n\n" +
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	}
	f.Add(start + end)
	f.Add(start + block("text", `{"type":"text_delta","text":"Hi"}`) + end)
	f.Add(start + block("thinking", `{"type":"signature_delta","signature":"x"}`) + end)
	f.Add(start + block("tool_use", `{"type":"input_json_delta","partial_json":"{\"a\":"}`) + end)
	f.Add(start + block("new", `{"type":"new_delta","new":1}`) + end)
	f.Add(block("text", `{}`) + start + end)
	f.Add(start + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n")
	f.Add(start + "event: ping\ndata: {}\n\nevent: content_block_delta\ndata: {\"index\":-1}\n\n")
	f.Add("data: {\n\n")
	f.Fuzz(func(t *testing.T, body string) { check(t, "text/event-stream", body, true) })
}
