package inbox_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzPost: whatever body is sent to whatever takes one, signed in or not, is answered, settles nothing without the
// token of the session's form, and signs nobody in.
func FuzzPost(f *testing.F) {
	w := newWorld(f)
	in := w.begin("ops", drop)[0]
	signIn := httptest.NewRequest(http.MethodPost, "/inbox/session", strings.NewReader("token=ben-secret"))
	signIn.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	signIn.Header.Set("Origin", "http://"+signIn.Host)
	rec := httptest.NewRecorder()
	w.inbox.ServeHTTP(rec, signIn)
	cookies := rec.Result().Cookies()
	if len(cookies) != 1 {
		f.Fatalf("sign in: %d %s", rec.Code, rec.Body)
	}
	paths := []string{"/inbox/session", "/inbox/link", "/inbox/logout", "/inbox/inputs/" + string(in.ID), "/inbox/inputs/" + string(in.ID) + "/reveal"}
	for i := range paths {
		for _, body := range []string{"", "action=accept&hash=" + in.Hash, "action=accept&csrf=", "token=ana-secre", "code=x&next=//evil.example", "from=test%3Aben", "csrf=%ff", "a;b", "%", "action=cancel&csrf=x&csrf=y"} {
			f.Add(i, body, cookies[0].Value, true)
			f.Add(i, body, "x."+cookies[0].Value, false)
		}
	}
	f.Fuzz(func(t *testing.T, i int, body, cookie string, ours bool) {
		r := httptest.NewRequest(http.MethodPost, paths[uint(i)%uint(len(paths))], strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if ours {
			r.Header.Set("Origin", "http://"+r.Host)
		}
		r.AddCookie(&http.Cookie{Name: cookies[0].Name, Value: cookie})
		rec := httptest.NewRecorder()
		w.inbox.ServeHTTP(rec, r)
		if rec.Code >= 500 || rec.Code == http.StatusOK {
			t.Errorf("%s: status %d\n%s", r.URL.Path, rec.Code, rec.Body)
		}
		if len(rec.Result().Cookies()) > 0 {
			t.Errorf("%s: a cookie for %q", r.URL.Path, body)
		}
		if now, err := w.engine.Input(t.Context(), in.ID); err != nil || !now.Pending() || strings.Contains(rec.Body.String(), "hunter2") {
			t.Errorf("%s with %q did something: %d\n%s", r.URL.Path, body, rec.Code, rec.Body)
		}
	})
}
