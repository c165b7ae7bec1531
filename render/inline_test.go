package render

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// replied is a reply as one part, with joiners shown.
func replied(t *testing.T, style Style, s string) string {
	t.Helper()
	parts := Reply(View{Dialect: Dialect{Style: style}}, s)
	if len(parts) != 1 {
		t.Fatalf("%q has %d parts", s, len(parts))
	}
	out := shownMarks.Replace(parts[0].Text)
	for _, sp := range parts[0].Spans {
		out += fmt.Sprintf(" [%s %d+%d]", sp.Kind, sp.Start, sp.Length)
	}
	return out
}

func TestRepliesShowWhatCannotDeceive(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, entities, mrkdwn, markdown string }{
		{"a **bold** word", "a bold word [bold 2+4]", "a *bold* word", "a **bold** word"},
		{"use `x_y` now", "use x_y now [code 4+3]", "use `x_y` now", "use `x_y` now"},
		{"**b** and `c`", "b and c [bold 0+1] [code 6+1]", "*b* and `c`", "**b** and `c`"},
		{"**use `x` now**", "use x now [code 4+1]", "use `x` now", "use `x` now"},
		{"- one\n  * two\n+ **three**", "• one\n  • two\n• three [bold 16+5]", "• one\n  • two\n• *three*", "• one\n  • two\n• **three**"},
		{"## Results", "Results [bold 0+7]", "*Results*", "**Results**"},
		{"see [the docs](https://example.com/a_b#c)!", "see the docs (https://example.com/a_b#c)!",
			"see the docs (<https://example.com/a_b#c>)!", `see the docs \(<https://example.com/a_b#c>\)\!`},
		{"[https://good.example](https://evil.example)", "https://good.example (https://evil.example)",
			"https://good.example (<https://evil.example>)", `https://good.example \(<https://evil.example>\)`},
		{"[https://a.example](https://a.example)", "https://a.example", "<https://a.example>", "<https://a.example>"},
		{"https://a.example/x_y, yes", "https://a.example/x_y, yes", "<https://a.example/x_y>, yes", "<https://a.example/x_y>, yes"},
		{"<https://a.example>", "https://a.example", "<https://a.example>", "<https://a.example>"},
		// What is no such mark, or would not be taken for one, stays as it was written.
		{"2 ** 3 ** 4", "2 ** 3 ** 4", "2 ⁀*⁀⁀*⁀ 3 ⁀*⁀⁀*⁀ 4", `2 \*\* 3 \*\* 4`},
		{"***x***", "***x***", "⁀*⁀⁀*⁀⁀*⁀x⁀*⁀⁀*⁀⁀*⁀", `\*\*\*x\*\*\*`},
		{"a**b**c", "abc [bold 1+1]", "a⁀*⁀⁀*⁀b⁀*⁀⁀*⁀c", "a**b**c"},
		{"**open", "**open", "⁀*⁀⁀*⁀open", `\*\*open`},
		{"`` a ` b ``", "`` a ` b ``", "⁀`⁀⁀`⁀ a ⁀`⁀ b ⁀`⁀⁀`⁀", "\\`\\` a \\` b \\`\\`"},
		{"[x](javascript:alert(1))", "[x](javascript:alert(1))", "[x](javascript:alert(1))", `\[x\]\(javascript:alert\(1\)\)`},
		{"[x](https://a.example@evil.example)", "[x](https://a.example@⁀evil.example)", "[x](https://a.example@evil.example)",
			`\[x\]\(https://a.example@⁀evil.example\)`},
		{"https://ex\u0430mple.com", "https://ex\u0430mple.com", "https://ex\u0430mple.com", "https://ex\u0430mple.com"},
		{"@**everyone** <!**channel**>", "@⁀everyone <⁀!channel> [bold 2+8] [bold 14+7]", "@⁀*⁀⁀*⁀everyone⁀*⁀⁀*⁀ &lt;!⁀*⁀⁀*⁀channel⁀*⁀⁀*⁀&gt;",
			`@⁀**everyone** \<⁀\!**channel**\>`},
	}
	for _, tt := range tests {
		for style, want := range map[Style]string{Plain: tt.in, Entities: tt.entities, Mrkdwn: tt.mrkdwn, Markdown: tt.markdown} {
			if got := replied(t, style, tt.in); got != want {
				t.Errorf("style %d, %q:\n got %s\nwant %s", style, tt.in, got, want)
			}
		}
	}
}

func BenchmarkReplyOfMarks50kB(b *testing.B) {
	for _, one := range []string{"http://", "[x](", "`a`` ", "**a ", "word **bold** `code` "} {
		s := strings.Repeat(one, 50000/len(one)) + "@"
		b.Run(strings.TrimSpace(one), func(b *testing.B) {
			for b.Loop() {
				inline(Markdown, s)
			}
		})
	}
}

// Prompts are no replies: their text is shown literally.
func TestOnlyRepliesAreMarkedUp(t *testing.T) {
	t.Parallel()
	for _, d := range TestDialects()[1:] {
		parts := draw(d.Style, []block{quoted("**b** `c` [t](https://a.example)")})
		if plain := strings.ReplaceAll(parts.Plain, joiner, ""); !strings.HasSuffix(plain, "**b** `c` [t](https://a.example)") || len(parts.Spans) > 0 {
			t.Errorf("%s: %q, %v", d.Name, parts.Text, parts.Spans)
		}
	}
}

// Nothing that is written is lost but the marks themselves, and what is drawn never takes more than was reckoned.
func FuzzInline(f *testing.F) {
	for _, s := range injections(f) {
		f.Add(s)
	}
	for _, s := range []string{"**a** `b` [c](https://d.example/e_f) https://g.example.", "- **x**: `y`", "# h", "**`a` https://b.c**", "[](https://a.b)", "# *00000", "#  \u3000x\u3000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, l := range strings.Split(strings.ReplaceAll(visible(raw), mark, markShown), "\n") {
			for style := Entities; style <= Markdown; style++ {
				d := &drawing{style: style}
				d.reply(l)
				p := Part{Text: d.text.String(), Plain: d.plain.String(), Spans: d.spans}
				if got, most := units(p.Text), textCosts[style].of(l); got > most || units(p.Plain) > most {
					t.Fatalf("style %d: %q takes %d and %d, not %d", style, l, got, units(p.Plain), most)
				}
				if !utf8.ValidString(p.Text) || letters(p.Plain) != letters(l) && !strings.Contains(l, "](") {
					t.Fatalf("style %d: %q becomes %q", style, l, p.Plain)
				}
			}
		}
	})
}

// letters are the characters of s that are no mark.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("*`[]()!#-+•<>"+joiner, r) || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
