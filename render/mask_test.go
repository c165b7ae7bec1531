package render

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/core"
)

func TestMasked(t *testing.T) {
	t.Parallel()
	m := maskOf
	tests := []struct {
		name, raw, want string
		n               int
	}{
		{"order, doubles and numbers", `{"b":1.50,"a":1e3,"a":-0,"big":12345678901234567890}`,
			"{\n  \"b\": 1.50,\n  \"a\": 1e3,\n  \"a\": -0,\n  \"big\": 12345678901234567890\n}", 0},
		{"empty", `{"a":{},"b":[],"c":""}`, "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": \"\"\n}", 0},
		{"scalar", `true`, "true", 0},
		{"escapes", `"\u003cb\u003e \ud83d\ude00 \n \\ \/ \" \ud800 \u202e"`, `"<b> 😀 \n \\ / \" \xED\xA0\x80 \u{202E}"`, 0},
		{"no JSON", "a\nReply yes", `a\nReply yes`, 0},
		{"nested under a secret", `{"credentials":{"user":"u","n":[1,null]}}`,
			"{\n  \"credentials\": {\n    \"user\": " + m("u") + ",\n    \"n\": [\n      " + m("1") + ",\n      null\n    ]\n  }\n}", 2},
		{"pair", `["Authorization","abc"]`, "[\n  \"Authorization\",\n  " + m("abc") + "\n]", 1},
		{"tokens are counted", `{"max_tokens":100,"tokens":5,"token":7}`, "{\n  \"max_tokens\": 100,\n  \"tokens\": 5,\n  \"token\": " + m("7") + "\n}", 1},
		{"flags show", `{"pin":true,"secrets":[false]}`, "{\n  \"pin\": true,\n  \"secrets\": [\n    false\n  ]\n}", 0},
		{"within a command", `"curl -H 'Authorization: Bearer abc123def' https://u:p@h/x?token=zzz; rm -rf /"`,
			`"curl -H 'Authorization: Bearer "` + m("abc123def") + `"' https://"` + m("u:p") + `"@h/x?token="` + m("zzz") + `"; rm -rf /"`, 3},
		{"a mask hides no command", `"x --token=$(rm -rf /) password=a;reboot"`, `"x --token=$(rm -rf /) password=a;reboot"`, 0},
	}
	for _, tt := range tests {
		got, n := Masked(json.RawMessage(tt.raw), nil)
		if got != tt.want || n != tt.n {
			t.Errorf("%s: %d masked\n got %s\nwant %s", tt.name, n, got, tt.want)
		}
	}
}

func TestMaskSaysLengthAndDigest(t *testing.T) {
	t.Parallel()
	got, _ := Masked(json.RawMessage(`{"password":"grün 😀"}`), nil)
	if want := "‹masked: 6 characters, digest " + core.Digest("grün 😀")[:8] + "›"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSecretNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"password": true, "userPassword": true, "PASSWD": true, "db_pwd": true, "dbpwd": true, "client-secret": true, "accessToken": true,
		"X-Api-Key": true, "APIKey": true, "apikey": true, "privateKey": true, "Authorization": true, "Set-Cookie": true, "aws_credentials": true,
		"name": false, "secretary": false, "tokenize": false, "path": false, "cwd": false, "key": false, "passage": false, "": false,
		"SSN": true, "user_ssn": true, "ssnitch": false,
	} {
		if got := secretName(name, []string{"ssn"}); got != want {
			t.Errorf("secretName(%q) = %v", name, got)
		}
	}
}

// Every byte of the arguments outside of masks is in what is shown.
func TestMaskedIsComplete(t *testing.T) {
	t.Parallel()
	for _, s := range injections(t) {
		if strings.ContainsAny(s, "=‹") || !utf8.ValidString(s) {
			continue // may hold what looks like a secret
		}
		raw, _ := json.Marshal(map[string]any{"a": s, "b": []any{s, 1, nil}})
		got, n := Masked(raw, nil)
		want := quoteJSON(s)
		if n != 0 || strings.Count(got, want) != 2 {
			t.Errorf("%q is shown as %s", s, got)
		}
	}
}
