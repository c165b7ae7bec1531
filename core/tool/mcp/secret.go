package mcp

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"parley/core"
)

const masked = "[secret]"

// target says where a source's calls go, as people and the approval's hash see it: without user info, the
// query only as a digest, and secrets of a command line masked.
func target(c Config) string {
	if c.URL == "" {
		shown, _ := commandLine(c.Command)
		return shown
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	query := u.RawQuery
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if query == "" {
		return u.String()
	}
	return u.String() + "?" + core.Digest("query", query)[:8]
}

// commandLine is a command as people see it, and the secrets that it leaves out.
func commandLine(args []string) (shown string, secrets []string) {
	out := make([]string, len(args))
	hide := false
	for i, a := range args {
		name, value, pair := strings.Cut(a, "=")
		switch {
		case hide && !strings.HasPrefix(a, "-"):
			secrets, out[i] = append(secrets, a), masked
		case pair && secretWord(name) && value != "":
			secrets, out[i] = append(secrets, value), name+"="+masked
		default:
			var user string
			if out[i], user = withoutUser(a); user != "" {
				secrets = append(secrets, user)
			}
		}
		hide = !pair && strings.HasPrefix(a, "-") && secretWord(name)
	}
	return strings.Join(out, " "), secrets
}

// withoutUser masks the user info of an argument that is an address.
func withoutUser(arg string) (shown, user string) {
	before, after, ok := strings.Cut(arg, "://")
	if !ok {
		return arg, ""
	}
	authority := after
	if end := strings.IndexAny(after, "/?#"); end >= 0 {
		authority = after[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return arg, ""
	}
	return before + "://" + masked + after[at:], after[:at]
}

func secretWord(name string) bool {
	plain := strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name))
	return slices.ContainsFunc([]string{"password", "passwd", "passphrase", "secret", "token", "authorization", "apikey", "credential", "privatekey", "bearer"},
		func(w string) bool { return strings.Contains(plain, w) })
}

// hider returns a function that masks a configuration's secrets in a text.
func hider(c Config) func(string) string {
	var secrets []string
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= 4 { // shorter ones would garble every text
				secrets = append(secrets, v)
			}
		}
	}
	for _, v := range c.Headers {
		add(v)
		if _, credential, ok := strings.Cut(v, " "); ok {
			add(credential)
		}
	}
	for _, v := range c.Env {
		add(v)
	}
	_, hidden := commandLine(c.Command)
	add(hidden...)
	if u, err := url.Parse(c.URL); err == nil {
		if u.User != nil {
			p, _ := u.User.Password()
			add(u.User.String(), u.User.Username(), p)
		}
		add(u.RawQuery)
		for _, values := range u.Query() {
			add(values...)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, v := range slices.Compact(secrets) {
		pairs = append(pairs, v, masked)
	}
	return strings.NewReplacer(pairs...).Replace
}

// hidden is an error that is told without secrets.
type hidden struct {
	err  error
	hide func(string) string
}

func (h *hidden) Error() string { return h.hide(h.err.Error()) }
func (h *hidden) Unwrap() error { return h.err }

// masker masks the tokens in a message; nil masks nothing.
type masker func([]byte) []byte

func (m masker) of(message []byte) []byte {
	if m == nil {
		return message
	}
	return m(message)
}
