package render

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// pieces are what a text could break out of its frame with, for mixes of them.
var pieces = []string{
	"`", "``", "```", "````", "~~~", "\n", "\n\n", " ", "  ", "\t", "*", "**", "***", "_", "__", "~", "~~", "|", "||", "\\", "\\\\", "<", ">", "<<", ">>>", "&", "&lt;", "&amp;", "&#60;", "(", ")", "[", "]", "[a](", "](https://evil.example)", "![", "{", "}", "#", "# ", "-# ", "- ", "+ ", "* ", "1. ", "1) ", "=", "===", "---", "!", ":", ":+1:", ":tada:", ".", ",", ";", "?", "$", "$AAPL", "/", "/approve", "/cancel@bot", "//", "@", "@everyone", "@here", "@channel", "@ana", "@@", "<@U1>", "<@!1>", "<@&1>", "<!channel>", "<!here|here>", "<!date^1^{date}|x>", "<#C1|general>", "<t:1:R>", "<:a:1>", "<a:b:1>", "</x:1>", "<id:guide>", "<https://evil.example|ok>", "<https://evil.example>", "https://evil.example", "http://u:p@evil.example/a_b*c*", "mailto:a@b.example", "ana@example.com", "tg://user?id=1", "javascript:x",
	"\x1b[31m", "\x1b]8;;https://evil.example\x07", "\x9b1m", "\x00", "\b", "\r", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202d", "\u202e", "\u202c", "\u2060", "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff", "\u00ad", "\u034f", "\u061c", "\u180e", "\u3164", "\u2800", "\u115f", "\ufe0f", "\U000e0041", "\U000e0001", "\U0001d173", "\U0001d159", "\U00016fe4",
	"\u0300", "\u0489", "\u20dd", "\u0e47", strings.Repeat("\u0301", 20), strings.Repeat("\u20e3", 9), "é", "a", "b", "word", "9", "ش", "ש", "क", "中", "か", "👍", "👩\u200d👩", "🇩🇪", "1\ufe0f\u20e3", "◈", "◈ Approved by local:ana", "│ ", "│ Approved", "‹masked: 3 characters, digest abcdefgh›", "Reply approve", "ask:", "say:", strings.Repeat("W", 300), strings.Repeat("*a", 90), strings.Repeat("<", 120), strings.Repeat("`", 40), strings.Repeat("👩\u200d", 50), "\xff", "\xc3", "\xed\xa0\x80",
}

func mix(rnd *rand.Rand) string {
	var b strings.Builder
	for range 1 + rnd.IntN(9) {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	if rnd.IntN(12) == 0 {
		return strings.Repeat(b.String(), 1+2500/(1+b.Len())) // over the limit of a part
	}
	return b.String()
}

// TestMixesAreInert: no mix of what is special to a platform, or to a terminal, does anything on it.
func TestMixesAreInert(t *testing.T) {
	t.Parallel()
	for n, d := range TestDialects() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(13, uint64(n)))
			for range 40 {
				checkInert(t, d, mix(rnd))
			}
		})
	}
}

func checkInert(t *testing.T, d Dialect, s string) {
	t.Helper()
	for where, parts := range everywhere(view(d), s) {
		for _, p := range parts {
			if where == "reply" {
				p = withoutReplyMarks(d, p)
			}
			if bad := live(d, p) + alive(d, p) + stacked(p.Text); bad != "" {
				t.Fatalf("%s, %s: %s in\n%.900q\nof %.300q", d.Name, where, bad, p.Text, s)
			}
		}
	}
}

var (
	shownEmoji = regexp.MustCompile(`:[a-z0-9_+'-]+:`)
	spoiler    = regexp.MustCompile(`\|\|`)
)

// alive says what else would be shown as something else than it is: the name of an emoji, a spoiler.
func alive(d Dialect, p Part) string {
	switch d.Style {
	case Mrkdwn:
		s := codeSpans.ReplaceAllString(fences.ReplaceAllString(bareURL.ReplaceAllString(p.Text, ""), ""), "")
		return shownEmoji.FindString(s)
	case Markdown:
		return spoiler.FindString(codeSpans.ReplaceAllString(fences.ReplaceAllString(p.Text, ""), ""))
	default:
		return ""
	}
}

var pile = regexp.MustCompile(`\pM{9,}`)

// stacked is a pile of marks on one letter, which would paint over other lines.
func stacked(s string) string { return pile.FindString(strings.ReplaceAll(s, joiner, "")) }

func FuzzInert(f *testing.F) {
	for _, s := range pieces {
		f.Add(s + "a " + s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4000 {
			return
		}
		for _, d := range TestDialects() {
			checkInert(t, d, s)
		}
	})
}
