package render

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"parley/core/coretest"
)

// split deals out one text and gives back its chunks.
func split(style Style, limit int, kind blockKind, s string) (chunks []string, parts []Part) {
	p := newPacking(Dialect{Style: style, Limit: limit})
	for _, blocks := range p.pack([]block{{kind: kind, text: s}}, nil) {
		for _, b := range blocks {
			chunks = append(chunks, b.text)
		}
		if len(blocks) > 0 {
			parts = append(parts, draw(style, blocks))
		}
	}
	return chunks, parts
}

// rejoined reports whether chunks are s, cut within lines or at line feeds, which are then left out.
func rejoined(s string, chunks []string, keeps bool) bool {
	for i, c := range chunks {
		if !keeps && i > 0 && strings.HasPrefix(s, "\n") && !strings.HasPrefix(c, "\n") {
			s = s[1:]
		}
		rest, ok := strings.CutPrefix(s, c)
		if !ok && !keeps && i > 0 {
			rest, ok = strings.CutPrefix(strings.TrimPrefix(s, "\n"), c)
		}
		if !ok {
			return false
		}
		s = rest
	}
	return strings.Trim(s, "\n") == ""
}

func TestSplitWhere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		kind       blockKind
		want       []string
	}{
		{"paragraph", strings.Repeat("a", 300) + "\n\n" + strings.Repeat("b", 150) + "\nc " + strings.Repeat("d", 100), prose,
			[]string{strings.Repeat("a", 300) + "\n\n", strings.Repeat("b", 150) + "\nc " + strings.Repeat("d", 100)}},
		{"line", strings.Repeat("a", 300) + "\n" + strings.Repeat("b", 300), prose, []string{strings.Repeat("a", 300) + "\n", strings.Repeat("b", 300)}},
		{"line of code", strings.Repeat("a", 300) + "\n" + strings.Repeat("b", 300), pre, []string{strings.Repeat("a", 300), strings.Repeat("b", 300)}},
		{"space", strings.Repeat("a", 300) + " " + strings.Repeat("b", 300), prose, []string{strings.Repeat("a", 300), " " + strings.Repeat("b", 300)}},
		{"hard", strings.Repeat("a", 700), prose, []string{strings.Repeat("a", 499), strings.Repeat("a", 201)}},
		{"grapheme", strings.Repeat("a", 496) + "👨‍👩‍👧‍👦" + "b", prose, []string{strings.Repeat("a", 496), "👨‍👩‍👧‍👦b"}},
		{"surrogates", strings.Repeat("a", 498) + "😀b", prose, []string{strings.Repeat("a", 498), "😀b"}},
		{"flag", strings.Repeat("a", 497) + "🇩🇪b", prose, []string{strings.Repeat("a", 497), "🇩🇪b"}},
		{"escape", strings.Repeat("a", 495) + `\u{202E}b`, prose, []string{strings.Repeat("a", 495), `\u{202E}b`}},
		{"backslash", strings.Repeat("a", 498) + `\"b`, prose, []string{strings.Repeat("a", 498), `\"b`}},
	}
	for _, tt := range tests {
		got, parts := split(Plain, 500, tt.kind, tt.text)
		if strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%s: got %q", tt.name, got)
		}
		for _, p := range parts {
			if units(p.Text) > 500 {
				t.Errorf("%s: %d units", tt.name, units(p.Text))
			}
		}
	}
}

func TestEscapesCountBeforeSplitting(t *testing.T) {
	t.Parallel()
	chunks, parts := split(Mrkdwn, 500, prose, strings.Repeat("&", 600))
	if len(parts) != 7 || strings.Join(chunks, "") != strings.Repeat("&", 600) {
		t.Fatalf("%d parts", len(parts))
	}
	for _, p := range parts {
		if units(p.Text) > 500 || strings.ReplaceAll(p.Text, "&amp;", "") != "" {
			t.Errorf("an entity is cut: %d units, %q", units(p.Text), p.Text)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range injections(f) {
		f.Add(s, uint16(500))
	}
	f.Fuzz(func(t *testing.T, raw string, limit uint16) {
		s := visible(raw)
		n := 500 + int(limit)%3600
		for style := Plain; style <= Markdown; style++ {
			for _, kind := range []blockKind{prose, pre, quote} {
				chunks, parts := split(style, n, kind, s)
				if !rejoined(s, chunks, kind == prose) {
					t.Fatalf("style %d, kind %d: %q became %q", style, kind, s, chunks)
				}
				for _, p := range parts {
					if units(p.Text) > n || units(p.Plain) > n || !utf8.ValidString(p.Text) {
						t.Fatalf("style %d, kind %d: %d units of %d", style, kind, units(p.Text), n)
					}
				}
				if kind == prose {
					wholeGraphemes(t, s, chunks)
				}
			}
		}
	})
}

// wholeGraphemes checks that no cut is within a grapheme of ordinary length.
func wholeGraphemes(t *testing.T, s string, chunks []string) {
	bounds, at := map[int]bool{0: true}, 0
	for g := graphemes.FromString(s); g.Next(); {
		if len(g.Value()) > 400 {
			return
		}
		at += len(g.Value())
		bounds[at] = true
	}
	at = 0
	for _, c := range chunks {
		if at += len(c); !bounds[at] {
			t.Fatalf("a grapheme is cut at %d of %q", at, s)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range injections(f) {
		f.Add(s)
	}
	f.Add("000\n**-**")
	f.Fuzz(func(t *testing.T, raw string) {
		for _, d := range TestDialects() {
			for _, p := range Reply(view(d), raw) {
				if bad := live(d, withoutReplyMarks(d, p)); bad != "" {
					t.Fatalf("%s: %s in %q", d.Name, bad, p.Text)
				}
			}
			args, _ := json.Marshal(raw)
			in := coretest.Input("approval")
			in.Message, in.Arguments, in.Tool = raw, args, raw
			for _, p := range Prompt(view(d), in) {
				if bad := live(d, p); bad != "" {
					t.Fatalf("%s: %s in %q", d.Name, bad, p.Text)
				}
			}
		}
		s := visible(raw)
		if unseen.MatchString(s) {
			t.Fatalf("hidden characters in %q", s)
		}
		if again := visible(s); again != s {
			t.Fatalf("%q becomes %q the second time", s, again)
		}
		for style := Plain; style <= Markdown; style++ {
			for _, l := range strings.Split(s, "\n") {
				if got, most := units(escape(style, l, true)), textCosts[style].of(l); got > most {
					t.Fatalf("style %d: %q takes %d, not %d", style, l, got, most)
				}
				if got, most := units(literal(style, l)), literalCosts[style].of(l); got > most {
					t.Fatalf("style %d, literal: %q takes %d, not %d", style, l, got, most)
				}
			}
		}
	})
}

func BenchmarkArguments50kB(b *testing.B) {
	var members []string
	for range 700 {
		members = append(members, `{"path":"src/main.go","line":12,"text":"func add(a, b int) int { return a + b }"}`)
	}
	in := coretest.Input("approval")
	in.Arguments = json.RawMessage(`{"edits":[` + strings.Join(members, ",") + `]}`)
	for _, d := range TestDialects() {
		d.Files = false
		b.Run(d.Name, func(b *testing.B) {
			b.SetBytes(int64(len(in.Arguments)))
			for b.Loop() {
				Prompt(view(d), in)
			}
		})
	}
}
