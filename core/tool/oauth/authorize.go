package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Authorize is told of a request that the server refused, and returns nil if it is worth making again.
func (k *Keeper) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	used, status, asks := bearer(req), resp.StatusCode, readChallenge(resp)
	if status == http.StatusForbidden && asks.reason != "insufficient_scope" {
		return ErrForbidden
	}
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	if k.cur != nil && k.cur.Tokens.Access != used && k.cur.Tokens.live(k.c.Now()) {
		return nil // another request has got a new one meanwhile
	}
	if k.c.Grant == ClientCredentials {
		return k.authorizeClient(ctx, status, used, asks)
	}
	r, err := k.current(ctx)
	if err != nil {
		return err
	}
	if status == http.StatusForbidden {
		return k.want(ctx, r, asks.scopes)
	}
	return k.replace(ctx, r, used)
}

// again is how soon after a new token a refusal means that no new one helps.
const again = time.Minute

func (k *Keeper) justRenewed() bool {
	return !k.renewed.IsZero() && k.c.Now().Sub(k.renewed) < again
}

// replace renews a token that the server does not take, though it should be valid.
func (k *Keeper) replace(ctx context.Context, r *record, used string) error {
	k.refused = used
	if r.Tokens.Refresh == "" {
		return k.login("the server does not take the login")
	}
	return k.renew(ctx, r)
}

// want notes scopes that the server asks for beyond those granted: the next login has them.
func (k *Keeper) want(ctx context.Context, r *record, scopes []string) error {
	names := strings.Join(scopes, " ")
	switch {
	case contains(r.Asked, scopes):
		return fmt.Errorf("the server wants the scopes %q, which the login has asked for and which did not help", names)
	case beyond(k.c, scopes):
		return errBeyond(names)
	}
	if next := *r; !contains(r.Wanted, scopes) && len(r.Wanted) < maxScopes && !k.c.Frozen {
		next.Wanted = union(r.Wanted, scopes)
		k.set(&next)
		k.store(ctx, &next)
	}
	return k.login(fmt.Sprintf("the server wants the scopes %q too", names))
}

// authorizeClient gets a token for the client, at the authorization server that the resource names now.
func (k *Keeper) authorizeClient(ctx context.Context, status int, used string, asks challenge) error {
	var asked []string
	if k.cur != nil {
		asked = k.cur.Asked
	}
	switch {
	case status == http.StatusForbidden && contains(asked, asks.scopes):
		return fmt.Errorf("the server wants the scopes %q, which were asked for and did not help", strings.Join(asks.scopes, " "))
	case status == http.StatusForbidden && beyond(k.c, asks.scopes):
		return errBeyond(strings.Join(asks.scopes, " "))
	case status == http.StatusUnauthorized && used != "" && k.justRenewed() && k.cur != nil && k.cur.Tokens.Access == used:
		return errors.New("the server does not take a token that was just got for it")
	}
	at, err := discover(ctx, k.c, asks.metadata)
	if err != nil {
		return err
	}
	who, err := configured(k.c, at.Server)
	if err != nil {
		return err
	}
	return k.grant(ctx, &record{
		Version: recordVersion, Resource: k.c.Server, Audience: at.Resource, Client: who, Endpoint: endpointOf(at),
		Asked: scopesFor(k.c, at, asks.scopes, asked),
	})
}

func endpointOf(at *place) endpoint {
	return endpoint{Issuer: at.Server.Issuer, URL: at.Server.TokenEndpoint, Algorithms: at.Server.TokenEndpointAuthSigningAlgValuesSupported}
}

// scopesFor are the scopes to ask for: the configured and no others, or those the refusal named, or those the
// resource does, each with what was asked for before.
func scopesFor(c Config, at *place, named, before []string) []string {
	switch {
	case len(c.Scopes) > 0:
		return c.Scopes
	case len(named) > 0:
		return union(before, named)
	}
	return union(before, at.Scopes)
}

// beyond reports whether scopes go beyond those that the configuration allows to ask for.
func beyond(c Config, scopes []string) bool { return len(c.Scopes) > 0 && !contains(c.Scopes, scopes) }

func errBeyond(names string) error {
	return fmt.Errorf("the server wants the scopes %q, and oauth.scopes in the configuration does not name them all", names)
}
