package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"parley/core"
	"parley/core/tool"
)

// The headers that the runtime sets.
const (
	headerKey      = "Idempotency-Key"
	headerApproval = "Parley-Approval"
	headerActor    = "Parley-Actor"
)

// untouchable are the headers that no argument may set, beside those that the configuration sets.
var untouchable = map[string]bool{
	headerKey: true, headerApproval: true, headerActor: true, "Authorization": true, "Host": true, "Cookie": true,
	"Accept": true, "Accept-Encoding": true, "Content-Type": true, "Content-Length": true, "Content-Encoding": true,
	"Transfer-Encoding": true, "Te": true, "Trailer": true, "Connection": true, "Keep-Alive": true, "Upgrade": true, "Expect": true,
	"Forwarded": true, "Via": true, "Origin": true, "Referer": true, "User-Agent": true, "Set-Cookie": true,
}

// untouched reports whether a header is none of an argument's business.
func untouched(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return untouchable[name] || strings.HasPrefix(name, "Parley-") || strings.HasPrefix(name, "Proxy-") ||
		strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-Http-Method")
}

// request writes the request of one call. It fails where an argument cannot stand in its place.
func (s *Source) request(ctx context.Context, o *operation, arguments json.RawMessage) (*http.Request, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &args); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	w := writer{path: o.path, header: http.Header{}}
	for _, p := range o.params {
		raw, given := args[p.arg]
		if !given {
			continue
		}
		v, err := decode(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.arg, err)
		}
		if err := w.put(p, v); err != nil {
			return nil, fmt.Errorf("%s: %w", p.arg, err)
		}
	}
	u, err := w.url(o)
	if err != nil {
		return nil, err
	}
	var payload io.Reader
	if o.body != nil {
		if raw, given := args[o.body.arg]; given {
			b, media, err := o.body.write(raw)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.body.arg, err)
			}
			payload = bytes.NewReader(b)
			w.header.Set("Content-Type", media)
		}
	}
	r, err := http.NewRequestWithContext(ctx, o.method, u, payload)
	if err != nil {
		return nil, fmt.Errorf("the arguments make no request: %w", err)
	}
	r.GetBody = nil // what was sent once is not sent again behind our back
	r.Header = w.header
	s.configured(r, o, w.cookies)
	return r, nil
}

// configured adds the headers of the configuration, which no argument beats, and the cookies of the
// arguments that it does not set.
func (s *Source) configured(r *http.Request, o *operation, cookies []string) {
	r.Header.Set("Accept", "application/json, */*;q=0.8")
	r.Header.Set("User-Agent", "Parley")
	if !o.foreign {
		for name, v := range s.headers {
			if name == "Host" {
				r.Host = v
				continue
			}
			r.Header.Set(name, v)
		}
	}
	own := r.Header.Get("Cookie")
	for _, c := range cookies {
		name, _, _ := strings.Cut(c, "=")
		if !slices.ContainsFunc(strings.Split(own, ";"), func(have string) bool {
			n, _, _ := strings.Cut(strings.TrimSpace(have), "=")
			return n == name
		}) {
			r.Header.Set("Cookie", strings.TrimPrefix(r.Header.Get("Cookie")+"; "+c, "; "))
		}
	}
}

// identify adds for whom and under which key a call runs.
func identify(h http.Header, key string, id tool.Identity) error {
	if key != "" {
		// Spelled so that net/http does not take the request for one that it may repeat by itself.
		h["idempotency-key"] = []string{ascii(key)}
	}
	if id.Actor != "" {
		h.Set(headerActor, ascii(string(id.Actor)))
	}
	if id.Approval == nil {
		return nil
	}
	b, err := json.Marshal(struct {
		Input core.InputID  `json:"input"`
		By    core.PersonID `json:"by"`
		At    string        `json:"at"`
	}{id.Approval.Input, core.PersonID(ascii(string(id.Approval.By))), id.Approval.At.UTC().Format("2006-01-02T15:04:05.999Z07:00")})
	if err != nil {
		return err
	}
	h.Set(headerApproval, string(b))
	return nil
}

