package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The grants.
const (
	AuthorizationCode = "authorization_code"
	ClientCredentials = "client_credentials"
)

// DefaultRedirect is where the browser comes back to after a login.
const DefaultRedirect = "http://127.0.0.1:33418/callback"

// Config says how tokens for one MCP server are had.
type Config struct {
	// Server is the address of the MCP server.
	Server string
	// Grant is AuthorizationCode or ClientCredentials.
	Grant string
	// ClientID is the client as the authorization server knows it, or the https address of a client-id
	// metadata document. "" registers one at login, where the server allows it.
	ClientID string
	// ClientSecret, or PrivateKey (PEM, for private_key_jwt) with KeyID, proves the client; neither is a
	// public client.
	ClientSecret string
	PrivateKey   string
	KeyID        string
	// Issuer is the only authorization server that is accepted; "" is any that the MCP server names.
	Issuer string
	// Scopes are asked for; none are those that the server names.
	Scopes []string
	// Redirect is where the browser comes back to; "" is DefaultRedirect.
	Redirect string
	// Memory keeps the login of AuthorizationCode under Key.
	Memory Memory
	Key    string
	// Frozen looks at a login without renewing it: for a program that cannot store what comes of that.
	Frozen bool
	// Hint tells the operator how to log in.
	Hint string
	// HTTPClient carries the requests; its Timeout is replaced. nil is a plain client.
	HTTPClient *http.Client
	// Now is the clock.
	Now func() time.Time
	// Log is where trouble with the memory goes; nil for nowhere.
	Log *slog.Logger
}

// Memory keeps small values. The store of the program is one.
type Memory interface {
	// Recall returns what is kept under a key, while its time lasts.
	Recall(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Remember keeps a value for a time and returns once that is durable.
	Remember(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// requestTime bounds one request to an authorization server.
const requestTime = 20 * time.Second

// Check lists what is wrong with a configuration, one a line, without its secrets. What is kept where, the
// clock and the client are not looked at.
func (c Config) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !secure(c.Server) {
		bad("the server's url must be https, or on loopback: a token goes there")
	}
	if c.Issuer != "" && !secure(c.Issuer) {
		bad("issuer: want an https address")
	}
	switch c.Grant {
	case AuthorizationCode:
		if u, err := url.Parse(c.redirect()); err != nil || u.Host == "" || u.Fragment != "" || !secure(c.redirect()) {
			bad("redirect: want an address on loopback, such as %s, or an https address", DefaultRedirect)
		}
		if c.ClientID == "" && (c.ClientSecret != "" || c.PrivateKey != "") {
			bad("clientId: it is missing, and there is a secret of a client")
		}
	case ClientCredentials:
		if c.ClientID == "" {
			bad("clientId: the grant client_credentials needs it")
		}
		if c.ClientSecret == "" && c.PrivateKey == "" {
			bad("clientSecret: the grant client_credentials needs it, or privateKey")
		}
		if c.Redirect != "" {
			bad("redirect: the grant client_credentials has no browser that comes back")
		}
	default:
		bad("grant: want %s or %s", AuthorizationCode, ClientCredentials)
	}
	if c.ClientSecret != "" && c.PrivateKey != "" {
		bad("privateKey: want either clientSecret or privateKey")
	}
	if c.PrivateKey != "" {
		if _, err := readKey(c.PrivateKey); err != nil {
			bad("privateKey: %w", err)
		}
	}
	for _, s := range c.Scopes {
		if s == "" || strings.ContainsAny(s, " \"\\\t\r\n") {
			bad("scopes: want one scope in each entry, without spaces or quotes")
			break
		}
	}
	return errors.Join(errs...)
}

func (c Config) redirect() string {
	if c.Redirect == "" {
		return DefaultRedirect
	}
	return c.Redirect
}

// document reports whether the client's id is the address of its metadata.
func (c Config) document() bool {
	u, err := url.Parse(c.ClientID)
	return err == nil && u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") != ""
}

// client is the HTTP client for authorization servers: no request that carries anything is sent on.
func (c Config) client() *http.Client {
	out := http.Client{}
	if c.HTTPClient != nil {
		out = *c.HTTPClient
	}
	if out.CheckRedirect == nil {
		out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	out.Timeout, out.Jar = requestTime, nil
	return &out
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Scopes = slices.Clone(c.Scopes)
	return c
}

// secure reports whether an address is https, or http on loopback.
func secure(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())
}

func loopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// origin is scheme and host of an address.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// listenAddress is host and port of a redirect on loopback, "" for another.
func listenAddress(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// readKey reads a private key in PEM: RSA, ECDSA or Ed25519.
func readKey(pem string) (any, error) {
	b := []byte(pem)
	if k, err := jwt.ParseECPrivateKeyFromPEM(b); err == nil {
		return k, nil
	}
	if k, err := jwt.ParseRSAPrivateKeyFromPEM(b); err == nil {
		return k, nil
	}
	if k, err := jwt.ParseEdPrivateKeyFromPEM(b); err == nil {
		return k, nil
	}
	return nil, errors.New("want a private key in PEM: RSA, ECDSA or Ed25519")
}
