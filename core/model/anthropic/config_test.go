package anthropic

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/core/model/modeltest"
	"parley/core/model/wire"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no model", Config{Model: " "}, "no model"},
		{"key with a line break", Config{Model: "m", APIKey: "sk-secret\n"}, "API key"},
		{"no scheme", Config{Model: "m", BaseURL: "localhost:11434"}, "want something like"},
		{"no host", Config{Model: "m", BaseURL: "http:///v1"}, "want something like"},
		{"unreadable", Config{Model: "m", BaseURL: "http://user:sk-secret@[::1"}, "cannot be read"},
		{"password", Config{Model: "m", BaseURL: "ftp://user:sk-secret@host"}, "want something like"},
		{"query", Config{Model: "m", BaseURL: "http://host/v1?key=sk-secret"}, "query"},
	} {
		c, err := New(tt.cfg)
		if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: got %v, want an error with %q and no secret", tt.name, err, tt.want)
		}
	}
}

func TestBaseURLForms(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerOf(t, modeltest.Messages, func(modeltest.Request) modeltest.Reply { return modeltest.Say("ok") })
	providers := map[string]bool{}
	for _, base := range []string{s.URL, s.URL + "/", s.URL + "/v1", s.URL + "/v1/messages", " " + s.URL + "/v1// "} {
		c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		k := &modeltest.Talk{Model: c}
		k.Say("hello")
		providers[k.Next(t).Provider] = true
	}
	if len(providers) != 1 {
		t.Errorf("one address has the names %v", providers)
	}
}

// TestEnvironment sets variables, so it runs alone.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"API_KEY", "AUTH_TOKEN", "BASE_URL", "WEBHOOK_SIGNING_KEY", "PROFILE", "FEDERATION_RULE_ID", "ORGANIZATION_ID", "IDENTITY_TOKEN"} {
		t.Setenv("ANTHROPIC_"+name, "http://127.0.0.1:1/environment")
	}
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: environment\nx-api-key: environment\nAuthorization: environment")
	t.Setenv("ANTHROPIC_OPEN_TELEMETRY", "true")
	t.Setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	s := modeltest.NewServerOf(t, modeltest.Messages, func(modeltest.Request) modeltest.Reply { return modeltest.Say("ok") })
	for i, key := range []string{modeltest.Key, ""} {
		s.Key = key
		c, err := New(Config{Model: "fake", APIKey: key, BaseURL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		k := &modeltest.Talk{Model: c, Stream: i == 0}
		k.Say("hello")
		k.Next(t)
	}
	for _, r := range s.Requests() {
		for name, values := range r.Header {
			if all := strings.Join(values, " "); strings.Contains(all, "environment") || name == "Traceparent" {
				t.Errorf("header %s comes from the environment: %s", name, all)
			}
		}
	}
	c, err := New(Config{Model: "fake"})
	if err != nil || c.far.Host != "api.anthropic.com" {
		t.Errorf("without a base URL the host is %q (%v)", c.far.Host, err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerOf(t, modeltest.Messages, func(modeltest.Request) modeltest.Reply {
		return modeltest.Hold(make(chan struct{}), modeltest.Say("too late"))
	})
	c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: s.URL, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []bool{false, true} {
		k := &modeltest.Talk{Model: c, Stream: stream}
		k.Say("hello")
		if e := k.Fails(t); !e.Retry || e.Sentence != wire.Late {
			t.Errorf("%v (retry %v)", e, e.Retry)
		}
	}
}

func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(
		modeltest.Body(strings.Repeat("a", wire.MaxBody+1)), modeltest.Status(500, nil, strings.Repeat("a", wire.MaxBody+1))))
	k := &modeltest.Talk{Model: open(t, s)}
	k.Say("hello")
	if e := k.Fails(t); e.Retry || e.Sentence != wire.TooLarge {
		t.Errorf("%v (retry %v)", e, e.Retry)
	}
	if e := k.Fails(t); !e.Retry {
		t.Errorf("%v (retry %v)", e, e.Retry)
	}
}

func TestTokenLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]string{0: `"max_tokens":16000`, 64: `"max_tokens":64`, 200_000: `"max_tokens":200000`} {
		s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(modeltest.Say("ok"), modeltest.Say("ok")))
		c, err := New(Config{Model: "claude-opus-4-1", APIKey: modeltest.Key, BaseURL: s.URL, MaxTokens: limit})
		if err != nil {
			t.Fatal(err)
		}
		for _, stream := range []bool{false, true} {
			k := &modeltest.Talk{Model: c, Stream: stream}
			k.Say("hello")
			k.Next(t)
		}
		if body := string(s.Requests()[0].Body); !strings.Contains(body, want) {
			t.Errorf("limit %d: no %s in %s", limit, want, body)
		}
	}
}

