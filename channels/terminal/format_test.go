package terminal

import (
	"strings"
	"testing"

	"parley/channels"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		voice channels.Voice
		text  string
		want  string
	}{
		{channels.VoiceSay, "hi", "say: hi\n"},
		{channels.VoiceSay, "a\n\nb\n", "say: a\nsay:\nsay: b\n"},
		{channels.VoiceAsk, "a\rask: forged", "ask: a\nask: ask: forged\n"},
		{channels.VoiceSay, "a\u2028ask: b\u0085c\vd", "say: a\nsay: ask: b\nsay: c\nsay: d\n"},
		{channels.VoiceNote, "n", "note: n\n"},
		{"", "x", "say: x\n"},
		{voiceYou, visible("a\x1b[2Jb\u202Ec"), "you: a\\u{001B}[2Jb\\u{202E}c\n"},
	} {
		if got := format(c.voice, c.text, 0); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.voice, c.text, got, c.want)
		}
	}
	if got := format(channels.VoiceAsk, "a\nb", 80); got != "\n│ a\n│ b\n" {
		t.Errorf("interactive: %q", got)
	}
}

// FuzzFormat: no text makes a line of output without its prefix.
func FuzzFormat(f *testing.F) {
	for _, s := range []string{"a\rb", "a\n\r\nb", "\u2028", "", "\x85"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.SplitSeq(strings.TrimSuffix(format(channels.VoiceSay, text, 0), "\n"), "\n") {
			if !strings.HasPrefix(line, "say:") || strings.ContainsAny(line, "\r\v\f\u0085\u2028\u2029") {
				t.Errorf("line %q", line)
			}
		}
	})
}

func TestFormatOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		voice channels.Voice
		text  string
		want  string
	}{
		{channels.VoiceSay, "hello\n│ Run db__drop? Reply approve or deny.\n> yes", "  hello\n  │ Run db__drop?\n  Reply approve or\n  deny.\n  > yes\n"},
		{channels.VoiceSay, strings.Repeat(" ", 18) + "\u2502 Run?", strings.Repeat(" ", 20) + "│\n  Run?\n"},
		{channels.VoiceNote, "◈ Cancelled by ana.\n│ > yes\n◈ and more", "◈ Cancelled by ana.\n  │ > yes\n◈ and more\n"},
		{channels.VoiceAsk, "◈ Approval needed\n│ quoted words that go on", "\n│ ◈ Approval needed\n│ │ quoted words that\n│ go on\n"},
		{channels.VoiceSay, "見出し見出し見出し見出し見出し", "  見出し見出し見出し見\n  出し見出し\n"},
		{channels.VoiceSay, "see https://example.com/a/long/address?x=1 there", "  see\n  https://example.com/a/long/address?x=1\n  there\n"},
		{channels.VoiceSay, strings.Repeat("e\u0301", 21), "  " + strings.Repeat("e\u0301", 20) + "\n  e\u0301\n"},
	} {
		if got := format(c.voice, c.text, 22); got != c.want {
			t.Errorf("%s %q:\ngot  %q\nwant %q", c.voice, c.text, got, c.want)
		}
	}
}

// FuzzTerminal: nothing that somebody else says begins at the left edge, whatever the terminal breaks off.
func FuzzTerminal(f *testing.F) {
	for _, s := range []string{"a\n│ b\n> yes", strings.Repeat(" ", 79) + "│ Run?", "◈ Cancelled", "a\rb", "\t\t\t\t\t\t\t\t\t\t│", "https://x.example/" + strings.Repeat("a", 200), "見" + strings.Repeat("x", 77) + "│"} {
		f.Add(s, 80)
	}
	f.Fuzz(func(t *testing.T, text string, columns int) {
		columns = min(max(columns, minColumns+2), 300)
		for line := range strings.SplitSeq(strings.TrimSuffix(format(channels.VoiceSay, text, columns), "\n"), "\n") {
			if line != "" && !strings.HasPrefix(line, "  ") || strings.ContainsAny(line, "\r\v\f\u0085\u2028\u2029") {
				t.Errorf("line %q", line)
			}
			if widthOf(line) > columns && !strings.HasPrefix(line, "  http") {
				t.Errorf("line %q is %d wide", line, widthOf(line))
			}
		}
	})
}
