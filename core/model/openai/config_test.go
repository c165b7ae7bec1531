package openai

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/core/model"
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
		{"key with a space", Config{Model: "m", APIKey: "Bearer sk-secret"}, "API key"},
		{"no scheme", Config{Model: "m", BaseURL: "localhost:11434/v1"}, "want something like"},
		{"other scheme", Config{Model: "m", BaseURL: "ftp://host/v1"}, "want something like"},
		{"no host", Config{Model: "m", BaseURL: "http:///v1"}, "want something like"},
		{"unreadable", Config{Model: "m", BaseURL: "http://user:sk-secret@[::1"}, "cannot be read"},
		{"password", Config{Model: "m", BaseURL: "ftp://user:sk-secret@host"}, "want something like"},
		{"query", Config{Model: "m", BaseURL: "http://host/v1?key=sk-secret"}, "query"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := New(tt.cfg)
			if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("got %v, want an error with %q and no secret", err, tt.want)
			}
		})
	}
}

func TestBaseURLForms(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, func(modeltest.Request) modeltest.Reply { return modeltest.Say("ok") })
	for _, base := range []string{s.URL, s.URL + "/", s.URL + "/chat/completions", " " + s.URL + "// "} {
		c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		k := &modeltest.Talk{Model: c}
		k.Say("hello")
		if got := k.Next(t); got.Text != "ok" || got.Provider != c.provider {
			t.Errorf("%s: %+v", base, got)
		}
	}
}

// TestEnvironment sets variables, so it runs alone.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"API_KEY", "ADMIN_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"} {
		t.Setenv("OPENAI_"+name, "http://127.0.0.1:1/environment")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: environment\nAuthorization: environment")
	s := modeltest.NewServer(t, func(modeltest.Request) modeltest.Reply { return modeltest.Say("ok") })
	for _, key := range []string{modeltest.Key, ""} {
		s.Key = key
		c, err := New(Config{Model: "fake", APIKey: key, BaseURL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		k := &modeltest.Talk{Model: c}
		k.Say("hello")
		k.Next(t)
	}
	for _, r := range s.Requests() {
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), "environment") {
				t.Errorf("header %s comes from the environment", name)
			}
		}
	}
	c, err := New(Config{Model: "fake"})
	if err != nil || c.far.Host != "api.openai.com" {
		t.Errorf("without a base URL the host is %q (%v)", c.far.Host, err)
	}
}

func TestUserInformationIsSentAndNotShown(t *testing.T) {
	t.Parallel()
	var user, password string
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		user, password, _ = r.BasicAuth()
		return http.DefaultTransport.RoundTrip(r)
	})
	c, err := New(Config{Model: "fake", BaseURL: "http://ana:sk-secret-pass@127.0.0.1:1/v1", HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: c}
	k.Say("hello there")
	e := k.Fails(t)
	if strings.Contains(e.Error(), "secret") || strings.Contains(e.Error(), "ana") || strings.Contains(c.provider, "secret") {
		t.Errorf("user information in %q or %q", e, c.provider)
	}
	if user != "ana" || password != "sk-secret-pass" {
		t.Errorf("sent %q %q", user, password)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTimeout(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, func(modeltest.Request) modeltest.Reply {
		return modeltest.Hold(make(chan struct{}), modeltest.Say("too late"))
	})
	c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: s.URL, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	k := &modeltest.Talk{Model: c}
	k.Say("hello")
	if e := k.Fails(t); !e.Retry || e.Sentence != wire.Late {
		t.Errorf("%v (retry %v)", e, e.Retry)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]modeltest.Reply{
		"200": modeltest.Body(strings.Repeat("a", wire.MaxBody+1)),
		"500": modeltest.Status(500, nil, strings.Repeat("a", wire.MaxBody+1)),
	} {
		s := modeltest.NewServer(t, modeltest.InOrder(reply))
		k := &modeltest.Talk{Model: open(t, s)}
		k.Say("hello")
		e := k.Fails(t)
		if name == "200" && (e.Retry || e.Sentence != wire.TooLarge) || name == "500" && !e.Retry {
			t.Errorf("%s: %v (retry %v)", name, e, e.Retry)
		}
	}
}

func TestTokenLimit(t *testing.T) {
	t.Parallel()
	for _, knows := range []string{"max_tokens", "max_completion_tokens"} {
		t.Run(knows, func(t *testing.T) {
			t.Parallel()
			s := modeltest.NewServer(t, func(r modeltest.Request) modeltest.Reply {
				if !strings.Contains(string(r.Body), `"`+knows+`":64`) {
					return modeltest.Status(400, nil, modeltest.Failure("Unsupported parameter: use '"+knows+"' instead.", "invalid_request_error", "max_tokens", "unsupported_parameter"))
				}
				return modeltest.Say("ok")
			})
			c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: s.URL, MaxTokens: 64})
			if err != nil {
				t.Fatal(err)
			}
			k := &modeltest.Talk{Model: c}
			for range 2 {
				k.Say("hello")
				k.Next(t)
			}
			want := 2 // the second turn knows what the first learned
			if knows == "max_completion_tokens" {
				want = 3
			}
			if n := len(s.Requests()); n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
		})
	}
	t.Run("neither", func(t *testing.T) {
		t.Parallel()
		s := modeltest.NewServer(t, func(modeltest.Request) modeltest.Reply {
			return modeltest.Status(400, nil, modeltest.Failure("Unsupported parameter: max_completion_tokens", "", "max_tokens", ""))
		})
		c, err := New(Config{Model: "fake", APIKey: modeltest.Key, BaseURL: s.URL, MaxTokens: 64})
		if err != nil {
			t.Fatal(err)
		}
		k := &modeltest.Talk{Model: c}
		k.Say("hello")
		if e := k.Fails(t); e.Retry || len(s.Requests()) != 2 {
			t.Errorf("%v after %d requests, want 2", e, len(s.Requests()))
		}
	})
	c, err := New(Config{Model: "gpt-5"})
	if err != nil || !c.newTokens.Load() {
		t.Errorf("the real service knows max_completion_tokens (%v)", err)
	}
}

var _ model.Model = (*Client)(nil)