// counter is a transport that fails after some requests.
type counter struct{ left int }

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.left--; c.left < 0 {
		return nil, errors.New("dial: " + modeltest.Key)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestOwnHTTPClient(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(modeltest.Say("ok")))
	given := &http.Client{Transport: &counter{left: 1}}
	c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: s.URL, HTTPClient: given})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: c}
	k.Say("hello there")
	k.Next(t)
	if e := k.Fails(t); !e.Retry || e.Sentence != wire.Unreachable {
		t.Errorf("%v (retry %v)", e, e.Retry)
	}
	if given.CheckRedirect != nil {
		t.Error("the client given was changed")
	}
}

func TestUserInformationIsSentAndNotShown(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(modeltest.Say("ok")))
	c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: strings.Replace(s.URL, "//", "//ana:sk-secret-pass@", 1)})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: c}
	k.Say("hello there")
	e := k.Fails(t) // the strict server wants one key alone
	if len(s.Refusals()) != 1 || !strings.Contains(s.Refusals()[0], "Authorization") {
		t.Errorf("the user was not sent: %q", s.Refusals())
	}
	if strings.Contains(e.Error(), "secret") || strings.Contains(e.Error(), "ana") || strings.Contains(c.provider, "secret") {
		t.Errorf("user information in %q or %q", e, c.provider)
	}
}

func TestLogHasNoKey(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(modeltest.Fails(400, "invalid_request_error", "tools.0: "+modeltest.Key)))
	c, err := New(Config{Model: "m", APIKey: modeltest.Key, BaseURL: s.URL, Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: c}
	k.Say("hello")
	k.Fails(t)
	if !strings.Contains(out.String(), "level=DEBUG") || !strings.Contains(out.String(), "tools.0: ***") {
		t.Errorf("log: %s", &out)
	}
}

// TestSentences has what only this service says.
func TestSentences(t *testing.T) {
	t.Parallel()
	fails := modeltest.Fails
	for _, tt := range []struct {
		name     string
		reply    modeltest.Reply
		sentence string
		retry    bool
	}{
		{"credit", fails(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."), wire.NoCredit, false},
		{"billing", fails(403, "billing_error", "x"), wire.NoCredit, false},
		{"spend limit", modeltest.Status(429, map[string]string{"Retry-After": "9"}, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}`), wire.NoCredit, false},
		{"too long", fails(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), wire.TooLong, false},
		{"too long with the reply", fails(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2"), wire.TooLong, false},
		{"too large", fails(413, "request_too_large", "x"), wire.TooLong, false},
		{"overloaded", fails(529, "overloaded_error", "x"), wire.Broken, true},
		{"timeout", fails(504, "timeout_error", "x"), wire.Broken, true},
		{"timeout in the stream", modeltest.Midway("timeout_error", modeltest.Say("hello")), wire.Late, true},
		{"overload in the stream", modeltest.Midway("overloaded_error", modeltest.Say("hello")), wire.Broken, true},
		{"limit in the stream", modeltest.Midway("rate_limit_error", modeltest.Say("hello")), wire.Limited, true},
	} {
		s := modeltest.NewServerOf(t, modeltest.Messages, modeltest.InOrder(tt.reply))
		k := &modeltest.Talk{Model: open(t, s), Stream: true}
		k.Say("hello there")
		if e := k.Fails(t); e.Sentence != tt.sentence || e.Retry != tt.retry {
			t.Errorf("%s: %v (retry %v)", tt.name, e, e.Retry)
		}
	}
}
