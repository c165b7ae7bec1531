package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/render"
)

func TestForAPage(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"a":1,"password":"hunter2","note":"Bearer abcdef123","b":{"token":["x\u202ey"]}}`)
	want := "{\n  \"a\": 1,\n  \"password\": \"hunter2\",\n  \"note\": \"Bearer abcdef123\",\n  \"b\": {\n    \"token\": [\n      \"x\\u{202E}y\"\n    ]\n  }\n}"
	if got := render.Clear(raw); got != want {
		t.Errorf("clear:\n%s\nwant\n%s", got, want)
	}
	if got := render.Clear(json.RawMessage("no JSON, Bearer abcdef123\n")); got != `no JSON, Bearer abcdef123\n` {
		t.Errorf("no JSON: %q", got)
	}
	if got := render.Hidden("a\r\nBearer abcdef123\u200b"); !strings.HasPrefix(got, "a\nBearer ‹masked: 9 ") || !strings.HasSuffix(got, `\u{200B}`) {
		t.Errorf("hidden: %q", got)
	}
	if got := render.Visible("Bearer abcdef123\u200b"); got != `Bearer abcdef123\u{200B}` {
		t.Errorf("visible: %q", got)
	}
	if shown, masked := render.Address("https://ana:hunter2@x.example/\u202e"); !masked || strings.Contains(shown, "hunter2") || !strings.Contains(shown, `\u{202E}`) {
		t.Errorf("address: %q %v", shown, masked)
	}
	if name, ascii := render.Site("https://ex\u0430mple.com/"); name != ascii || !strings.HasPrefix(name, "xn--") {
		t.Errorf("site: %q %q", name, ascii)
	}
}
