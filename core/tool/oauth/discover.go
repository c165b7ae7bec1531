package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// place is where tokens for the resource are had.
type place struct {
	// Resource is the resource as its metadata writes it.
	Resource string
	// Scopes are those that the resource names, where the refusal named none.
	Scopes []string
	Server *oauthex.AuthServerMeta
}

// discover finds the authorization server of the resource.
func discover(ctx context.Context, c Config, metadata string) (*place, error) {
	resource, err := describe(ctx, c, metadata)
	if err != nil {
		return nil, err
	}
	issuer, err := choose(c, resource.AuthorizationServers)
	if err != nil {
		return nil, err
	}
	server, err := auth.GetAuthServerMetadata(ctx, issuer, c.client())
	if err != nil && resource.legacy {
		server, err = atRoot(ctx, c, issuer, err)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the metadata of the authorization server %s: %w", issuer, err)
	case server == nil && resource.legacy:
		// What servers had before metadata: three paths at their root.
		server = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token",
			RegistrationEndpoint: issuer + "/register", CodeChallengeMethodsSupported: []string{"S256"},
		}
	case server == nil:
		return nil, fmt.Errorf("the authorization server %s has no metadata", issuer)
	case !secure(server.TokenEndpoint):
		return nil, fmt.Errorf("the authorization server %s has no token endpoint that can be used", issuer)
	}
	return &place{Resource: resource.Resource, Scopes: plainScopes(resource.ScopesSupported), Server: server}, nil
}

// atRoot reads the metadata of a server that is its own authorization server and names itself by an address
// below its root: before there were metadata of resources that was allowed. Another server may not be named.
func atRoot(ctx context.Context, c Config, root string, failed error) (*oauthex.AuthServerMeta, error) {
	at := root + "/.well-known/oauth-authorization-server"
	look := &onlooker{base: c.client().Transport, seen: map[string]seen{}}
	client := c.client()
	client.Transport = look
	if _, err := oauthex.GetAuthServerMeta(ctx, at, root, client); err == nil {
		return nil, failed
	}
	var m struct {
		Issuer string `json:"issuer"`
	}
	if json.Unmarshal(look.seen[at].body, &m) != nil || origin(m.Issuer) != root {
		return nil, failed
	}
	server, err := oauthex.GetAuthServerMeta(ctx, at, m.Issuer, client)
	if err != nil || server == nil || origin(server.TokenEndpoint) != root || origin(server.AuthorizationEndpoint) != root {
		return nil, failed
	}
	return server, nil
}

// choose takes the configured issuer, or else the first that the resource names.
func choose(c Config, named []string) (string, error) {
	if c.Issuer == "" {
		return named[0], nil
	}
	i := slices.IndexFunc(named, func(s string) bool { return sameIssuer(s, c.Issuer) })
	if i < 0 {
		return "", fmt.Errorf("the MCP server sends to the authorization server %s, and the configuration accepts %s alone", named[0], c.Issuer)
	}
	return named[i], nil
}

// sameIssuer compares two issuers, but for a slash at the end.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// described is a resource as it describes itself.
type described struct {
	*oauthex.ProtectedResourceMetadata
	// legacy says that it does not, and is taken for its own authorization server.
	legacy bool
}

// describe reads the metadata of the resource, at the place the refusal named or at the two usual ones. What is
// there must be of this resource; only where there is none at all the server itself gives tokens.
func describe(ctx context.Context, c Config, metadata string) (described, error) {
	look := &onlooker{base: c.client().Transport, seen: map[string]seen{}}
	client := c.client()
	client.Transport = look
	for _, at := range wellKnown(c.Server, metadata) {
		var first error
		for _, resource := range spellings(c.Server) {
			m, err := oauthex.GetProtectedResourceMetadata(ctx, at, resource, client)
			if err == nil && len(m.AuthorizationServers) == 0 {
				return described{}, fmt.Errorf("the metadata of the MCP server at %s names no authorization server", at)
			}
			if err == nil {
				return described{ProtectedResourceMetadata: m}, nil
			}
			if first == nil {
				first = err
			}
			if look.status(at) != http.StatusOK {
				break // not for want of the right spelling
			}
		}
		if s := look.status(at); s < 400 || s > 499 {
			return described{}, fmt.Errorf("read the metadata of the MCP server: %w", first)
		}
	}
	root := origin(c.Server)
	return described{&oauthex.ProtectedResourceMetadata{Resource: c.Server, AuthorizationServers: []string{root}}, true}, nil
}

// wellKnown are the addresses of a resource's metadata, in the order they are tried.
func wellKnown(server, named string) (out []string) {
	if named != "" {
		out = append(out, named)
	}
	u, err := url.Parse(server)
	if err != nil {
		return out
	}
	const at = "/.well-known/oauth-protected-resource"
	root := origin(server) + at
	if p := strings.Trim(u.EscapedPath(), "/"); p != "" && !slices.Contains(out, root+"/"+p) {
		out = append(out, root+"/"+p)
	}
	if !slices.Contains(out, root) {
		out = append(out, root)
	}
	return out
}

// spellings are how a resource may name itself: by its address, with or without a slash at the end, or by the
// origin of it.
func spellings(server string) (out []string) {
	bare := strings.TrimSuffix(server, "/")
	for _, s := range []string{server, bare, bare + "/", origin(server), origin(server) + "/"} {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// onlooker asks each address once and remembers the answer: the client library tells a document that is not
// there from one that does not fit in no way that a program could read.
type onlooker struct {
	base http.RoundTripper
	seen map[string]seen
}

type seen struct {
	status int
	kind   string
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (o *onlooker) RoundTrip(r *http.Request) (*http.Response, error) {
	key := r.URL.String()
	s, ok := o.seen[key]
	if !ok {
		base := o.base
		if base == nil {
			base = http.DefaultTransport
		}
		resp, err := base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 300 && resp.StatusCode < 400 {
			return resp, nil
		}
		const most = 1 << 20
		body, err := io.ReadAll(io.LimitReader(resp.Body, most))
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return nil, err
		}
		s = seen{resp.StatusCode, resp.Header.Get("Content-Type"), body}
		o.seen[key] = s
	}
	return &http.Response{
		StatusCode: s.status, Status: http.StatusText(s.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {s.kind}}, Body: io.NopCloser(bytes.NewReader(s.body)), Request: r,
	}, nil
}

// status is that of the answer at an address; 0 where none came, or a redirect led elsewhere.
func (o *onlooker) status(address string) int { return o.seen[address].status }
