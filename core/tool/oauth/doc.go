// Package oauth gets, keeps and renews the tokens with which an MCP server over HTTP is called.
//
// Words. The resource is the MCP server, by its address. Its authorization server, known by its issuer, gives
// tokens for it. A grant is how one is had: client_credentials needs no person; authorization_code needs one,
// once, at a browser. A login is what that leaves: the tokens, and the client and the server that they belong
// to. A keeper hands tokens to the transport of one source.
//
//	                      ┌───── refused or expired, renewed ─────┐
//	no login ── Login ──▶ token ───────────────────────────▶ token
//	    ▲                   │
//	    └── refresh token refused, nothing to renew with ──┘
//
// Trust. A server's word about where to log in is checked, never followed: the metadata of a resource must be
// of this resource, the metadata of an issuer must name that issuer, the answer of a browser must bear our
// state and, where it names an issuer, the same one. A client secret goes to the configured issuer alone where
// one is configured. A refresh token goes to the token endpoint that gave it and to no other; an access token
// to the resource. Endpoints are https, or on loopback.
//
// Durability. A renewed login is stored before its token is used. A kill between the answer of the token
// endpoint and the store leaves the old refresh token: a server that lets it be used once more goes on, one
// that has replaced it for good refuses it, and a person has to log in again.
//
// Secrets. No error, no log line and no description of this package holds a token, a code, a verifier or a
// secret; of what an authorization server says about a failure only its code word is told. Hide masks the
// tokens in any other text.
//
// Duties of the caller: an http.Client that refuses the addresses it must not reach, a Memory that is a file
// of mode 0600, one keeper for one login at a time, and a clock.
package oauth
