package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

// Visit is what a person opens in a browser.
type Visit struct {
	// URL is the page of the authorization server.
	URL string
	// State is what the answer must bear: any other is not the answer to this visit.
	State string
	// Redirect is the address at which the browser comes back with the answer.
	Redirect string
}

// Fetch has a person make a visit and returns the query of the address at which the browser came back.
type Fetch func(ctx context.Context, v Visit) (url.Values, error)

// Login has a person log in to the MCP server, and stores what comes of it. The login before, if there is one,
// is replaced once the new one stands.
func Login(ctx context.Context, c Config, fetch Fetch) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Grant != AuthorizationCode {
		return fmt.Errorf("the grant %s needs no login", c.Grant)
	}
	c = c.withDefaults()
	before, err := load(ctx, c)
	if err != nil {
		c.Log.Warn("the login before is left out of account", "err", err)
	}
	asks, err := knock(ctx, c)
	if err != nil {
		return err
	}
	at, err := discover(ctx, c, asks.metadata)
	if err != nil {
		return err
	}
	if !slices.Contains(at.Server.CodeChallengeMethodsSupported, "S256") || !secure(at.Server.AuthorizationEndpoint) {
		return fmt.Errorf("the authorization server %s does not offer logins that can be made safely: want an authorization endpoint and PKCE with S256", at.Server.Issuer)
	}
	who, err := clientAt(ctx, c, at.Server)
	if err != nil {
		return err
	}
	var had []string
	if before != nil && sameIssuer(before.Endpoint.Issuer, at.Server.Issuer) {
		had = union(before.Asked, before.Wanted)
	}
	scopes := scopesFor(c, at, asks.scopes, had)
	if slices.Contains(at.Server.ScopesSupported, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	got, err := visit(ctx, c, at, who, scopes, fetch)
	if err != nil {
		return err
	}
	return save(ctx, c, &record{
		Version: recordVersion, Resource: c.Server, Audience: at.Resource, Client: who, Endpoint: endpointOf(at),
		Tokens: got, Asked: scopes, At: c.Now(),
	})
}

// knock asks the server for something without a token, for the sake of its refusal. One that does not refuse is
// asked for its metadata where that usually is.
func knock(ctx context.Context, c Config) (challenge, error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Server, strings.NewReader(body))
	if err != nil {
		return challenge{}, errors.New("the server's url cannot be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.client().Do(req)
	if err != nil {
		return challenge{}, fmt.Errorf("reach the MCP server: %w", err)
	}
	return readChallenge(resp), nil
}

// visit sends the person to the authorization server and spends the code that they come back with.
func visit(ctx context.Context, c Config, at *place, who client, scopes []string, fetch Fetch) (tokens, error) {
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	page := oauth2.Config{ClientID: who.ID, RedirectURL: c.redirect(), Scopes: scopes, Endpoint: oauth2.Endpoint{AuthURL: at.Server.AuthorizationEndpoint}}
	back, err := fetch(ctx, Visit{
		URL:   page.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", at.Resource)),
		State: state, Redirect: c.redirect(),
	})
	if err != nil {
		return tokens{}, err
	}
	code, err := accept(back, state, at)
	if err != nil {
		return tokens{}, err
	}
	got, err := request(ctx, c, endpointOf(at), who, url.Values{
		"grant_type": {AuthorizationCode}, "code": {code}, "redirect_uri": {c.redirect()}, "code_verifier": {verifier}, "resource": {at.Resource},
	})
	if err != nil {
		return tokens{}, fmt.Errorf("exchange the code: %w", err)
	}
	return got, nil
}

// accept reads the code out of an answer, if it is the answer to this visit and of this authorization server.
func accept(back url.Values, state string, at *place) (string, error) {
	for name, values := range back {
		if len(values) > 1 && slices.Contains([]string{"code", "state", "iss", "error"}, name) {
			return "", fmt.Errorf("the answer of the browser has several values for %s: nothing was exchanged", name)
		}
	}
	iss := back.Get("iss")
	switch {
	case !sameState(back.Get("state"), state):
		return "", errors.New("the answer of the browser belongs to another login: its state differs, and nothing was exchanged")
	case iss == "" && at.Server.AuthorizationResponseIssParameterSupported:
		return "", errors.New("the answer of the browser does not say which authorization server it is from, and this one would: nothing was exchanged")
	case iss != "" && iss != at.Server.Issuer:
		return "", errors.New("the answer of the browser is from another authorization server: nothing was exchanged")
	case back.Has("error"):
		return "", fmt.Errorf("the login was refused: %s", cmp.Or(plainCode(back.Get("error")), "for no reason that can be told"))
	case back.Get("code") == "":
		return "", errors.New("the answer of the browser holds no code")
	}
	return back.Get("code"), nil
}

func sameState(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
