package openapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/core/tool"
	"parley/core/tool/openapi"
)

// capture is a transport that keeps the request instead of sending it.
type capture struct{ last *http.Request }

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	c.last = r
	return &http.Response{StatusCode: http.StatusNoContent, Status: "204 No Content", Body: io.NopCloser(strings.NewReader("")), Request: r, Header: http.Header{}}, nil
}

// No argument changes where a request goes, adds to its query or sets a header of another name.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{"a", "..", "a/../b", "%2e%2e", "?x=1", "#", "a\r\nHost: evil", "\\..\\", "{sub}", "&evil=1", ";", "ü", "\x00", ".", "//evil.test"} {
		f.Add(s, s, s, s)
	}
	ps := []string{parameter("id", "path", ""), parameter("sub", "path", `,"style":"label"`), parameter("q", "query", ""), parameter("X-H", "header", ""), parameter("c", "cookie", "")}
	to := &capture{}
	s := load(f, openapi.Config{BaseURL: "https://x.test/v1", Client: &http.Client{Transport: to}, Document: document("get", "/a/{id}/b/{sub}/end", `"parameters":[`+strings.Join(ps, ",")+`]`)})
	op, ok := s.Lookup("api__op")
	if !ok {
		f.Fatal("no tool")
	}
	f.Fuzz(func(t *testing.T, id, sub, q, h string) {
		arguments, err := json.Marshal(map[string]string{"id": id, "sub": sub, "q": q, "X-H": h, "c": q})
		if err != nil {
			t.Skip()
		}
		var sent map[string]string // as JSON carries it
		if err := json.Unmarshal(arguments, &sent); err != nil {
			t.Fatal(err)
		}
		to.last = nil
		_, err = op.Call(tool.NewContext(t.Context(), "k", tool.Identity{Actor: "local:ana"}, nil, nil), arguments)
		r := to.last
		if r == nil {
			if err == nil {
				t.Fatal("neither sent nor refused")
			}
			return
		}
		parts := strings.Split(r.URL.EscapedPath(), "/")
		if r.URL.Host != "x.test" || r.URL.Scheme != "https" || r.URL.User != nil || r.URL.Fragment != "" || len(parts) != 7 ||
			parts[1] != "v1" || parts[2] != "a" || parts[4] != "b" || parts[6] != "end" || parts[3] == "" || parts[5] == "" {
			t.Fatalf("sent to %s", r.URL)
		}
		query := r.URL.Query()
		if len(query) != 1 || len(query["q"]) != 1 || query.Get("q") != sent["q"] {
			t.Fatalf("query %q of %q", r.URL.RawQuery, q)
		}
		for name, v := range r.Header {
			if !strings.Contains(" Accept User-Agent X-H Cookie idempotency-key Parley-Actor Referer ", " "+name+" ") || len(v) != 1 || strings.ContainsAny(v[0], "\r\n\x00") {
				t.Fatalf("header %s: %q", name, v)
			}
		}
		if strings.Count(r.Header.Get("Cookie"), ";") > 0 {
			t.Fatalf("cookies %q", r.Header.Get("Cookie"))
		}
	})
}
