package rest

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"parley/core"
)

// Token is one client and what it may do. The zero rights are none.
type Token struct {
	// Name appears in logs and in the places of the token's conversations; letters, digits, dot, underscore, hyphen.
	Name   string
	Secret string
	// Agents it sees; an administrator's token sees all.
	Agents []core.AgentID
	// Channels whose conversations it may write to beside its own.
	Channels []string
	// SpeaksFor are people, exact ids or "SURFACE:*" for all of one surface.
	SpeaksFor []string
	Admin     bool
}

// token is a Token whose secret is kept as a digest only.
type token struct {
	Token
	digest [sha256.Size]byte
}

func newTokens(all []Token) ([]*token, error) {
	var out []*token
	for _, t := range all {
		if t.Name == "" || strings.ContainsAny(t.Name, "/|: ") || t.Secret == "" {
			return nil, fmt.Errorf("rest: token %q: want a name without slash, bar, colon and space, and a secret", t.Name)
		}
		if slices.ContainsFunc(out, func(o *token) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("rest: two tokens have the name %q", t.Name)
		}
		k := &token{Token: t, digest: sha256.Sum256([]byte(t.Secret))}
		k.Secret = ""
		out = append(out, k)
	}
	return out, nil
}

var errNoToken = errors.New("no token")

// authenticate finds the token of a request. All are compared, each in constant time.
func (a *API) authenticate(r *http.Request) (*token, error) {
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return nil, errNoToken
	}
	digest := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	var found *token
	for _, t := range a.tokens {
		if subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 {
			found = t
		}
	}
	if found == nil {
		return nil, errNoToken
	}
	return found, nil
}

// sees reports whether the token may know of any of the agents.
func (t *token) sees(agents ...core.AgentID) bool {
	return t.Admin || slices.ContainsFunc(agents, func(id core.AgentID) bool { return slices.Contains(t.Agents, id) })
}

// speaksFor reports whether the token may act in the name of somebody.
func (c *call) speaksFor(who core.PersonID) bool {
	return slices.ContainsFunc(c.token.SpeaksFor, func(s string) bool {
		surface, all := strings.CutSuffix(s, ":*")
		return all && who.Surface() == surface || c.a.c.Canonical(core.PersonID(s)) == who
	})
}

// person is who acts: from, or the one person the token is bound to. input is named in the refusal.
func (c *call) person(from *string, input core.InputID) (core.PersonID, error) {
	if from == nil {
		if names := c.token.SpeaksFor; len(names) == 1 && !strings.HasSuffix(names[0], ":*") {
			return c.a.c.Canonical(core.PersonID(names[0])), nil
		}
		return "", core.ErrFromRequired(input)
	}
	who, err := core.ParsePerson(*from)
	if err != nil {
		return "", badFields("from does not name a person", core.FieldError{Field: "from", Reason: err.Error()})
	}
	if who = c.a.c.Canonical(who); !c.speaksFor(who) {
		return "", &Problem{Status: http.StatusForbidden, Code: "not_spoken_for", Detail: "this token may not speak for " + string(who)}
	}
	return who, nil
}
