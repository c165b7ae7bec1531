package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed message.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// secretPrefix opens a secret as written in a configuration.
const secretPrefix = "whsec_"

// keys reads one or more secrets separated by white space: whsec_ and 24 to 64 bytes as base64 each. No error
// repeats a secret.
func keys(secret string) ([][]byte, error) {
	var out [][]byte
	for i, s := range strings.Fields(secret) {
		raw, ok := strings.CutPrefix(s, secretPrefix)
		if !ok {
			return nil, fmt.Errorf("secret %d: want %s and base64", i+1, secretPrefix)
		}
		key, err := base64.StdEncoding.DecodeString(raw)
		if err != nil {
			key, err = base64.RawStdEncoding.DecodeString(raw)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("secret %d: want base64 after %s", i+1, secretPrefix)
		case len(key) < 24 || len(key) > 64:
			return nil, fmt.Errorf("secret %d: has %d bytes, want 24 to 64", i+1, len(key))
		}
		out = append(out, key)
	}
	if len(out) == 0 {
		return nil, errors.New("want a secret, such as whsec_ and the output of openssl rand -base64 32")
	}
	return out, nil
}

// sign puts the headers of one attempt on a request: a signature for each key, the first key's first.
func sign(h http.Header, keys [][]byte, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	var all []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, stamp)
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, strings.Join(all, " "))
}
