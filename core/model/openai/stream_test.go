package openai

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/core/model"
	"parley/core/model/modeltest"
	"parley/core/model/wire"
)

// canned is a transport that answers everything with one body.
type canned struct{ kind, body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", Request: r,
		Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body)),
	}, nil
}

func talkTo(t *testing.T, kind, body string) *modeltest.Talk {
	t.Helper()
	c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: "http://host/v1", HTTPClient: &http.Client{Transport: canned{kind, body}}})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: c, Stream: true}
	k.Say("hello there")
	return k
}

// stream is the events of deltas and, if it is not "", of the reason why they end.
func stream(finish string, deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"choices":[{"index":0,"delta":` + d + "}]}\n\n")
	}
	if finish != "" {
		b.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + "\"}]}\n\n")
	}
	return b.String()
}

// TestStreamedCalls has the ways in which servers tell which call a piece belongs to, or do not.
func TestStreamedCalls(t *testing.T) {
	t.Parallel()
	call := func(s string) string { return `{"tool_calls":[` + s + `]}` }
	for name, tt := range map[string]struct {
		deltas []string
		want   string
	}{
		"by index": {[]string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":1,"id":"b","function":{"name":"g","arguments":""}}`),
			call(`{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":"}"}}`)}, "a f {}|b g {}"},
		"all index 0 with ids":      {[]string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), call(`{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}`)}, "a f {}|b f {}"},
		"all index 0 without ids":   {[]string{call(`{"index":0,"function":{"name":"f","arguments":"{}"}}`), call(`{"index":0,"function":{"name":"f","arguments":"{\"a\":1}"}}`)}, "call00001 f {}|call00002 f {\"a\":1}"},
		"no index":                  {[]string{call(`{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}`)}, "a f {}|b g {}"},
		"no index, in pieces":       {[]string{call(`{"id":"a","function":{"name":"f"}}`), call(`{"function":{"arguments":"{"}}`), call(`{"function":{"arguments":"}"}}`)}, "a f {}"},
		"id and name in each piece": {[]string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), call(`{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`)}, "a f {}"},
		"id late":                   {[]string{call(`{"index":0,"function":{"name":"f","arguments":"{"}}`), call(`{"index":0,"id":"a","function":{"arguments":"}"}}`)}, "a f {}"},
		"arguments no text":         {[]string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":{"b":[1]}}}`)}, "a f {\"b\":[1]}"},
		"no arguments":              {[]string{call(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`)}, "a f {}"},
		"null fields":               {[]string{`{"role":"assistant","content":null,"tool_calls":null,"refusal":null}`, call(`{"index":0,"id":"a","type":null,"function":{"name":"f","arguments":"{}"}}`)}, "a f {}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := talkTo(t, "text/event-stream", stream("stop", tt.deltas...)).Next(t)
			var got []string
			for _, c := range resp.Calls {
				got = append(got, c.ID+" "+c.Name+" "+string(c.Arguments))
			}
			if s := strings.Join(got, "|"); s != tt.want {
				t.Errorf("got %s, want %s\nraw %s", s, tt.want, resp.Raw)
			}
		})
	}
}

func TestStreamedFieldsAreKept(t *testing.T) {
	t.Parallel()
	resp := talkTo(t, "text/event-stream", stream("stop",
		`{"reasoning_content":"hm"}`, `{"reasoning_content":", yes"}`, `{"obfuscation":"xxx","content":"a"}`,
		`{"extra_content":{"google":{"thought":true}}}`, `{"extra_content":{"google":{"thought_signature":"c2ln"}},"content":"b"}`,
		`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"one","signature":null}]}`,
		`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":" two","signature":"c2ln"}]}`,
		`{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"x"}]}`, `{"score":1.50}`, `{"score":2.50}`, `{"score":null}`)).Next(t)
	var got, want any
	if err := json.Unmarshal(resp.Raw, &got); err != nil {
		t.Fatal(err)
	}
	const message = `{"role":"assistant","content":"ab","reasoning_content":"hm, yes","extra_content":{"google":{"thought":true,"thought_signature":"c2ln"}},"score":2.50,
		"reasoning_details":[{"type":"reasoning.text","index":0,"text":"one two","signature":"c2ln"},{"type":"reasoning.encrypted","index":1,"data":"x"}]}`
	if err := json.Unmarshal([]byte(message), &want); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("kept\n%s\nwant\n%s", a, b)
	}
}

