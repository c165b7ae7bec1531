package openapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/core"
	"parley/core/tool"
	"parley/core/tool/openapi"
	"parley/core/tool/outbound"
)

// seen is what an API got.
type seen struct {
	method, uri, host, body string
	header                  http.Header
}

// api is an HTTP API on loopback that notes what it gets.
type api struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

func newAPI(t *testing.T, answer http.HandlerFunc) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		a.seen = append(a.seen, seen{r.Method, r.RequestURI, r.Host, string(b), r.Header})
		a.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) got() []seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]seen(nil), a.seen...)
}

var loopback = outbound.Config{AllowPrivate: []string{"127.0.0.0/8"}}

func client(t *testing.T) *http.Client {
	t.Helper()
	c := outbound.Client(loopback)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

var approved = &core.Approval{Input: "in1", By: "local:bo", At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}

// run calls a tool of a source as the engine does, with an approval.
func run(t *testing.T, s *openapi.Source, name, arguments string) (string, error) {
	t.Helper()
	found, ok := s.Lookup(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return found.Call(tool.NewContext(t.Context(), "run1/call1", tool.Identity{Actor: "local:ana", Approval: approved}, nil, nil), json.RawMessage(arguments))
}

// document is a document of one operation, /op, with more of its path.
func document(method, path, rest string) []byte {
	return []byte(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"` + path + `":{"` + method + `":{"operationId":"op",` + rest + `}}}}`)
}

func parameter(name, in, more string) string {
	return `{"name":"` + name + `","in":"` + in + `"` + more + `}`
}

func TestParametersAreWritten(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	list, obj := `["a","b c",3]`, `{"r":100,"g":"x&y"}`
	for _, c := range []struct{ in, style, value, want string }{
		{"path", ``, `"a b"`, "/p/a%20b/end"}, {"path", ``, `"ü/&?#%"`, "/p/%C3%BC%2F%26%3F%23%25/end"}, {"path", ``, `3.50`, "/p/3.50/end"}, {"path", ``, `true`, "/p/true/end"},
		{"path", ``, list, "/p/a,b%20c,3/end"}, {"path", ``, obj, "/p/g,x%26y,r,100/end"}, {"path", `,"explode":true`, obj, "/p/g=x%26y,r=100/end"},
		{"path", `,"style":"label"`, list, "/p/.a,b%20c,3/end"}, {"path", `,"style":"label","explode":true`, list, "/p/.a.b%20c.3/end"},
		{"path", `,"style":"matrix"`, `"x"`, "/p/;v=x/end"}, {"path", `,"style":"matrix"`, list, "/p/;v=a,b%20c,3/end"},
		{"path", `,"style":"matrix","explode":true`, list, "/p/;v=a;v=b%20c;v=3/end"}, {"path", `,"style":"matrix","explode":true`, obj, "/p/;g=x%26y;r=100/end"},
		{"query", ``, `"a b&c=d"`, "/p?v=a%20b%26c%3Dd"}, {"query", ``, `12345678901234567890`, "/p?v=12345678901234567890"}, {"query", ``, `null`, "/p"}, {"query", ``, `""`, "/p?v="}, {"query", ``, `false`, "/p?v=false"},
		{"query", ``, list, "/p?v=a&v=b%20c&v=3"}, {"query", ``, `[]`, "/p"}, {"query", ``, obj, "/p?g=x%26y&r=100"},
		{"query", `,"explode":false`, list, "/p?v=a,b%20c,3"}, {"query", `,"explode":false`, obj, "/p?v=g,x%26y,r,100"}, {"query", `,"explode":false`, `[]`, "/p"},
		{"query", `,"style":"spaceDelimited"`, list, "/p?v=a%20b%20c%203"}, {"query", `,"style":"pipeDelimited"`, list, "/p?v=a%7Cb%20c%7C3"},
		{"query", `,"style":"deepObject"`, obj, "/p?v%5Bg%5D=x%26y&v%5Br%5D=100"}, {"query", `,"style":"deepObject"`, `{"a":{"b":[1,2]}}`, "/p?v%5Ba%5D%5Bb%5D%5B%5D=1&v%5Ba%5D%5Bb%5D%5B%5D=2"},
		{"query", `,"content":{"application/json":{}}`, `{"a":"<b>"}`, "/p?v=%7B%22a%22%3A%22%3Cb%3E%22%7D"},
		{"header", ``, `"x y"`, "/p|x y"}, {"header", ``, list, "/p|a,b c,3"}, {"header", `,"explode":true`, obj, "/p|g=x&y,r=100"},
		{"cookie", ``, `"a;b=c"`, "/p|v=a%3Bb%3Dc"},
	} {
		path := map[bool]string{true: "/p/{v}/end", false: "/p"}[c.in == "path"]
		s := load(t, openapi.Config{BaseURL: a.URL, Client: client(t), Document: document("get", path, `"parameters":[`+parameter("v", c.in, c.style)+`]`)})
		if _, err := run(t, s, "api__op", `{"v":`+c.value+`}`); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		got := a.got()
		last := got[len(got)-1]
		uri, header, _ := strings.Cut(c.want, "|")
		if last.uri != uri || c.in == "header" && last.header.Get("V") != header || c.in == "cookie" && last.header.Get("Cookie") != header {
			t.Errorf("%+v: got %s, %v", c, last.uri, last.header)
		}
	}
}

func TestBodiesAreWritten(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	for _, c := range []struct{ content, value, want, media string }{
		{`"application/json":{}`, `{"b":1.0,"a":"<ü>","n":12345678901234567890}`, `{"b":1.0,"a":"<ü>","n":12345678901234567890}`, "application/json"},
		{`"text/plain":{},"application/json":{}`, `[1]`, `[1]`, "application/json"},
		{`"application/vnd.api+json":{}`, `null`, `null`, "application/vnd.api+json"},
		{`"*/*":{}`, `"x"`, `"x"`, "application/json"},
		{`"application/x-www-form-urlencoded":{}`, `{"b":["x","y"],"a":"1&2","o":{"k":1},"n":null}`, `a=1%262&b=x&b=y&o=%7B%22k%22%3A1%7D`, "application/x-www-form-urlencoded"},
		{`"application/x-www-form-urlencoded":{"encoding":{"o":{"style":"deepObject","explode":true}}}`, `{"o":{"k":1}}`, `o%5Bk%5D=1`, "application/x-www-form-urlencoded"},
		{`"text/csv":{"schema":{"type":"string"}}`, `"a,b\nc"`, "a,b\nc", "text/csv"},
	} {
		s := load(t, openapi.Config{BaseURL: a.URL, Client: client(t), Document: document("post", "/p", `"requestBody":{"content":{`+c.content+`}}`)})
		if _, err := run(t, s, "api__op", `{"body":`+c.value+`}`); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		got := a.got()
		if last := got[len(got)-1]; last.body != c.want || last.header.Get("Content-Type") != c.media {
			t.Errorf("%+v: got %q, %s", c, last.body, last.header.Get("Content-Type"))
		}
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	schema := `{"$ref":"#/components/schemas/F"}},"multipart/mixed":{}}}}}},"components":{"schemas":{"F":{"properties":{"file":{"type":"string","format":"binary"}}}}},"x":{"x":{"x":{"x":{"x":{"x":1`
	doc := document("post", "/p", `"requestBody":{"content":{"multipart/form-data":{"schema":`+schema+`}}}`)
	s := load(t, openapi.Config{BaseURL: a.URL, Client: client(t), Document: doc})
	if _, err := run(t, s, "api__op", `{"body":{"file":"data","tags":["a","b"],"meta":{"k":1},"na\"me":"v"}}`); err != nil {
		t.Fatal(err)
	}
	got := a.got()[0]
	_, params, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(strings.NewReader(got.body), params["boundary"])
	var parts []string
	for {
		p, err := r.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(p)
		parts = append(parts, p.FormName()+"|"+p.FileName()+"|"+p.Header.Get("Content-Type")+"|"+string(b))
	}
	want := []string{"file|file|application/octet-stream|data", `meta||application/json|{"k":1}`, `na"me|||v`, "tags|||a", "tags|||b"}
	if strings.Join(parts, "\n") != strings.Join(want, "\n") {
		t.Errorf("parts %q", parts)
	}
}

func TestHeadersOfACall(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	var ps []string
	hostile := []string{"Authorization", "authorization", "Host", "Cookie", "Idempotency-Key", "parley-approval", "Parley-Actor", "Parley-Other", "X-Api-Key", "Content-Length", "Transfer-Encoding", "Connection", "X-Forwarded-For", "X-HTTP-Method-Override", "Bad Name"}
	for _, h := range hostile {
		ps = append(ps, parameter(h, "header", ""))
	}
	ps = append(ps, parameter("X-Fine", "header", ""), parameter("session", "cookie", ""), parameter("theme", "cookie", ""))
	s := load(t, openapi.Config{
		BaseURL: a.URL, Client: client(t), Document: document("post", "/p", `"parameters":[`+strings.Join(ps, ",")+`]`),
		Headers: map[string]string{"authorization": "Bearer secret", "x-api-key": "k", "Cookie": "session=ours", "host": "shop.test"},
	})
	for _, h := range hostile {
		if _, err := run(t, s, "api__op", `{"`+h+`":"evil"}`); err == nil || !strings.Contains(err.Error(), "do not fit") {
			t.Errorf("%s is an argument: %v", h, err)
		}
	}
	if n := len(a.got()); n != 0 {
		t.Fatalf("%d requests were sent", n)
	}
	if _, err := run(t, s, "api__op", `{"X-Fine":"yes","session":"evil","theme":"dark"}`); err != nil {
		t.Fatal(err)
	}
	got := a.got()[0]
	for name, want := range map[string]string{
		"Authorization": "Bearer secret", "X-Api-Key": "k", "X-Fine": "yes", "Cookie": "session=ours; theme=dark", "Parley-Actor": "local:ana",
		"Parley-Approval": `{"input":"in1","by":"local:bo","at":"2026-11-30T12:00:00Z"}`, "Idempotency-Key": "run1/call1",
	} {
		if v := got.header.Values(name); len(v) != 1 || v[0] != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if got.host != "shop.test" {
		t.Errorf("host %q", got.host)
	}
	if _, err := run(t, s, "api__op", `{"X-Fine":"a\r\nAuthorization: evil"}`); err == nil {
		t.Error("a header was split")
	}
}

func TestNamesThatNoHeaderCarries(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	s := load(t, openapi.Config{BaseURL: a.URL, Client: client(t), Document: document("get", "/p", `"summary":"x"`)})
	op, _ := s.Lookup("api__op")
	who := core.PersonID("local:jos\u00e9 \n%")
	ctx := tool.NewContext(t.Context(), "k\u00e9y", tool.Identity{Actor: who, Approval: &core.Approval{By: who}}, nil, nil)
	if _, err := op.Call(ctx, json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	h := a.got()[0].header
	if h.Get("Parley-Actor") != "local:jos%C3%A9%20%0A%25" || h.Get("Idempotency-Key") != "k%C3%A9y" || !strings.Contains(h.Get("Parley-Approval"), `"by":"local:jos%C3%A9`) {
		t.Errorf("%v", h)
	}
}

// A part of the path stays in its place, whatever it says.
func TestPathsAreNotLeft(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	s := load(t, openapi.Config{BaseURL: a.URL + "/v1", Client: client(t), Document: document("delete", "/users/{id}/{sub}{ext}", `"summary":"x"`)})
	for _, c := range []struct {
		args string
		uri  string // "" for refused
	}{
		{`{"id":"7","sub":"a","ext":".b"}`, "/v1/users/7/a.b"},
		{`{"id":"a/b","sub":"?x=1","ext":"#f"}`, "/v1/users/a%2Fb/%3Fx%3D1%23f"},
		{`{"id":"{sub}","sub":"..a","ext":"..."}`, "/v1/users/%7Bsub%7D/..a..."},
		{`{"id":"%2e%2e","sub":"a","ext":"b"}`, "/v1/users/%252e%252e/ab"},
		{`{"id":"..","sub":"a","ext":"b"}`, ""}, {`{"id":".","sub":"a","ext":"b"}`, ""}, {`{"id":"../../admin","sub":"a","ext":"b"}`, ""},
		{`{"id":"x/..","sub":"a","ext":"b"}`, ""}, {`{"id":"..\\x","sub":"a","ext":"b"}`, ""}, {`{"id":"7","sub":".","ext":"."}`, ""},
		{`{"id":"..;x=1","sub":"a","ext":"b"}`, ""}, {`{"id":"","sub":"a","ext":"b"}`, ""}, {`{"id":"a\u0000","sub":"a","ext":"b"}`, ""}, {`{"id":"a\n","sub":"a","ext":"b"}`, ""},
	} {
		before := len(a.got())
		_, err := run(t, s, "api__op", c.args)
		got := a.got()[before:]
		if c.uri == "" && (err == nil || len(got) > 0 || errors.Is(err, tool.ErrNotStarted)) || c.uri != "" && (err != nil || len(got) != 1 || got[0].uri != c.uri) {
			t.Errorf("%s: %v, %+v", c.args, err, got)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("v") {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{\"ok\":true}\n")
		case "none":
			w.Header().Set("Location", "/p/7")
			w.WriteHeader(http.StatusCreated)
		case "problem":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"title":"no such pet"}`)
		case "busy":
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		case "redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "see other":
			http.Redirect(w, r, "/elsewhere", http.StatusSeeOther)
		case "image":
			w.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(w, "\x89PNG")
		case "bytes":
			_, _ = io.WriteString(w, "\xff\xfe\x00")
		case "long":
			_, _ = io.WriteString(w, strings.Repeat("ü", core.MaxResult))
		case "broken":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}
	})
	for _, c := range []struct{ method, v, out, fails string }{
		{"post", "json", `{"ok":true}`, ""}, {"post", "none", "HTTP 201 Created\nLocation: /p/7", ""},
		{"post", "problem", "", "POST /p answered HTTP 422 Unprocessable Entity\n{\"title\":\"no such pet\"}"},
		{"get", "busy", "", "GET /p answered HTTP 429 Too Many Requests\nRetry-After: 30"},
		{"post", "redirect", "", "HTTP 307 Temporary Redirect\nLocation: /elsewhere\n(Redirects like this one are not followed.)"},
		{"post", "see other", "", "HTTP 303"}, {"get", "redirect", "HTTP 200 OK", ""},
		{"get", "image", "(4 bytes of image/png: not shown)", ""}, {"get", "bytes", "(3 bytes of", ""},
		{"get", "long", "(cut here: the answer is longer than 100000 bytes)", ""}, {"post", "broken", "half\n(The answer broke off here: ", ""},
	} {
		s := load(t, openapi.Config{BaseURL: a.URL, Client: client(t), Document: document(c.method, "/p", `"parameters":[`+parameter("v", "query", "")+`]`)})
		out, err := run(t, s, "api__op", `{"v":"`+c.v+`"}`)
		switch {
		case c.fails == "" && (err != nil || !strings.Contains(out, c.out)):
			t.Errorf("%s %s: %.200q, %v", c.method, c.v, out, err)
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || errors.Is(err, tool.ErrNotStarted) || errors.Is(err, tool.ErrUnknownOutcome)):
			t.Errorf("%s %s: %v", c.method, c.v, err)
		}
	}
	for _, got := range a.got() {
		if got.uri == "/elsewhere" && got.method != "GET" {
			t.Error("the redirect of an action was followed")
		}
	}
}

// Credentials do not follow a redirect to another origin, nor does anything else.
func TestRedirectsStayWithinTheOrigin(t *testing.T) {
	t.Parallel()
	other := newAPI(t, nil)
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	for _, c := range []*http.Client{client(t), {}} {
		s := load(t, openapi.Config{BaseURL: a.URL, Client: c, Headers: map[string]string{"X-Key": "k"}, Document: document("get", "/p", `"summary":"x"`)})
		if _, err := run(t, s, "api__op", `{}`); err == nil || !strings.Contains(err.Error(), "HTTP 302") {
			t.Error(err)
		}
	}
	if len(other.got()) > 0 {
		t.Error("the other origin was called")
	}
}

func TestFailuresSayWhetherAnythingWasSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	_ = l.Close()
	cut := newAPI(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for _, c := range []struct {
		name, method, url   string
		client              *http.Client
		notStarted, unknown bool
	}{
		{"refused", "post", closed, client(t), true, false}, {"refused, plain client", "post", closed, &http.Client{}, true, false},
		{"unresolved", "post", "http://nowhere.invalid", &http.Client{}, true, false},
		{"private", "post", "http://127.0.0.1:1", nil, false, false},
		{"cut", "post", cut.URL, client(t), false, true}, {"cut read", "get", cut.URL, client(t), false, true},
	} {
		s := load(t, openapi.Config{BaseURL: c.url, Client: c.client, Document: document(c.method, "/p", `"summary":"x"`)})
		_, err := run(t, s, "api__op", `{}`)
		if err == nil || errors.Is(err, tool.ErrNotStarted) != c.notStarted || errors.Is(err, tool.ErrUnknownOutcome) != c.unknown {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.client == nil && (err == nil || !strings.Contains(err.Error(), "outbound.allowPrivate")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// net/http repeats by itself what it takes for idempotent when a kept connection breaks. An action is sent
// once, though it carries an idempotency key.
func TestAnActionIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `,"requestBody":{"content":{"application/json":{}}}`} {
		n := 0
		var mu sync.Mutex
		a := newAPI(t, func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n > 1 {
				panic(http.ErrAbortHandler) // the connection was used before, and breaks
			}
		})
		s := load(t, openapi.Config{BaseURL: a.URL, Client: client(t), Document: document("post", "/p", `"summary":"x"`+body)})
		args := map[bool]string{true: `{"body":{"a":1}}`, false: `{}`}[body != ""]
		if _, err := run(t, s, "api__op", args); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, s, "api__op", args); !errors.Is(err, tool.ErrUnknownOutcome) {
			t.Errorf("%v", err)
		}
		if got := len(a.got()); got != 2 {
			t.Errorf("%d requests for 2 calls", got)
		}
	}
}

// What was decided without an approval does not go out once one is needed.
func TestACallThatNeedsApprovalCarriesIt(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	s := load(t, openapi.Config{BaseURL: a.URL, Client: client(t), Document: document("post", "/p", `"summary":"x"`)})
	op, _ := s.Lookup("api__op")
	_, err := op.Call(tool.NewContext(t.Context(), "k", tool.Identity{}, nil, nil), json.RawMessage(`{}`))
	if err == nil || !strings.Contains(err.Error(), "needs approval") || len(a.got()) > 0 {
		t.Errorf("%v, %d requests", err, len(a.got()))
	}
}
