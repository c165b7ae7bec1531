package channels

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFlowingIsCutWhereNoMarkIsCutApart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, has, want string }{
		{"", "", ""}, {"wor", "", ""}, {"word ", "", "word "}, {"a word or tw", "", "a word or "}, {"a word or two\n", "a word or ", "two\n"},
		{"see [this](https://x.test/a", "", "see "}, {"早上好 http", "早", "上好 "}, {"早上好", "", "早上好"}, {"else", "a word", ""},
		{strings.Repeat("a ", 2000), "", strings.Repeat("a ", 1500)}, {strings.Repeat("é", 2000), "a", ""},
		{"a" + strings.Repeat("é", 2000), "", "a" + strings.Repeat("é", 1499)}, {strings.Repeat("a ", 2000), strings.Repeat("a ", 1500), ""},
	} {
		if got := flowing(tt.text, tt.has); got != tt.want {
			t.Errorf("%.40q after %.20q: %.40q (%d bytes), want %.40q", tt.text, tt.has, got, len(got), tt.want)
		}
	}
}

func FuzzFlowing(f *testing.F) {
	f.Add("see [this](https://x.test) and\n```go", 4)
	f.Add("早上好 http://", 2)
	f.Fuzz(func(t *testing.T, text string, at int) {
		has := ""
		for end := range len(text) + 1 {
			if at > 0 && end%min(at, len(text)+1) != 0 {
				continue
			}
			more := flowing(text[:end], has)
			has += more
			if utf8.ValidString(text) && !utf8.ValidString(has) {
				t.Fatalf("a character is cut apart: %q", has)
			}
		}
		if !strings.HasPrefix(text, has) || len(has) > mostFlowing {
			t.Errorf("%q flowed as %q", text, has)
		}
	})
}
