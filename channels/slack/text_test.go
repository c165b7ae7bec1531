package slack

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/core"
	"parley/parse"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"yes":                  "yes",
		"R&amp;D &lt;beta&gt;": "R&D <beta>",
		"&amp;lt;":             "&lt;",
		"<mailto:ana@example.test|ana@example.test>": "ana@example.test",
		"<mailto:ana@example.test>":                  "ana@example.test",
		"<tel:+3612345|+36 1 2345>":                  "+36 1 2345",
		"<http://example.test|example.test>":         "example.test",
		"<https://example.test/|example.test>":       "example.test",
		"<https://example.test/a?b=1&amp;c=2>":       "https://example.test/a?b=1&c=2",
		"<https://evil.test|yes>":                    "yes (https://evil.test)",
		"see <https://a.test/x|the doc> now":         "see the doc (https://a.test/x) now",
		"<@U1> yes":                                  "@U1 yes",
		"<@U1|cleo> yes":                             "@U1 yes",
		"<#C1|general>":                              "#general",
		"<#C1>":                                      "#C1",
		"<!here> <!channel>":                         "@here @channel",
		"<!subteam^S1|@team> yes":                    "@team yes",
		"<!subteam^S1>":                              "@subteam",
		"<!date^1392734382^{date}|Feb 18>":           "Feb 18",
		"a < b":                                      "a < b",
		"<>":                                         "<>",
		":+1:":                                       ":+1:",
		"~yes~":                                      "~yes~",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

// RP-21: our own mention goes at either end, with the punctuation people put beside it.
func TestMentionsAreStripped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		text  string
		meant bool
	}{
		"<@U0BOT> yes":          {"yes", true},
		"yes <@U0BOT>":          {"yes", true},
		"<@U0BOT>: yes":         {"yes", true},
		"<@U0BOT>, yes":         {"yes", true},
		"<@U0BOT|parley> yes":   {"yes", true},
		"yes, <@U0BOT>!":        {"yes", true},
		"<@U0BOT> <@U0BOT> yes": {"yes", true},
		"is <@U0BOT> there":     {"is <@U0BOT> there", true},
		"<@U0BOT>":              {"", true},
		"<@U0BOTTOM> yes":       {"<@U0BOTTOM> yes", false},
		"<@UCLEO> yes":          {"<@UCLEO> yes", false},
		"yes":                   {"yes", false},
		"<@U0BOT yes":           {"<@U0BOT yes", false},
	} {
		text, meant := stripMention(in, "U0BOT")
		if text != want.text || meant != want.meant {
			t.Errorf("stripMention(%q) = %q, %v; want %q, %v", in, text, meant, want.text, want.meant)
		}
	}
}

// RP-35: what a person types by hand reaches the reader without the platform's markup.
func TestAnswersReadAsTyped(t *testing.T) {
	t.Parallel()
	a := mustNew(t, Config{Name: "work", Agent: "ops", BotToken: "xoxb-1", SigningSecret: "s"})
	label := core.Input{Kind: core.KindQuestion, Questions: []core.Question{{ID: "q", Prompt: "Team?", Options: []core.Option{{Value: "rd", Label: "R&D <beta>"}, {Value: "ops", Label: "Ops"}}}}}
	free := core.Input{Kind: core.KindQuestion, Questions: []core.Question{{ID: "q", Prompt: "Who should get it?", FreeText: true}}}
	approval := core.Input{Kind: core.KindApproval}
	for _, c := range []struct {
		in   core.Input
		text string
		kind core.ReadingKind
	}{
		{label, "R&amp;D &lt;beta&gt;", core.ReadAnswer},
		{free, "<mailto:ana@example.test|ana@example.test>", core.ReadAnswer},
		{approval, ":white_check_mark:", core.ReadAnswer},
		{approval, "<https://evil.test|yes>", core.ReadOther},
		{approval, "<@UCLEO> yes", core.ReadOther},
	} {
		got := parse.Read(parse.Prompt{Input: c.in, Markup: a.Markup()}, plain(c.text))
		if got.Kind != c.kind {
			t.Errorf("%q reads %s, want %s", c.text, got.Kind, c.kind)
		}
	}
	if got := plain("<mailto:ana@example.test|ana@example.test>"); got != "ana@example.test" {
		t.Errorf("the recorded answer is %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"<@U0BOT> yes", "<mailto:a@b|a@b> &amp;lt;", "<<>>", "<!date^|>", "yes <@U0BOT|x>!", "<https://a|b> <"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, meant := stripMention(s, "U0BOT")
		if meant && !strings.Contains(s, "<@U0BOT") {
			t.Errorf("%q mentions nobody", s)
		}
		if out := plain(text); utf8.ValidString(s) && !utf8.ValidString(out) {
			t.Errorf("plain(%q) is not valid", s)
		}
		// Nothing that asks, denies or is no word of consent becomes a bare yes.
		if got := plain(s); got == "yes" && !strings.Contains(s, "yes") {
			t.Errorf("%q became yes", s)
		}
	})
}
