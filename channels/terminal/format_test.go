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
		if got := format(c.voice, c.text, false); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.voice, c.text, got, c.want)
		}
	}
	if got := format(channels.VoiceAsk, "a\nb", true); got != "\n│ a\n│ b\n" {
		t.Errorf("interactive: %q", got)
	}
}

// FuzzFormat: no text makes a line of output without its prefix.
func FuzzFormat(f *testing.F) {
	for _, s := range []string{"a\rb", "a\n\r\nb", "\u2028", "", "\x85"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.SplitSeq(strings.TrimSuffix(format(channels.VoiceSay, text, false), "\n"), "\n") {
			if !strings.HasPrefix(line, "say:") || strings.ContainsAny(line, "\r\v\f\u0085\u2028\u2029") {
				t.Errorf("line %q", line)
			}
		}
	})
}
