package render

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestMaskedJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ raw, want string }{
		{`{"name":"staging","password":"hunter22"}`, "/password"},
		{`{"headers":[{"name":"Authorization","value":"x"}],"n":1e3}`, "/headers/0/value"},
		{`{"a/b":{"api_key":12345678}}`, "/a~1b/api_key"},
		{`{"url":"https://u:pw@example.com/x"}`, "/url"},
		{`{"api_key":true,"token_count":3}`, ""},
		{`{"ssn":"078-05-1120"}`, "/ssn"},
		{`[]`, ""},
		{`Bearer abcdefgh no json`, ""},
	}
	for _, tt := range tests {
		shown, masked := MaskedJSON(json.RawMessage(tt.raw), []string{"ssn"})
		if !json.Valid(shown) {
			t.Errorf("%s: %s is no JSON", tt.raw, shown)
		}
		if tt.want != "" && !slices.Equal(masked, []string{tt.want}) {
			t.Errorf("%s: masked %q, want %q", tt.raw, masked, tt.want)
		}
		for _, secret := range []string{"hunter22", "12345678", "u:pw", "078-05-1120", "abcdefgh"} {
			if strings.Contains(string(shown), secret) {
				t.Errorf("%s: shows %s", tt.raw, shown)
			}
		}
	}
	if shown, _ := MaskedJSON(json.RawMessage(`{"n":1e3,"n":2,"x":"<b>"}`), nil); string(shown) != `{"n":1e3,"n":2,"x":"\u003cb\u003e"}` {
		t.Errorf("got %s", shown)
	}
}
