package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"golang.org/x/oauth2"
)

// LoginError says that a person has to log in before the server can be used.
type LoginError struct {
	Why  string // without secrets
	Hint string // what the operator does
}

func (e *LoginError) Error() string {
	if e.Hint == "" {
		return "not connected: " + e.Why
	}
	return "not connected: " + e.Why + ": " + e.Hint
}

// ErrForbidden says that the server refused a request for another reason than its token's scopes.
var ErrForbidden = errors.New("the server forbids it to this client")

// ErrFrozen says that a login stands whose token has run out, and that this keeper may not renew it.
var ErrFrozen = errors.New("the login stands and has to be renewed, which is left to the running program")

// refusal is what a token endpoint said, by its code word alone.
type refusal struct {
	code   string
	status int
}

func (e *refusal) Error() string {
	if e.code == "" {
		return fmt.Sprintf("the authorization server answered with HTTP status %d %s", e.status, http.StatusText(e.status))
	}
	return "the authorization server refused: " + e.code
}

// passing reports whether the same request may succeed later.
func (e *refusal) passing() bool {
	return e.status >= 500 || e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout ||
		e.code == "temporarily_unavailable" || e.code == "server_error" || e.code == "slow_down"
}

var codeWord = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// plainCode is a failure's code word as it may be told; what is none could be anything.
func plainCode(s string) string {
	if !codeWord.MatchString(s) {
		return ""
	}
	return s
}

// tokenFailure is a failed token request without anything of its answer but the code word.
func tokenFailure(err error) error {
	var re *oauth2.RetrieveError
	if errors.As(err, &re) {
		out := &refusal{code: plainCode(re.ErrorCode)}
		if re.Response != nil {
			out.status = re.Response.StatusCode
		}
		return out
	}
	if noTransport(err) {
		return fmt.Errorf("the authorization server cannot be reached: %w", err)
	}
	return errors.New("the answer of the authorization server holds no token that can be used")
}
