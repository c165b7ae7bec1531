package oauth

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// endpoint is a token endpoint with what is needed to be given a token there.
type endpoint struct {
	Issuer string `json:"issuer"`
	URL    string `json:"url"`
	// Algorithms are those that a signed proof of the client may have.
	Algorithms []string `json:"algorithms,omitempty"`
}

// tokens are what a token endpoint gave.
type tokens struct {
	Access  string `json:"access,omitempty"`
	Refresh string `json:"refresh,omitempty"`
	// Expires is when Access ends; the zero time where the server did not say.
	Expires time.Time `json:"expires,omitzero"`
	// Scopes are those granted, where the server said.
	Scopes []string `json:"scopes,omitempty"`
}

// soon is how long before its end a token is renewed.
const soon = 30 * time.Second

func (t tokens) live(now time.Time) bool {
	return t.Access != "" && (t.Expires.IsZero() || now.Add(soon).Before(t.Expires))
}

// ended reports whether a token is of no use any more, or cannot be told to be.
func (t tokens) ended(now time.Time) bool {
	return t.Access == "" || !t.Expires.IsZero() && !now.Before(t.Expires)
}

// request asks a token endpoint once: an answer that is lost may have spent a code or a refresh token. It is the
// one place that knows how clients prove themselves.
func request(ctx context.Context, c Config, at endpoint, who client, params url.Values) (tokens, error) {
	q := clientcredentials.Config{ClientID: who.ID, TokenURL: at.URL, AuthStyle: oauth2.AuthStyleInParams, EndpointParams: maps.Clone(params)}
	secret := who.Secret
	if secret == "" {
		secret = c.ClientSecret
	}
	switch who.Method {
	case methodBasic:
		q.AuthStyle, q.ClientSecret = oauth2.AuthStyleInHeader, secret
	case methodPost:
		q.ClientSecret = secret
	case methodJWT:
		assertion, err := assert(c, at, who.ID, c.Now())
		if err != nil {
			return tokens{}, err
		}
		q.EndpointParams.Set("client_assertion_type", assertionType)
		q.EndpointParams.Set("client_assertion", assertion)
	}
	began := c.Now()
	got, err := q.Token(context.WithValue(ctx, oauth2.HTTPClient, c.client()))
	if err != nil {
		return tokens{}, tokenFailure(err)
	}
	if !strings.EqualFold(got.Type(), "bearer") {
		return tokens{}, errors.New("the authorization server gave a token of another kind than bearer, which is not supported")
	}
	return read(got, began)
}

// read takes what is kept of an answer. Its clock is ours, and starts before the request.
func read(got *oauth2.Token, began time.Time) (tokens, error) {
	if strings.ContainsFunc(got.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return tokens{}, errors.New("the answer of the authorization server holds no token that can be used")
	}
	out := tokens{Access: got.AccessToken, Refresh: got.RefreshToken}
	if seconds := lifetime(got.Extra("expires_in")); seconds > 0 {
		out.Expires = began.Add(seconds)
	}
	if s, ok := got.Extra("scope").(string); ok {
		out.Scopes = strings.Fields(s)
	}
	return out, nil
}

// lifetime reads a number of seconds, as a number or as text; 0 is for ever.
func lifetime(v any) time.Duration {
	const most = 10 * 365 * 24 * 3600
	var seconds float64
	switch v := v.(type) {
	case float64:
		seconds = v
	case string:
		seconds, _ = strconv.ParseFloat(v, 64) // what is no number says nothing
	}
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, most)) * time.Second
}
