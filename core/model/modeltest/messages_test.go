package modeltest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// postTo sends a body to a server of any dialect, with headers that replace its usual ones.
func postTo(t *testing.T, s *Server, body string, headers map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+s.Dialect.path(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if s.Dialect == Messages {
		req.Header.Set("X-Api-Key", Key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	} else {
		req.Header.Set("Authorization", "Bearer "+Key)
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const (
	mUser = `{"role":"user","content":"u"}`
	mX    = `{"type":"tool_use","id":"x","name":"t","input":{}}`
	mY    = `{"type":"tool_use","id":"y","name":"t","input":{}}`
	mResX = `{"type":"tool_result","tool_use_id":"x","content":"r"}`
	mResY = `{"type":"tool_result","tool_use_id":"y"}`
	mText = `{"type":"text","text":"a"}`
)

func by(role string, blocks ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
}

func put(m ...string) string {
	return `{"model":"m","max_tokens":9,"messages":[` + strings.Join(m, ",") + `]}`
}

func TestMessagesServerIsStrict(t *testing.T) {
	t.Parallel()
	calls := by("assistant", mX, mY)
	tool := func(t string) string {
		return `{"model":"m","max_tokens":9,"messages":[` + mUser + `],"tools":[` + t + `]}`
	}
	for _, tt := range []struct{ name, body, refusal string }{
		{"talk", put(mUser, by("assistant", mText), mUser), ""},
		{"calls", put(mUser, by("assistant", mText, mX, mY), by("user", mResX, mResY, mText), by("assistant", mText), mUser), ""},
		{"system", `{"model":"m","max_tokens":9,"system":[` + mText + `],"messages":[` + mUser + `]}`, ""},
		{"tool", tool(`{"name":"t","input_schema":{"type":"object","properties":{}}}`), ""},
		{"no JSON", `{`, "JSON"},
		{"unknown field", `{"model":"m","max_tokens":9,"messages":[` + mUser + `],"n":2}`, "Extra inputs"},
		{"no model", `{"max_tokens":9,"messages":[` + mUser + `]}`, "model"},
		{"no limit", `{"model":"m","messages":[` + mUser + `]}`, "max_tokens"},
		{"no messages", put(), "at least one message"},
		{"begins with the assistant", put(by("assistant", mText), mUser), "first message"},
		{"ends with the assistant", put(mUser, by("assistant", mText)), "prefill"},
		{"other role", put(mUser, `{"role":"tool","content":"x"}`), "role"},
		{"two of the user", put(mUser, mUser), "alternate"},
		{"no content", put(by("user")), "non-empty content"},
		{"content of no kind", put(`{"role":"user","content":7}`), "valid list"},
		{"empty text", put(by("user", `{"type":"text","text":""}`)), "non-empty"},
		{"blank text", put(mUser, by("assistant", `{"type":"text","text":"\n "}`), mUser), "non-whitespace"},
		{"empty system", `{"model":"m","max_tokens":9,"system":[{"type":"text","text":""}],"messages":[` + mUser + `]}`, "non-empty"},
		{"no result", put(mUser, calls, mUser), "without `tool_result`"},
		{"one result", put(mUser, calls, by("user", mResX)), "without `tool_result`"},
		{"result in two messages", put(mUser, calls, by("user", mResX), by("user", mResY)), "without `tool_result`"},
		{"reply before the result", put(mUser, calls, by("assistant", mText), mUser), "without `tool_result`"},
		{"open at the end", put(mUser, calls), "prefill"},
		{"doubled result", put(mUser, by("assistant", mX), by("user", mResX, mResX)), "unexpected `tool_use_id`"},
		{"out of order", put(mUser, calls, by("user", mResY, mResX)), "unexpected `tool_use_id`"},
		{"text first", put(mUser, by("assistant", mX), by("user", mText, mResX)), "must come first"},
		{"result of no call", put(by("user", mResX)), "unexpected `tool_use_id`"},
		{"late result", put(mUser, by("assistant", mX), by("user", mResX), by("assistant", mText), by("user", mResX)), "unexpected `tool_use_id`"},
		{"doubled call", put(mUser, by("assistant", mX, mX), by("user", mResX, mResX)), "unique"},
		{"call id", put(mUser, by("assistant", `{"type":"tool_use","id":"x y","name":"t","input":{}}`), mUser), "tool_use.id"},
		{"call name", put(mUser, by("assistant", `{"type":"tool_use","id":"x","name":"a.b","input":{}}`), mUser), "tool_use.name"},
		{"input", put(mUser, by("assistant", `{"type":"tool_use","id":"x","name":"t","input":[]}`), mUser), "dictionary"},
		{"empty error", put(mUser, by("assistant", mX), by("user", `{"type":"tool_result","tool_use_id":"x","is_error":true}`)), "cannot be empty"},
		{"empty text in a result", put(mUser, by("assistant", mX), by("user", `{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":""}]}`)), "non-empty"},
		{"thinking without signature", put(mUser, by("assistant", `{"type":"thinking","thinking":"h"}`, mText), mUser), "signature"},
		{"thinking made up", put(mUser, by("assistant", `{"type":"thinking","thinking":"h","signature":"s"}`, mText), mUser), "Invalid `signature`"},
		{"document of the assistant", put(mUser, by("assistant", `{"type":"document"}`), mUser), "expected tags"},
		{"picture", put(by("user", `{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"aGk="}}`)), "image type"},
		{"picture by URL", put(by("user", `{"type":"image","source":{"type":"url","url":"http://x"}}`)), "source"},
		{"tool name", tool(`{"name":"a.b","input_schema":{"type":"object"}}`), "pattern"},
		{"tool twice", tool(`{"name":"t","input_schema":{"type":"object","properties":{}}},{"name":"t","input_schema":{"type":"object","properties":{}}}`), "unique"},
		{"tool schema", tool(`{"name":"t","input_schema":{"type":"string"}}`), "input_schema"},
		{"alternatives at the top", tool(`{"name":"t","input_schema":{"type":"object","properties":{},"oneOf":[]}}`), "top level"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := NewServerOf(t, Messages, func(Request) Reply { return Say("ok") })
			status, body := postTo(t, s, tt.body, nil)
			if tt.refusal == "" {
				if status != http.StatusOK || !strings.Contains(body, `"stop_reason":"end_turn"`) {
					t.Errorf("%d %s", status, body)
				}
				return
			}
			if status != http.StatusBadRequest || !strings.Contains(body, tt.refusal) || !strings.Contains(body, `"type":"error"`) {
				t.Errorf("%d %s\nwant a refusal with %q", status, body, tt.refusal)
			}
		})
	}
}

func TestMessagesHeaders(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		headers map[string]string
		status  int
	}{
		"right":       {nil, 200},
		"new version": {map[string]string{"Anthropic-Version": "2026-10-21"}, 200},
		"no version":  {map[string]string{"Anthropic-Version": ""}, 400},
		"old version": {map[string]string{"Anthropic-Version": "2020-01-01"}, 400},
		"type":        {map[string]string{"Content-Type": "text/plain"}, 400},
		"wrong key":   {map[string]string{"X-Api-Key": "another"}, 401},
		"both keys":   {map[string]string{"Authorization": "Bearer " + Key}, 401},
	} {
		s := NewServerOf(t, Messages, InOrder(Say("ok")))
		if status, body := postTo(t, s, put(mUser), tt.headers); status != tt.status {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestThinkingComesBack(t *testing.T) {
	t.Parallel()
	const thinking, other = `{"type":"thinking","thinking":"h","signature":"s"}`, `{"type":"thinking","thinking":"g","signature":"q"}`
	for name, tt := range map[string]struct{ back, refusal string }{
		"as it was": {by("assistant", thinking, mX), ""},
		"changed":   {by("assistant", `{"type":"thinking","thinking":"h!","signature":"s"}`, mX), "Invalid `signature`"},
		"left out":  {by("assistant", mX), "cannot be modified"},
		"of other":  {by("assistant", other, mX), "cannot be modified"},
		"unknown":   {by("assistant", mY), ""}, // a call that another model made
	} {
		s := NewServerOf(t, Messages, InOrder(Blocks("tool_use", other, mText), Blocks("tool_use", thinking, mX), Say("ok")))
		for range 2 {
			postTo(t, s, put(mUser), nil)
		}
		result := mResX
		if strings.Contains(tt.back, `"y"`) {
			result = mResY
		}
		status, body := postTo(t, s, put(mUser, tt.back, by("user", result)), nil)
		if want := map[bool]int{true: 200, false: 400}[tt.refusal == ""]; status != want || !strings.Contains(body, tt.refusal) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestPausedTurnMayEndWithTheAssistant(t *testing.T) {
	t.Parallel()
	s := NewServerOf(t, Messages, InOrder(Blocks("pause_turn", mText), Say("ok")))
	postTo(t, s, put(mUser), nil)
	if status, body := postTo(t, s, put(mUser, by("assistant", mText)), nil); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

func TestGeminiServerWantsSignatures(t *testing.T) {
	t.Parallel()
	back := func(extra string) string {
		return messages(usr, `{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"t","arguments":"{}"}`+extra+`}]}`, resX)
	}
	signed := func(s string) string { return `,"extra_content":{"google":{"thought_signature":"` + s + `"}}` }
	s := NewServerOf(t, Gemini, func(r Request) Reply {
		if r.Last().Role == "user" {
			return CallTools("", Call{"x", "t", "{}"})
		}
		return Say("ok")
	})
	_, body := postTo(t, s, messages(usr), nil)
	_, rest, _ := strings.Cut(body, `"thought_signature":"`)
	given, _, _ := strings.Cut(rest, `"`)
	if given == "" || !strings.Contains(body, `"finish_reason":"stop"`) {
		t.Fatalf("no signature, or another end, in %s", body)
	}
	for _, tt := range []struct{ extra, refusal string }{
		{signed(given), ""}, {signed(unsigned), ""}, {"", "missing a thought_signature"}, {signed("bWFkZSB1cA=="), "not valid"},
	} {
		status, body := postTo(t, s, back(tt.extra), nil)
		if (status == 200) != (tt.refusal == "") || !strings.Contains(body, tt.refusal) {
			t.Errorf("%q: %d %s", tt.extra, status, body)
		}
		if tt.refusal != "" && !strings.HasPrefix(body, "[") {
			t.Errorf("not in the service's style: %s", body)
		}
	}
}

// TestStreams has the marks of each dialect's streams.
func TestStreams(t *testing.T) {
	t.Parallel()
	chat := strings.TrimSuffix(messages(usr), "}") + `,"stream":true,"stream_options":{"include_usage":true}}`
	msgs := strings.TrimSuffix(put(mUser), "}") + `,"stream":true}`
	for _, tt := range []struct {
		d     Dialect
		body  string
		reply Reply
		has   []string
		not   string
	}{
		{Chat, chat, Say("Hello"), []string{`"content":"Hel"`, `"content":"lo"`, `"finish_reason":"stop"`, `"usage":{`, "data: [DONE]\n\n"}, "error"},
		{Chat, chat, Early(Say("Hello")), []string{`"content":"Hel"`}, "[DONE]"},
		{Chat, chat, Midway("api_error", Say("Hello")), []string{`"content":"Hel"`, `data: {"error"`}, "[DONE]"},
		{Messages, msgs, Say("Hello"), []string{"event: message_start\n", `"text":"Hel"`, "event: ping\n", "event: message_stop\n"}, "error"},
		{Messages, msgs, Early(Say("Hello")), []string{"event: content_block_start\n"}, "message_stop"},
		{Messages, msgs, Midway("overloaded_error", Say("Hello")), []string{"event: error\ndata: ", "overloaded_error"}, "message_stop"},
		{Messages, msgs, Body(`{}`), []string{`{}`}, "event"},
	} {
		s := NewServerOf(t, tt.d, InOrder(tt.reply))
		status, body := postTo(t, s, tt.body, nil)
		for _, want := range tt.has {
			if status != 200 || !strings.Contains(body, want) {
				t.Errorf("%v: %d without %q: %s", tt.d, status, want, body)
			}
		}
		if strings.Contains(body, tt.not) {
			t.Errorf("%v: %q in %s", tt.d, tt.not, body)
		}
	}
}
