package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// Keeper hands out the tokens of one source, and renews them. It is what the transport of the MCP client
// library takes as its OAuth handler, and safe for concurrent use.
type Keeper struct {
	c    Config
	hide hidden

	// turn is held while a token is looked for or renewed: one at a time.
	turn chan struct{}

	mu  sync.Mutex
	cur *record // nil: none known yet
	// refused is a token that the server did not take; renewed is when one was last got in its stead.
	refused string
	renewed time.Time
	// failure is that of the last renewal, if it was one that passes, and failedAt when.
	failure  error
	failedAt time.Time
	// unsaved says that the store has an older login than cur.
	unsaved bool
}

// New returns the keeper of a checked configuration.
func New(c Config) (*Keeper, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Now == nil {
		return nil, errors.New("there is no clock")
	}
	k := &Keeper{c: c.withDefaults(), turn: make(chan struct{}, 1)}
	for _, s := range []string{c.ClientSecret, c.PrivateKey} {
		if worthHiding(s) {
			k.hide.fixed = append(k.hide.fixed, s)
		}
	}
	return k, nil
}

// Hide masks the tokens and secrets of this source in a text.
func (k *Keeper) Hide(text string) string { return k.hide.clear(text) }

// TokenSource returns the tokens for requests; nil where the first refusal has to tell where they are had.
func (k *Keeper) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	k.mu.Lock()
	unknown := k.cur == nil
	k.mu.Unlock()
	if unknown && k.c.Grant == ClientCredentials {
		return nil, nil
	}
	return source{k, ctx}, nil
}

type source struct {
	k   *Keeper
	ctx context.Context
}

// Token implements oauth2.TokenSource.
func (s source) Token() (*oauth2.Token, error) {
	access, err := s.k.token(s.ctx)
	if err != nil {
		return nil, err
	}
	return &oauth2.Token{AccessToken: access, TokenType: "Bearer"}, nil
}

// lock waits for the turn to look for a token.
func (k *Keeper) lock(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a token: %w", context.Cause(ctx))
	}
}

func (k *Keeper) unlock() { <-k.turn }

// token returns one that should be taken, renewed where it must be.
func (k *Keeper) token(ctx context.Context) (string, error) {
	if err := k.lock(ctx); err != nil {
		return "", err
	}
	defer k.unlock()
	r, err := k.current(ctx)
	if err != nil {
		return "", err
	}
	now := k.c.Now()
	if r.Tokens.Access != k.refused && r.Tokens.live(now) {
		return r.Tokens.Access, nil
	}
	err = k.renew(ctx, r)
	switch {
	case err == nil:
		return k.cur.Tokens.Access, nil
	case r.Tokens.Access != k.refused && !r.Tokens.ended(now) && k.cur.Lost == "":
		return r.Tokens.Access, nil // it has some seconds left
	}
	return "", err
}

// current is the login in use: the one at hand, or what the store has where there is none or it is not enough.
// The turn is held.
func (k *Keeper) current(ctx context.Context) (*record, error) {
	r := k.cur
	switch {
	case k.c.Grant == ClientCredentials:
		if r == nil {
			return nil, errors.New("no token has been asked for yet")
		}
		return r, nil
	case r != nil && k.unsaved:
		k.store(ctx, r)
		return r, nil
	case r != nil && contains(r.Asked, r.Wanted) && r.Lost == "" && (r.Tokens.Access != k.refused || r.Tokens.Refresh != ""):
		return r, nil
	}
	r, err := load(ctx, k.c)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, k.login("nobody has logged in to this server yet")
	case r.Lost != "":
		return nil, k.login(r.Lost)
	}
	k.set(r)
	return r, nil
}

func (k *Keeper) login(why string) error { return &LoginError{Why: why, Hint: k.c.Hint} }

func (k *Keeper) set(r *record) {
	k.hide.add(r.secrets()...)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cur = r
}

// store keeps a login; where that fails it is tried again before the next use.
func (k *Keeper) store(ctx context.Context, r *record) {
	err := save(ctx, k.c, r)
	k.unsaved = err != nil
	if err != nil {
		k.c.Log.Error("a renewed login could not be stored: a restart now would lose it", "err", err)
	}
}

// calm is how long after a failure that passes the next renewal is tried: those who waited for it do not each
// wait for another.
const calm = 5 * time.Second

// renew gets a new token, by the grant. The turn is held.
func (k *Keeper) renew(ctx context.Context, r *record) error {
	if k.failure != nil && k.c.Now().Sub(k.failedAt) < calm {
		return k.failure
	}
	err := k.renewNow(ctx, r)
	k.failure = nil
	var login *LoginError
	if err != nil && ctx.Err() == nil && !errors.As(err, &login) && !errors.Is(err, ErrFrozen) {
		k.failure, k.failedAt = err, k.c.Now()
	}
	return err
}

func (k *Keeper) renewNow(ctx context.Context, r *record) error {
	if k.c.Grant == ClientCredentials {
		return k.grant(ctx, r)
	}
	if r.Tokens.Refresh == "" {
		return k.login("the login has ended and cannot be renewed")
	}
	if k.c.Frozen {
		return ErrFrozen
	}
	if r.Tokens.Access == k.refused && k.justRenewed() {
		return k.login("the server does not take the login")
	}
	params := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.Tokens.Refresh}, "resource": {r.Audience}}
	got, err := request(ctx, k.c, r.Endpoint, r.Client, params)
	if err != nil {
		return k.lose(ctx, r, err)
	}
	next := *r
	if got.Refresh == "" {
		got.Refresh = r.Tokens.Refresh
	}
	next.Tokens = got
	k.set(&next)
	k.refused, k.renewed = "", k.c.Now()
	k.store(ctx, &next)
	return nil
}

// lose decides what a failed renewal means. A refresh token that is no more is forgotten, so that a person is
// asked for and the server left alone.
func (k *Keeper) lose(ctx context.Context, r *record, err error) error {
	var refused *refusal
	if !errors.As(err, &refused) || refused.passing() {
		return fmt.Errorf("renew the login: %w", err)
	}
	why := "the login cannot be renewed: " + refused.Error()
	if refused.code == "invalid_grant" {
		next := *r
		next.Tokens, next.Lost = tokens{}, why
		k.set(&next)
		k.store(ctx, &next)
	}
	return k.login(why)
}

// grant gets a token for the client itself. The turn is held.
func (k *Keeper) grant(ctx context.Context, r *record) error {
	params := url.Values{"grant_type": {ClientCredentials}, "resource": {r.Audience}}
	if len(r.Asked) > 0 {
		params.Set("scope", strings.Join(r.Asked, " "))
	}
	got, err := request(ctx, k.c, r.Endpoint, r.Client, params)
	if err != nil {
		return fmt.Errorf("get a token for the client: %w", err)
	}
	next := *r
	next.Tokens = got
	next.Tokens.Refresh = "" // the client's own proof is enough
	k.set(&next)
	k.refused, k.renewed = "", k.c.Now()
	return nil
}
