package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	assertionTime = time.Minute
)

// assert signs who the client is, for one authorization server and one minute.
func assert(c Config, at endpoint, id string, now time.Time) (string, error) {
	key, err := readKey(c.PrivateKey)
	if err != nil {
		return "", err
	}
	method, err := signing(key, at.Algorithms)
	if err != nil {
		return "", err
	}
	token := jwt.NewWithClaims(method, jwt.RegisteredClaims{
		Issuer: id, Subject: id, Audience: jwt.ClaimStrings{at.Issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(assertionTime)),
	})
	if c.KeyID != "" {
		token.Header["kid"] = c.KeyID
	}
	signed, err := token.SignedString(key)
	if err != nil {
		return "", errors.New("the private key cannot sign")
	}
	return signed, nil
}

// signing is the method of a key that the server takes; one that names none takes any.
func signing(key any, supported []string) (jwt.SigningMethod, error) {
	var fit []jwt.SigningMethod
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		fit = []jwt.SigningMethod{map[int]jwt.SigningMethod{256: jwt.SigningMethodES256, 384: jwt.SigningMethodES384}[k.Curve.Params().BitSize]}
		if fit[0] == nil {
			fit[0] = jwt.SigningMethodES512
		}
	case *rsa.PrivateKey:
		fit = []jwt.SigningMethod{jwt.SigningMethodRS256, jwt.SigningMethodPS256, jwt.SigningMethodRS384, jwt.SigningMethodPS384, jwt.SigningMethodRS512, jwt.SigningMethodPS512}
	case ed25519.PrivateKey:
		fit = []jwt.SigningMethod{jwt.SigningMethodEdDSA}
	}
	for _, m := range fit {
		if len(supported) == 0 || slices.Contains(supported, m.Alg()) {
			return m, nil
		}
	}
	return nil, errors.New("the authorization server takes no signature that the private key can make")
}
