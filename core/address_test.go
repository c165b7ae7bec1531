package core

import "testing"

// TestSplitCodesKeepsControlCharacters: what stands behind a code is read with all that was typed.
func TestSplitCodesKeepsControlCharacters(t *testing.T) {
	t.Parallel()
	pending := []Input{{ID: "a", Code: "K1"}}
	for text, want := range map[string]string{
		"K1 \vyes": "\vyes", "K1 yes\f": "yes\f", " K1  yes\u0085": "yes\u0085", "K1 \x00yes": "\x00yes", "\tK1 \u00a0yes\r\n": "yes",
	} {
		if ids, rest, _ := SplitCodes(pending, text); len(ids) != 1 || rest != want {
			t.Errorf("%q: %d codes, then %q, want %q", text, len(ids), rest, want)
		}
	}
	if ids, _, _ := SplitCodes(pending, "\vK1 yes"); len(ids) != 0 {
		t.Error("a code behind a control character addresses")
	}
}
