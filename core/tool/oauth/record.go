package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// record is a login as it is kept. Fields are added, never renamed.
type record struct {
	Version int `json:"version"`
	// Resource is the server it is for: the tokens go nowhere else. Audience is how that names itself.
	Resource string   `json:"resource"`
	Audience string   `json:"audience"`
	Client   client   `json:"client"`
	Endpoint endpoint `json:"endpoint"`
	Tokens   tokens   `json:"tokens"`
	// Asked are the scopes that the person granted, Wanted those that the server has asked for since.
	Asked  []string `json:"asked,omitempty"`
	Wanted []string `json:"wanted,omitempty"`
	// Lost says why the tokens are gone, "" while they are not.
	Lost string    `json:"lost,omitempty"`
	At   time.Time `json:"at"` // when the person logged in
}

const (
	recordVersion = 1
	// keepFor is how long a login is kept that is never renewed.
	keepFor = 10 * 365 * 24 * time.Hour
)

// load reads the login, nil where there is none. One that is for another server, client or issuer than the
// configuration has now is none.
func load(ctx context.Context, c Config) (*record, error) {
	if c.Memory == nil {
		return nil, errors.New("there is no store to keep a login in")
	}
	raw, ok, err := c.Memory.Recall(ctx, c.Key)
	if err != nil {
		return nil, fmt.Errorf("read the login: %w", err)
	}
	if !ok {
		return nil, nil
	}
	r := &record{}
	if err := json.Unmarshal(raw, r); err != nil || r.Version != recordVersion {
		return nil, errors.New("the login in the store cannot be read: log in again, or use the version of parley that wrote it")
	}
	if !r.fits(c) {
		return nil, nil
	}
	return r, nil
}

// fits leaves the client open where one is registered at login.
func (r *record) fits(c Config) bool {
	return r.Resource == c.Server && (c.Issuer == "" || sameIssuer(r.Endpoint.Issuer, c.Issuer)) &&
		(c.ClientID == "" || c.ClientID == r.Client.ID || c.document())
}

func save(ctx context.Context, c Config, r *record) error {
	if c.Memory == nil {
		return errors.New("there is no store to keep a login in")
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	// What an answer gave is kept even where the call that wanted it has ended.
	if err := c.Memory.Remember(context.WithoutCancel(ctx), c.Key, raw, keepFor); err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	return nil
}

// secrets are what no text may hold.
func (r *record) secrets() []string {
	if r == nil {
		return nil
	}
	return slices.DeleteFunc([]string{r.Tokens.Access, r.Tokens.Refresh, r.Client.Secret}, func(s string) bool { return s == "" })
}
