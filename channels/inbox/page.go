package inbox

import (
	"bytes"
	"crypto/hmac"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"parley/core"
	"parley/render"
)

//go:embed assets
var assets embed.FS

// frame is what every page has. Live is where its news come from, "" for none, and Version what it shows.
type frame struct {
	Title   string
	Person  core.PersonID
	CSRF    string
	Live    string
	Version string
	Self    string // the address to load it again from
}

// problemPage says why something could not be done.
type problemPage struct {
	frame
	Sentence string
}

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"when": when, "seen": render.Visible, "hidden": render.Hidden, "for": lasting,
	"person": func(p core.PersonID) string { return render.Visible(string(p)) },
	"list": func(ps []core.PersonID) string {
		out := make([]string, len(ps))
		for i, p := range ps {
			out[i] = render.Visible(string(p))
		}
		return strings.Join(out, ", ")
	},
}).ParseFS(assets, "assets/*.html"))

// when is a time for people, with the exact one for machines.
func when(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05 UTC")))
}

// lasting is a time span for people.
func lasting(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%d days", int(d.Hours())/24)
	}
}

// frame is that of a page of this session.
func (v *visit) frame(title, self string) frame {
	return frame{Title: title, Person: v.s.Person, CSRF: v.i.csrf(v.s), Self: self}
}

// show writes a page, whole or not at all.
func (i *Inbox) show(w http.ResponseWriter, status int, name string, page any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, page); err != nil {
		panic(fmt.Sprintf("inbox: page %s: %v", name, err)) // our own templates fit our own types
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever hung up does not see it
}

func (v *visit) show(status int, name string, page any) error {
	v.i.show(v.w, status, name, page)
	return nil
}

// problem shows a sentence as a page.
func (i *Inbox) problem(w http.ResponseWriter, s *session, status int, sentence string) {
	p := problemPage{frame: frame{Title: http.StatusText(status)}, Sentence: sentence}
	if s != nil {
		p.Person, p.CSRF = s.Person, i.csrf(s)
	}
	i.show(w, status, "problem", p)
}

// serveAsset serves the style and the script.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	kinds := map[string]string{"inbox.css": "text/css; charset=utf-8", "inbox.js": "text/javascript; charset=utf-8"}
	kind, ok := kinds[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	body, err := assets.ReadFile("assets/" + r.PathValue("name"))
	if err != nil {
		panic(err) // it is part of the program
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(body)
}

func equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