func TestEndOfAStream(t *testing.T) {
	t.Parallel()
	const hi = `{"content":"Hi"}`
	for name, tt := range map[string]struct {
		body, sentence string // no sentence: it is a reply
		retry          bool
	}{
		"reason":                        {stream("stop", hi), "", false},
		"mark alone":                    {stream("", hi) + "data: [DONE]\n\n", "", false},
		"both":                          {stream("stop", hi) + "data: [DONE]\n\n", "", false},
		"neither":                       {stream("", hi), wire.Unreachable, true},
		"nothing":                       {"", wire.Unreachable, true},
		"comments alone":                {": hold on\n\n: hold on\n\n", wire.Unreachable, true},
		"in a piece":                    {stream("", hi) + `data: {"choices":[{"ind`, wire.Unreachable, true},
		"no JSON":                       {stream("", hi) + "data: {\n\n", wire.Unreadable, true},
		"list":                          {"data: []\n\n", wire.Unreadable, true},
		"error":                         {stream("", hi) + `data: {"error":{"code":429,"message":"sk"}}` + "\n\n", wire.Limited, true},
		"error beside a choice":         {`data: {"error":{"code":502,"message":"x"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}` + "\n\n", wire.Broken, true},
		"error in a choice":             {`data: {"choices":[{"index":0,"error":{"code":401},"delta":{}}]}` + "\n\n", wire.KeyRefused, false},
		"error event":                   {stream("", hi) + "event: error\ndata: {\"message\":\"overloaded\",\"code\":\"x\"}\n\n", wire.Broken, true},
		"another choice does not count": {`data: {"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}` + "\n\n", wire.Unreachable, true},
		"calls of an unknown shape":     {stream("stop", `{"tool_calls":7}`), wire.Unreadable, true},
		"call of an unknown shape":      {stream("stop", `{"tool_calls":[{"function":[]}]}`), wire.Unreadable, true},
		"too long a line":               {"data: " + strings.Repeat("a", wire.MaxBody+1) + "\n\n", wire.TooLarge, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := talkTo(t, "text/event-stream", tt.body)
			if tt.sentence == "" {
				if resp := k.Next(t); resp.Text != "Hi" || resp.Stop != model.StopEnd {
					t.Errorf("%+v", resp)
				}
				return
			}
			if e := k.Fails(t); e.Sentence != tt.sentence || e.Retry != tt.retry {
				t.Errorf("%v (retry %v), want %q", e, e.Retry, tt.sentence)
			}
		})
	}
}

func TestServerThatDoesNotStream(t *testing.T) {
	t.Parallel()
	k := talkTo(t, "application/json; charset=utf-8", `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`)
	if resp := k.Next(t); resp.Text != "Hi" {
		t.Errorf("%+v", resp)
	}
}

func TestServerWithoutStreamOptions(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, func(r modeltest.Request) modeltest.Reply {
		if strings.Contains(string(r.Body), "stream_options") {
			return modeltest.Status(400, nil, modeltest.Failure("Unrecognized request argument supplied: stream_options", "invalid_request_error", "", ""))
		}
		return modeltest.Say("ok")
	})
	k := &modeltest.Talk{Model: open(t, s), Stream: true}
	for range 2 {
		k.Say("hello")
		k.Next(t)
	}
	if n := len(s.Requests()); n != 3 { // the second turn knows what the first learned
		t.Errorf("%d requests, want 3", n)
	}
}

func TestUsageOfAStream(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, modeltest.InOrder(modeltest.Say("ok")))
	k := &modeltest.Talk{Model: open(t, s), Stream: true}
	k.Say("hello")
	if u := k.Next(t).Usage; u.Input != 11 || u.Output != 7 || u.Requests != 1 {
		t.Errorf("%+v", u)
	}
}

// FuzzStream is FuzzDecode for streams.
func FuzzStream(f *testing.F) {
	f.Add(stream("stop", `{"role":"assistant","content":"a"}`, `{"content":[{"type":"text","text":"b"}]}`, `{"refusal":"c"}`))
	f.Add(stream("length", `{"tool_calls":[{"index":0,"function":{"name":"t","arguments":"{"}},null,{"index":-1,"id":1}]}`))
	f.Add(stream("tool_calls", `{"tool_calls":[{"index":0,"id":"a"},{"index":0,"id":"b","extra_content":{"a":[1]}}]}`, `{"tool_calls":[{"extra_content":{"a":[{"index":0}]}}]}`))
	f.Add(stream("stop", `{"x":[{"index":1,"text":"a"}]}`, `{"x":[{"index":1,"text":"b","y":null}]}`, `{"x":7}`, `{"x":{"a":{"b":1}}}`))
	f.Add("event: error\ndata: {}\n\n")
	f.Add(`data: {"error":{"code":{}}}` + "\n\ndata: [DONE]\n\n")
	f.Add("data: {\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		k := talkTo(t, "text/event-stream", body)
		resp, err := k.Ask(t, t.Context())
		if err != nil {
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %T", err)
			}
			modeltest.CheckError(t, e, model.Request{})
			return
		}
		checkNext(t, k.Model.(*Client), resp, k.Request)
	})
}
