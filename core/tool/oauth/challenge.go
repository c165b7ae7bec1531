package oauth

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// challenge is what a refusing server says about the token that it wants.
type challenge struct {
	metadata string // where the resource describes itself, "" where it does not say
	scopes   []string
	reason   string // such as insufficient_scope
}

// readChallenge reads a refusal and closes its body. One that cannot be read says nothing.
func readChallenge(resp *http.Response) (c challenge) {
	const most = 64 << 10
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, most)) // so that the connection can be used again
	_ = resp.Body.Close()
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, one := range all {
		if c.metadata == "" {
			c.metadata = one.Params["resource_metadata"]
		}
		if one.Scheme != "bearer" {
			continue
		}
		if c.scopes == nil {
			c.scopes = plainScopes(strings.Fields(one.Params["scope"]))
		}
		if c.reason == "" {
			c.reason = one.Params["error"]
		}
	}
	return c
}

// bearer is the token that a request bore.
func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// union adds scopes, each once, in the order they were named.
func union(have, more []string) []string {
	out := slices.Clone(have)
	for _, s := range more {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func contains(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}

// noTransport reports whether a failure is one of the request itself, and not of what came back.
func noTransport(err error) bool {
	var u *url.Error
	return errors.As(err, &u)
}

// maxScopes is how many scopes a server may name.
const maxScopes = 50

// plainScopes are the scopes among what a server names: they are asked for, told and kept.
func plainScopes(scopes []string) (out []string) {
	for _, s := range scopes {
		if len(out) < maxScopes && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
			out = append(out, s)
		}
	}
	return out
}
