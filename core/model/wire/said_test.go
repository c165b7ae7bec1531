package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/core/model"
	"parley/core/model/modeltest"
)

func TestWaitInTheBody(t *testing.T) {
	t.Parallel()
	body := func(details string) string {
		return `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x","details":` + details + `}}]`
	}
	f := Far{Provider: "test", Host: "host"}
	for _, tt := range []struct {
		body, header string
		want         time.Duration
	}{
		{body(`[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]`), "", 17500 * time.Millisecond},
		{body(`[{"retryDelay":"17s"}]`), "3", 3 * time.Second},
		{body(`[{"retryDelay":"-1s"}]`), "", 0},
		{body(`[{"retryDelay":"99999h"}]`), "", maxAfter},
		{body(`[{"retryDelay":7}]`), "", 0},
		{body(`[7]`), "", 0},
		{body(`{}`), "", 0},
	} {
		h := http.Header{}
		if tt.header != "" {
			h.Set("Retry-After", tt.header)
		}
		if e := f.Refused(429, ParseSaid([]byte(tt.body)), h); e.After != tt.want || !e.Retry || e.Sentence != Limited {
			t.Errorf("%s: %v after %v, want %v", tt.body, e, e.After, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status   int
		body     string
		sentence string
	}{
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"contract_spend_limit_reached"}}}`, NoCredit},
		{400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, NoCredit},
		{402, `{"error":{"type":"billing_error"}}`, NoCredit},
		{400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed"}}]`, TooLong},
		{413, `{"error":{"type":"request_too_large"}}`, TooLong},
		{429, `{"error":{"details":[]}}`, Limited},
	} {
		if got, _ := judge(tt.status, ParseSaid([]byte(tt.body))); got != tt.sentence {
			t.Errorf("%s: %q, want %q", tt.body, got, tt.sentence)
		}
	}
	for kind, want := range map[string]int{
		"overloaded_error": 500, "api_error": 500, "timeout_error": 408, "billing_error": 402, "rate_limit_error": 429,
		"request_too_large": 413, "authentication_error": 401, "permission_error": 403, "not_found_error": 404, "invalid_request_error": 400, "": 500,
	} {
		if s, _ := ErrorIn([]byte(`{"error":{"type":"` + kind + `"}}`)); s.Status() != want {
			t.Errorf("%q in an answer of 200 is %d, want %d", kind, s.Status(), want)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	said := ParseSaid([]byte(`{"error":{"message":"Unsupported parameter: 'max_tokens'","param":"max_tokens"}}`))
	if !said.Refuses(400, "max_tokens") || said.Refuses(500, "max_tokens") || said.Refuses(400, "stream_options") {
		t.Error("which parameter was refused is not seen")
	}
	if ParseSaid([]byte(`{"error":{"message":"max_tokens must be positive"}}`)).Refuses(400, "max_tokens") {
		t.Error("a wrong value is no unknown parameter")
	}
}

// FuzzSaid checks that whatever a server says leads to an error that can be shown.
func FuzzSaid(f *testing.F) {
	f.Add(`[{"error":{"details":[{"retryDelay":"1s"}]}}]`, 429)
	f.Add(`{"detail":"`+modeltest.Key+`"}`, 400)
	f.Add(`{"error":{"type":"`+modeltest.Key+`","code":"sk"}}`, 200)
	f.Fuzz(func(t *testing.T, body string, status int) {
		far := NewFar("test", modeltest.Key, mustParse(t, "http://ana:password1@host"), nil)
		said := ParseSaid([]byte(body))
		if status < 400 {
			status = said.Status()
		}
		e := far.Refused(status, said, http.Header{"Retry-After": {body}})
		modeltest.CheckError(t, e, model.Request{})
		if strings.Contains(e.Error(), "password1") || e.After < 0 {
			t.Errorf("%v after %v", e, e.After)
		}
	})
}

func TestSchema(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		``: `{"properties":{},"type":"object"}`, `{}`: `{"properties":{},"type":"object"}`, `null`: `{"properties":{},"type":"object"}`,
		`{"type":"string","properties":{"a":1.10}}`: `{"properties":{"a":1.10},"type":"object"}`,
	} {
		got, err := Schema(model.ToolSpec{Name: "t", Schema: json.RawMessage(given)})
		b, merr := json.Marshal(got)
		if err != nil || merr != nil || string(b) != want {
			t.Errorf("%s is %s (%v, %v), want %s", given, b, err, merr, want)
		}
	}
}
