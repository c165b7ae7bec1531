package inbox

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"parley/core"
)

const (
	// sessionTime is how long a session lasts.
	sessionTime = 12 * time.Hour
	// secureCookie is the name where the connection is encrypted: no other host may set it. A loopback address
	// has plainCookie.
	secureCookie = "__Host-parley-inbox"
	plainCookie  = "parley-inbox"
)

// token is a Token whose secret is kept as a digest only.
type token struct {
	Token
	digest [sha256.Size]byte
	person core.PersonID // that it is bound to, "" for none
}

func (i *Inbox) newToken(t Token) *token {
	k := &token{Token: t, digest: sha256.Sum256([]byte(t.Secret))}
	k.Secret = ""
	if len(t.SpeaksFor) == 1 && !strings.HasSuffix(t.SpeaksFor[0], ":*") {
		k.person = i.c.Canonical(core.PersonID(t.SpeaksFor[0]))
	}
	return k
}

// find is the token of a secret, nil for none. All are compared, each in constant time.
func (i *Inbox) find(secret string) (found *token) {
	digest := sha256.Sum256([]byte(secret))
	for _, t := range i.tokens {
		if subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 {
			found = t
		}
	}
	return found
}

// sees reports whether the token may know of any of the agents.
func (t *token) sees(agents ...core.AgentID) bool {
	return t.Admin || slices.ContainsFunc(agents, func(id core.AgentID) bool { return slices.Contains(t.Agents, id) })
}

// speaksFor reports whether the token may act in the name of somebody.
func (i *Inbox) speaksFor(t *token, who core.PersonID) bool {
	return slices.ContainsFunc(t.SpeaksFor, func(s string) bool {
		surface, all := strings.CutSuffix(s, ":*")
		return all && who.Surface() == surface || i.c.Canonical(core.PersonID(s)) == who
	})
}

// session is what a cookie says, once its signature was found to be ours.
type session struct {
	ID     string        `json:"i"`
	Token  string        `json:"t"`
	Person core.PersonID `json:"p"`
	Ends   int64         `json:"e"` // Unix seconds

	token *token
}

// sign is the signature of a text for one purpose.
func (i *Inbox) sign(purpose, text string) string {
	m := hmac.New(sha256.New, i.key)
	m.Write([]byte(purpose + "\n" + text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// begin makes a session.
func (i *Inbox) begin(t *token, who core.PersonID) *session {
	return &session{ID: rand.Text(), Token: t.Name, Person: who, Ends: i.c.Now().Add(sessionTime).Unix(), token: t}
}

// cookie is the value of a session's cookie.
func (i *Inbox) cookie(s *session) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and a number always encode
	}
	text := base64.RawURLEncoding.EncodeToString(raw)
	return text + "." + i.sign("session", text)
}

// session is that of a request; nil where it has none that holds.
func (i *Inbox) session(r *http.Request) *session {
	c, err := r.Cookie(secureCookie)
	if err != nil && loopback(r.Host) {
		c, err = r.Cookie(plainCookie)
	}
	if err != nil {
		return nil
	}
	text, signature, _ := strings.Cut(c.Value, ".")
	if !hmac.Equal([]byte(signature), []byte(i.sign("session", text))) {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	s := &session{}
	if err != nil || json.Unmarshal(raw, s) != nil || !i.holds(s) {
		return nil
	}
	for _, t := range i.tokens {
		if t.Name == s.Token && i.speaksFor(t, s.Person) {
			s.token = t
		}
	}
	if s.token == nil {
		return nil
	}
	return s
}

// holds reports whether a session of ours has neither ended nor been signed out.
func (i *Inbox) holds(s *session) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, gone := i.gone[s.ID]
	return !gone && i.c.Now().Unix() < s.Ends
}

// end signs a session out.
func (i *Inbox) end(s *session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.c.Now()
	for id, until := range i.gone {
		if !now.Before(until) {
			delete(i.gone, id)
		}
	}
	i.gone[s.ID] = time.Unix(s.Ends, 0)
}

// setCookie hands a session out; an empty value takes it back.
func (i *Inbox) setCookie(w http.ResponseWriter, r *http.Request, value string) {
	c := &http.Cookie{Name: secureCookie, Value: value, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionTime / time.Second)}
	if loopback(r.Host) && !strings.HasPrefix(r.Header.Get("Origin"), "https://") {
		c.Name, c.Path, c.Secure = plainCookie, "/inbox", false
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// loopback reports whether a host is this machine, where there is nobody to listen on the way.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// csrf is what the forms of a session carry.
func (i *Inbox) csrf(s *session) string { return i.sign("form", s.ID) }

// fromOurPage lets a POST through that a page of ours sent, by the browser's own word for it.
func (i *Inbox) fromOurPage(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !i.ours(r) {
			i.problem(w, nil, http.StatusForbidden, "This did not come from a page of this inbox, so nothing was done.")
			return
		}
		f(w, r)
	}
}

// ours reports whether a request names no page but ours as its origin, and names one.
func (i *Inbox) ours(r *http.Request) bool {
	site, origin := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	if len(site)+len(origin) == 0 {
		return false
	}
	for _, s := range site {
		if s != "same-origin" {
			return false
		}
	}
	for _, o := range origin {
		if o != "https://"+r.Host && o != "http://"+r.Host && (i.origin == "" || o != i.origin) {
			return false
		}
	}
	return true
}