// ascii percent-encodes what a header does not carry.
func ascii(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c > ' ' && c < 0x7f && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// writer collects the parts of a request.
type writer struct {
	path    string
	query   []string
	header  http.Header
	cookies []string
}

func (w *writer) put(p param, v any) error {
	if v == nil {
		if p.in == "path" {
			return errors.New("a part of the path must not be null")
		}
		return nil
	}
	switch p.in {
	case "path":
		value := p.simple(v, escape)
		if plain, err := url.PathUnescape(value); err != nil || plain == "" || control(plain) {
			return errors.New("a part of the path must not be empty or hold control characters")
		}
		w.path = strings.ReplaceAll(w.path, "{"+p.name+"}", "\x00"+value+"\x00")
	case "query":
		w.query = append(w.query, p.form(v)...)
	case "header":
		value := p.simple(v, verbatim)
		if control(value) {
			return errors.New("a header must not hold control characters")
		}
		w.header.Set(p.name, value)
	case "cookie":
		w.cookies = append(w.cookies, p.form(v)...)
	}
	return nil
}

func control(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// url joins server, path and query. Filled places must stay within their segment, whatever a server makes
// of their escapes.
func (w *writer) url(o *operation) (string, error) {
	for _, segment := range strings.Split(w.path, "/") {
		if !strings.Contains(segment, "\x00") {
			continue
		}
		plain, err := url.PathUnescape(strings.ReplaceAll(segment, "\x00", ""))
		if err != nil {
			return "", fmt.Errorf("the path cannot be written: %w", err)
		}
		for _, part := range strings.FieldsFunc(plain, func(r rune) bool { return r == '/' || r == '\\' || r == ';' }) {
			if part == "." || part == ".." {
				return "", fmt.Errorf("a part of the path must not be %q: it would lead elsewhere", part)
			}
		}
	}
	path := strings.ReplaceAll(w.path, "\x00", "")
	if placeholder.MatchString(path) {
		return "", fmt.Errorf("the path %s has a place that no argument fills", path)
	}
	u := strings.TrimSuffix(o.server.String(), "/") + path
	if len(w.query) > 0 {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		u += sep + strings.Join(w.query, "&")
	}
	return u, nil
}

// write encodes a body. JSON is sent as the very bytes that were approved.
func (b *body) write(raw json.RawMessage) ([]byte, string, error) {
	kind := rank(b.media)
	if kind == 0 {
		return raw, b.media, nil
	}
	v, err := decode(raw)
	if err != nil {
		return nil, "", err
	}
	fields, isObject := v.(map[string]any)
	switch {
	case kind == 3 && !isObject:
		return []byte(text(v)), b.media, nil
	case !isObject:
		return nil, "", errors.New("want an object with the fields of the form")
	case kind == 1:
		return []byte(strings.Join(b.pairs(fields), "&")), b.media, nil
	default:
		return b.multipart(fields)
	}
}

// pairs writes a form's fields.
func (b *body) pairs(fields map[string]any) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v := fields[name]
		if v == nil {
			continue
		}
		p := param{name: name, style: "form", explode: true}
		e := b.encoding[name]
		switch {
		case e != nil && e.Style != "":
			p.style, p.explode = e.Style, e.Style == "form"
			if e.Explode != nil {
				p.explode = *e.Explode
			}
		case object(v) != nil:
			p.encoded = true
		}
		out = append(out, p.form(v)...)
	}
	return out
}

// multipart writes a form's fields as parts: lists as several, objects as JSON, binary strings as files.
func (b *body) multipart(fields map[string]any) ([]byte, string, error) {
	var out bytes.Buffer
	m := multipart.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		values := []any{fields[name]}
		if l, ok := fields[name].([]any); ok {
			values = l
		}
		for _, v := range values {
			if v == nil {
				continue
			}
			part, err := m.CreatePart(b.partHeader(name, v))
			if err != nil {
				return nil, "", err
			}
			if _, err := io.WriteString(part, text(v)); err != nil {
				return nil, "", err
			}
		}
	}
	if err := m.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), m.FormDataContentType(), nil
}

func (b *body) partHeader(name string, v any) textproto.MIMEHeader {
	disposition := map[string]string{"name": name}
	h := textproto.MIMEHeader{}
	p := b.fields[name]
	if items := object(p["items"]); items != nil {
		p = items
	}
	e := b.encoding[name]
	switch {
	case e != nil && e.ContentType != "" && !strings.ContainsAny(e.ContentType, ",*\r\n"):
		h.Set("Content-Type", e.ContentType)
	case p["format"] == "binary", p["contentMediaType"] != nil:
		h.Set("Content-Type", "application/octet-stream")
	case object(v) != nil:
		h.Set("Content-Type", "application/json")
	}
	if h.Get("Content-Type") != "" && h.Get("Content-Type") != "application/json" {
		disposition["filename"] = name
	}
	h.Set("Content-Disposition", mime.FormatMediaType("form-data", disposition))
	return h
}
