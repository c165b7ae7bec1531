package openapi

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// masked stands where an answer repeats a value of the configuration's headers.
const masked = "[secret]"

// hider masks the values of headers in a text: an API that says back what it was sent tells no model and no chat.
func hider(headers map[string]string) *strings.Replacer {
	var secrets []string
	add := func(v string) {
		if len(v) >= 4 { // shorter ones would garble every text
			secrets = append(secrets, v)
		}
	}
	for _, v := range headers {
		add(v)
		if _, credential, ok := strings.Cut(v, " "); ok {
			add(credential)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, v := range slices.Compact(secrets) {
		pairs = append(pairs, v, masked)
	}
	return strings.NewReplacer(pairs...)
}

// hidden is an error that is told without secrets.
type hidden struct {
	err  error
	hide *strings.Replacer
}

func (h *hidden) Error() string { return h.hide.Replace(h.err.Error()) }
func (h *hidden) Unwrap() error { return h.err }

// told is the outcome of a call without secrets.
func (s *Source) told(text string, err error) (string, error) {
	if err != nil {
		err = &hidden{err, s.hide}
	}
	return s.hide.Replace(text), err
}

// shown is where a document is, without what may be a key: user and query of an address.
func shown(spec string) string {
	u, err := url.Parse(spec)
	if err != nil || u.Host == "" {
		return spec
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}

// bare is an error of a request without the address that it repeats.
func bare(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
