package wire

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"parley/core/model"
)

// Far is the service at the other end, as errors and logs speak of it.
type Far struct {
	Provider string // the package that talks to it: "openai"
	Host     string
	// Secrets are what never stands in an error or a log line.
	Secrets []string
	Log     *slog.Logger // nil: nothing is logged
}

// NewFar describes the service at an address that is talked to with a key.
func NewFar(provider, key string, base *url.URL, log *slog.Logger) Far {
	f := Far{Provider: provider, Host: base.Host, Log: log}
	password, _ := base.User.Password()
	for _, s := range []string{key, password} {
		if s != "" {
			f.Secrets = append(f.Secrets, s)
		}
	}
	return f
}

// ParseBase checks the base URL of a provider and returns it with a slash at its end and without the given
// suffix, the path of the one operation that people copy along. Its errors do not quote the address: it may
// hold a password.
func ParseBase(provider, s, suffix, example string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the base URL cannot be read: want something like %s", provider, example)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%s: base URL %q: want something like %s", provider, u.Redacted(), example)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: the base URL has a query or fragment, which would not be sent: want something like %s", provider, example)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), suffix) + "/"
	u.RawPath = ""
	return u, nil
}

// CheckKey refuses a key that cannot stand in a header. The error does not quote it.
func CheckKey(provider, key string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r > unicode.MaxASCII }) {
		return errors.New(provider + ": the API key holds a space, a line break or a character that no key has: check how it was copied")
	}
	return nil
}

// Client returns a client that follows no redirect: one would take the key and the conversation elsewhere.
func Client(c *http.Client) *http.Client {
	out := &http.Client{}
	if c != nil {
		*out = *c
	}
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return out
}

// MaxBody bounds an answer in bytes.
const MaxBody = 16 << 20

var errTooLarge = fmt.Errorf("the answer is longer than %d MiB", MaxBody>>20)

// Bounded is a middleware of the SDKs. It cuts an answer off that is longer than MaxBody.
func Bounded(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := next(req)
	if resp != nil && resp.Body != nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: MaxBody}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Unsendable is the error of a request that was not sent because it is wrong here already.
func (f Far) Unsendable(err error) *model.Error {
	return &model.Error{
		Sentence: "This conversation could not be put to the model because its record is not in order. Please tell whoever runs this bot.",
		Err:      fmt.Errorf("%s: build the request: %w", f.Provider, err),
	}
}

// Stopped is the error of a request that its caller gave up; cause is the context's error.
func Stopped(cause error) *model.Error {
	return &model.Error{Sentence: "The request to the model was stopped.", Err: cause}
}

// Unreadable is the error for an answer that makes no sense; what says in which way.
func (f Far) Unreadable(what string) *model.Error { return f.Fail(what, Unreadable, true, 0) }

// NotAModel is the error for a page where a reply should be.
func (f Far) NotAModel() *model.Error {
	return f.Fail("an HTML page instead of a reply", NotAModel, false, 0)
}

// Redirected is the error for an answer that sends the request elsewhere.
func (f Far) Redirected(status int) *model.Error {
	return f.Fail(fmt.Sprintf("status %d sends the request to another address, which is not followed: configure that address", status), Unknown, false, 0)
}

// Cut is the error for a stream that ended without its end marker.
func (f Far) Cut() *model.Error {
	return f.Fail("the stream ended before the answer was complete", Unreachable, true, 0)
}

// Fail is an error of this provider. what is for the log and follows "HOST: ".
func (f Far) Fail(what, sentence string, retry bool, after time.Duration) *model.Error {
	return &model.Error{Sentence: sentence, Retry: retry, After: after, Err: errors.New(f.Scrub(f.Provider + ": " + f.Host + ": " + what))}
}

// Scrub takes secrets out of a text.
func (f Far) Scrub(s string) string {
	for _, secret := range f.Secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	return s
}
