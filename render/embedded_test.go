package render

import (
	"encoding/json"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// shows lists where a text that holds the secret is shown with it.
func shows(t *testing.T, s string) []string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"text": s, "list": []any{s}})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	pretty, _ := Masked(raw, []string{"ssn"})
	data, _ := MaskedJSON(raw, []string{"ssn"})
	for _, shown := range []string{pretty, string(data)} {
		if strings.Contains(shown, "hunter22") {
			out = append(out, shown)
		}
	}
	return out
}

func TestSecretsWithinTexts(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{"password":"hunter22Xy"}`, `{"user":"ana","password":"hunter22Xy"}`, `{ "a" : { "api_key" : "hunter22Xy" } }`,
		`[{"token":"hunter22Xy"}]`, `"{\"password\":\"hunter22Xy\"}"`, `{"db":"{\"password\":\"hunter22Xy\"}"}`,
		`{"password":"with \"quotes\" hunter22Xy"}`, `{"password":"ends in \\","secret":"hunter22Xy"}`, `{"password":"a$(b); hunter22Xy"}`,
		`{"secrets":{"a":"hunter22Xy","b":["hunter22Xy"]}}`, `{"ssn":"hunter22Xy"}`, `{"headers":{"Authorization":"Bearer hunter22Xy"}}`,
		`{"headers":[{"name":"X-Api-Key","value":"hunter22Xy"}]}`, `{"headers":[{"value":"hunter22Xy","name":"Cookie"}]}`, `[["Authorization","hunter22Xy"]]`,
		`{'password': 'hunter22Xy'}`, `data: {"password":"hunter22Xy"} end`, `"password": "hunter22Xy"`, `{"password":"hunter22Xy`, `{\"password\": \"hunter22Xy\"}`,
		`{\n  \"password\":\n  \"hunter22Xy\"\n}`, `curl -d '{"password":"hunter22Xy"}' https://example.com`, `curl -d "{\"password\":\"hunter22Xy\"}" https://example.com`,
		`password=hunter22Xy`, `user=ana&password=hunter22Xy&x=1`, `user%5Bpassword%5D=hunter22Xy&x=1`, `https://example.com/?access_token=hunter22Xy#x`, `https://example.com/?accessToken=hunter22Xy`,
		`payload=%7B%22password%22%3A%22hunter22Xy%22%7D`, `payload=%7b%22password%22%3a%22hunter22Xy%22%7d`, `q=%257B%2522password%2522%253A%2522hunter22Xy%2522%257D`,
		`{&quot;password&quot;:&quot;hunter22Xy&quot;}`, `{\u0022password\u0022:\u0022hunter22Xy\u0022}`,
		"Authorization: Bearer hunter22Xy", "Authorization: Basic hunter22Xy==", "authorization: hunter22Xy", "GET / HTTP/1.1\r\nAuthorization: Bearer hunter22Xy\r\nHost: x",
		"Proxy-Authorization: Basic hunter22Xy", "X-Api-Key: hunter22Xy", "Cookie: a=b; sid=hunter22Xy", "Set-Cookie: sid=hunter22Xy; Path=/", "Authorization%3A%20Bearer%20hunter22Xy",
		"Authorization: AWS4-HMAC-SHA256 Credential=AKIA/x, SignedHeaders=host, Signature=hunter22Xy",
		"PGPASSWORD=hunter22Xy psql", "export DB_PASSWORD='hunter22Xy'", "login --password hunter22Xy --user ana", "login --api-key=hunter22Xy", "curl -u ana:hunter22Xy https://example.com", "curl -s --user ana:hunter22Xy x",
		"https://ana:hunter22Xy@example.com", "the token: hunter22Xy", "client_secret=hunter22Xy",
	} {
		for _, shown := range shows(t, s) {
			t.Errorf("%s is shown as\n%s", s, shown)
		}
	}
}

// TestSecretsBelowLayers wraps an object with a secret in text after text.
func TestSecretsBelowLayers(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	text := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	wraps := []func(string) string{
		func(s string) string { return `{"body":` + text(s) + `,"n":1}` },
		func(s string) string { return `["x",` + text(s) + `]` },
		func(s string) string { return text("log: " + s + " (end)") },
		func(s string) string { return "a=1&payload=" + url.QueryEscape(s) + "&b=2" },
		html.EscapeString,
	}
	for range 200 {
		s := []string{`{"user":"ana","password":"hunter22Xy"}`, `{"h":[{"name":"Authorization","value":"hunter22Xy"}]}`, `{"credentials":{"a":["hunter22Xy"]}}`}[rnd.IntN(3)]
		encoded := 0 // layers of other kinds than JSON's
		for range rnd.IntN(4) {
			k := rnd.IntN(len(wraps))
			if k > 2 {
				encoded++
			}
			if encoded > 2 && k > 2 {
				continue
			}
			s = wraps[k](s)
		}
		for _, shown := range shows(t, s) {
			t.Fatalf("%s is shown as\n%s", s, shown)
		}
	}
}

// TestTextsAreNotHidden: what is no secret is shown, above all what could run.
func TestTextsAreNotHidden(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{"name":"ana","note":"the password is in the vault"}`, `{"password":null,"secret":true}`, `{"max_tokens":100,"token_count":5}`, `{"author":"ana","key":"value"}`,
		`curl -d '{"password":"$(rm -rf /)"}' x`, "curl -d \"{\\\"password\\\":\\\"`id`\\\"}\" x", `echo {"token":"a; reboot"}`, `{"name":"city","value":"Rome"}`, `["name","Ana"]`,
		`tests: pass=12, fail=3`, `token=true`, `if password == nil`, `--verbose --token --force`, `rm -rf / --password-file x`, `SELECT secret FROM t WHERE a=1`,
		`it's "quoted": 'so' it's`, `"a":"b":"c"`, `100% & more`, `%zz%4`, `\\\"`, `"`, `'`, `{"`, `\`, `"password"`, `"password":`, `"password":\`, `["password",`,
	} {
		raw, _ := json.Marshal(s)
		if got, n := Masked(raw, nil); n != 0 || got != quoteJSON(s) {
			t.Errorf("%s is shown as %s", s, got)
		}
	}
}

func FuzzSecretSpans(f *testing.F) {
	for _, s := range []string{`{"password":"x"}`, `{\"password\":\"x\"}`, `a=1&token=%22x`, `[["cookie","x"]]`, `&quot;pin&quot;:1`, "Authorization: Bearer x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, sp := range secretSpans(s, []string{"ssn"}) {
			if sp[0] < at || sp[1] <= sp[0] || sp[1] > len(s) {
				t.Fatalf("%q: span %v after byte %d", s, sp, at)
			}
			at = sp[1]
		}
		if strings.ContainsAny(s, "\"\\%&'") || !json.Valid([]byte(`"`+s+`"`)) {
			return
		}
		object, _ := json.Marshal(map[string]string{"password": "#" + s + "#"})
		within, _ := json.Marshal(string(object))
		if got, _ := Masked(within, nil); len(s) > 3 && strings.Contains(got, "#"+s+"#") {
			t.Fatalf("%q is shown: %s", s, got)
		}
	})
}
