package oauth

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// How a client proves itself at the token endpoint.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodJWT   = "private_key_jwt"
)

// client is Parley as one authorization server knows it.
type client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"` // of a client that was registered at login
	Method string `json:"method"`
}

// clientAt is the client for an authorization server: the configured one, one described by a document, or one
// registered now.
func clientAt(ctx context.Context, c Config, server *oauthex.AuthServerMeta) (client, error) {
	switch {
	case c.ClientID != "" && !c.document():
		return configured(c, server)
	case c.document() && (server.ClientIDMetadataDocumentSupported || server.RegistrationEndpoint == "" || c.PrivateKey != ""):
		return configured(c, server)
	case server.RegistrationEndpoint == "":
		return client{}, fmt.Errorf("the authorization server %s registers no clients by itself: register one there and name it as oauth.clientId", server.Issuer)
	}
	return register(ctx, c, server)
}

func configured(c Config, server *oauthex.AuthServerMeta) (client, error) {
	method, err := methodFor(c, server.TokenEndpointAuthMethodsSupported)
	return client{ID: c.ClientID, Method: method}, err
}

// methodFor chooses how a configured client proves itself. Servers that name no method take basic.
func methodFor(c Config, supported []string) (string, error) {
	switch {
	case c.PrivateKey != "":
		return methodJWT, nil
	case c.ClientSecret == "":
		return methodNone, nil
	case len(supported) == 0, slices.Contains(supported, methodBasic):
		return methodBasic, nil
	case slices.Contains(supported, methodPost):
		return methodPost, nil
	}
	return "", errors.New("the authorization server takes no client secret: it wants another way to prove the client")
}

// register makes a client at the authorization server.
func register(ctx context.Context, c Config, server *oauthex.AuthServerMeta) (client, error) {
	want := &oauthex.ClientRegistrationMetadata{
		ClientName: "Parley", RedirectURIs: []string{c.redirect()}, ResponseTypes: []string{"code"},
		GrantTypes: []string{AuthorizationCode, "refresh_token"}, ApplicationType: "web",
		TokenEndpointAuthMethod: registrable(server.TokenEndpointAuthMethodsSupported),
	}
	if listenAddress(c.redirect()) != "" {
		want.ApplicationType = "native"
	}
	got, err := oauthex.RegisterClient(ctx, server.RegistrationEndpoint, want, c.client())
	var refused *oauthex.ClientRegistrationError
	switch {
	case errors.As(err, &refused):
		return client{}, fmt.Errorf("register a client: the authorization server refused: %s", plainCode(refused.ErrorCode))
	case err != nil && noTransport(err):
		return client{}, fmt.Errorf("register a client: %w", err)
	case err != nil: // it may quote the answer, with the secret in it
		return client{}, errors.New("register a client: the authorization server gave none")
	}
	method := got.TokenEndpointAuthMethod
	switch {
	case got.ClientSecret == "":
		method = methodNone
	case method == "":
		method = want.TokenEndpointAuthMethod
	}
	if !slices.Contains([]string{methodNone, methodBasic, methodPost}, method) {
		return client{}, fmt.Errorf("register a client: the authorization server wants it to prove itself by %s, which was not asked for", plainCode(method))
	}
	return client{ID: got.ClientID, Secret: got.ClientSecret, Method: method}, nil
}

// registrable is what a new client asks to prove itself by: nothing if that is enough, since a secret that any
// copy of a program has proves little.
func registrable(supported []string) string {
	for _, m := range []string{methodNone, methodBasic, methodPost} {
		if slices.Contains(supported, m) {
			return m
		}
	}
	return methodBasic // what a server means that names none
}
