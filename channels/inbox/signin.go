package inbox

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"parley/core"
)

const (
	// linkTime is how long a link to sign in may be used, maxLinks how many may wait to be.
	linkTime = 10 * time.Minute
	maxLinks = 1000
	// maxBody bounds a form.
	maxBody = 1 << 20
)

// link signs somebody in, once.
type link struct {
	token  *token
	person core.PersonID
	ends   time.Time
}

// loginPage is what the page to sign in shows.
type loginPage struct {
	frame
	Next string
	Code string
	// Who is whom the code signs in.
	Who   core.PersonID
	Wrong string
}

func (i *Inbox) getLogin(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := loginPage{frame: frame{Title: "Sign in"}, Next: local(q.Get("next")), Code: q.Get("code")}
	status := http.StatusOK
	if p.Code != "" {
		if l, ok := i.linkOf(p.Code, false); ok {
			p.Who = l.person
		} else {
			p.Code, p.Wrong, status = "", wrongLink, http.StatusGone
		}
	}
	i.show(w, status, "login", p)
}

const wrongLink = "This link was used before, or its time is over. Ask for a new one."

// linkOf finds the link of a code, and takes it away if it is to be used.
func (i *Inbox) linkOf(code string, use bool) (link, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := core.Digest(code)
	l, ok := i.links[key]
	if use || ok && !i.c.Now().Before(l.ends) {
		delete(i.links, key)
	}
	return l, ok && i.c.Now().Before(l.ends)
}

// local is a path of ours to go on to; anything else is the queue.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.ContainsAny(next, "\\\r\n") || u.Path != "/inbox" && !strings.HasPrefix(u.Path, "/inbox/") || strings.Contains(u.Path, "..") {
		return "/inbox"
	}
	return next
}

// postLink makes a link for somebody whom the caller's token speaks for. It has no cookie to be abused with.
func (i *Inbox) postLink(w http.ResponseWriter, r *http.Request) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	t := i.find(strings.TrimSpace(secret))
	if t == nil || !strings.EqualFold(scheme, "Bearer") {
		w.Header().Set("WWW-Authenticate", `Bearer realm="parley"`)
		http.Error(w, "send Authorization: Bearer TOKEN", http.StatusUnauthorized)
		return
	}
	if err := readForm(w, r); err != nil {
		http.Error(w, err.Error(), err.status)
		return
	}
	who := t.person
	if from := r.PostForm.Get("from"); from != "" {
		p, err := core.ParsePerson(from)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if who = i.c.Canonical(p); !i.speaksFor(t, who) {
			http.Error(w, "this token may not speak for "+string(who), http.StatusForbidden)
			return
		}
	}
	if who == "" {
		http.Error(w, "say from=PERSON: the token is not bound to one person", http.StatusBadRequest)
		return
	}
	code, l, err := i.newLink(t, who)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	i.c.Log.Info("a link to sign in was made", "token", t.Name, "person", who)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"url": i.origin + "/inbox/login?code=" + code, "person": who, "expiresAt": l.ends.UTC()})
}

func (i *Inbox) newLink(t *token, who core.PersonID) (string, link, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.c.Now()
	for key, l := range i.links {
		if !now.Before(l.ends) {
			delete(i.links, key)
		}
	}
	if len(i.links) >= maxLinks {
		return "", link{}, errors.New("too many links wait to be used: try again in 10 minutes")
	}
	code, l := rand.Text(), link{token: t, person: who, ends: now.Add(linkTime)}
	i.links[core.Digest(code)] = l
	return code, l, nil
}

// postSession signs in, by a token that is bound to one person or by the code of a link.
func (i *Inbox) postSession(w http.ResponseWriter, r *http.Request) {
	if err := readForm(w, r); err != nil {
		i.problem(w, nil, err.status, err.sentence)
		return
	}
	next := local(r.PostForm.Get("next"))
	wrong := func(status int, sentence string) {
		i.c.Log.Warn("somebody could not sign in to the inbox", "remote", r.RemoteAddr, "status", status)
		i.show(w, status, "login", loginPage{frame: frame{Title: "Sign in"}, Next: next, Wrong: sentence})
	}
	var s *session
	if code := r.PostForm.Get("code"); code != "" {
		l, ok := i.linkOf(code, true)
		if !ok {
			wrong(http.StatusGone, wrongLink)
			return
		}
		s = i.begin(l.token, l.person)
	} else {
		t := i.find(strings.TrimSpace(r.PostForm.Get("token")))
		switch {
		case t == nil:
			wrong(http.StatusUnauthorized, "This token is not known here.")
			return
		case t.person == "":
			wrong(http.StatusForbidden, "This token is not bound to one person. Use one whose speaksFor is one exact id, or have a link made with it.")
			return
		}
		s = i.begin(t, t.person)
	}
	i.c.Log.Info("somebody signed in to the inbox", "person", s.Person, "token", s.Token)
	i.setCookie(w, r, i.cookie(s))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (v *visit) signOut() error {
	v.i.end(v.s)
	v.i.setCookie(v.w, v.r, "")
	http.Redirect(v.w, v.r, "/inbox/login", http.StatusSeeOther)
	return nil
}

// readForm takes a form in, as browsers send it, and nothing else.
func readForm(w http.ResponseWriter, r *http.Request) *failure {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.ContentLength != 0 && (err != nil || kind != "application/x-www-form-urlencoded") {
		return &failure{http.StatusUnsupportedMediaType, "A form is wanted, as a page of this inbox sends it."}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	err := r.ParseForm()
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &failure{http.StatusRequestEntityTooLarge, "That is too long. Nothing was changed."}
	case err != nil:
		return &failure{http.StatusBadRequest, "The form could not be read. Nothing was changed."}
	}
	for name, values := range r.PostForm {
		for _, s := range append(values, name) {
			if !utf8.ValidString(s) {
				return &failure{http.StatusBadRequest, "The form is not UTF-8. Nothing was changed."}
			}
		}
	}
	return nil
}

// readForm reads a form of this session.
func (v *visit) readForm() error {
	if err := readForm(v.w, v.r); err != nil {
		return err
	}
	if !equal(v.r.PostForm.Get("csrf"), v.i.csrf(v.s)) {
		return &failure{http.StatusForbidden, "This form is not of your session. Nothing was changed: go back, load the page again and repeat it."}
	}
	return nil
}
