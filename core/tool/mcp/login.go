package mcp

import (
	"errors"

	"parley/core/tool/oauth"
)

// needsLogin finds out whether a failure is the want of a login. What else the failure says is about a request
// that could not be made without one.
func needsLogin(err error) *oauth.LoginError {
	var login *oauth.LoginError
	if errors.As(err, &login) {
		return login
	}
	return nil
}
