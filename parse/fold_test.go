package parse

import (
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// TestInertRunesAreNormal: what is not normalized needs none, before and after lower case, whatever stands beside it.
func TestInertRunesAreNormal(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x10000; r++ {
		if !inert(r) {
			continue
		}
		for _, s := range []string{string(r), "a" + string(r), string(unicode.ToLower(r)) + "a"} {
			if !norm.NFKC.IsNormalString(s) {
				t.Fatalf("%U is not inert in %q", r, s)
			}
		}
		if p := norm.NFKC.PropertiesString(string(r)); p.CCC() != 0 {
			t.Fatalf("%U is a mark", r)
		}
	}
}
