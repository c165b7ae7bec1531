package parse

import (
	"slices"
	"strings"
	"testing"

	"parley/core"
)

// The tests in this file are the binding cases about reading replies, by their numbers.

const (
	yes     = "yes"
	no      = "no"
	unclr   = "unclear"
	other   = "other"
	cancels = "cancel"
)

// outcome is a reading in one word: a verdict, a kind, or the labels chosen joined by "|".
func outcome(got core.Reading) string {
	switch {
	case got.Kind != core.ReadAnswer:
		return got.Kind.String()
	case got.Part == nil && got.Yes:
		return yes
	case got.Part == nil:
		return no
	case got.Part.Text != "":
		return "text " + got.Part.Text
	case got.Part.Default:
		return "default"
	case got.Part.Field != nil:
		return string(got.Part.Field)
	}
	return strings.Join(got.Part.Values, "|")
}

func approval() Prompt { return Prompt{Input: core.Input{Kind: core.KindApproval}} }

func confirmation() Prompt { return Prompt{Input: core.Input{Kind: core.KindForm}} }

func asks(labels ...string) Prompt {
	q := core.Question{ID: "q", Prompt: "Which?"}
	for i, l := range labels {
		q.Options = append(q.Options, core.Option{Value: string(rune('A'+i)) + " value", Label: l})
	}
	return Prompt{Input: core.Input{Kind: core.KindQuestion, Questions: []core.Question{q}}}
}

// chosen reads against a question and names what was chosen by label.
func chosen(p Prompt, text string) string {
	got := Read(p, text)
	if got.Kind != core.ReadAnswer || got.Part.Text != "" {
		return outcome(got)
	}
	var labels []string
	for _, o := range p.Input.Questions[0].Options {
		if slices.Contains(got.Part.Values, o.Value) {
			labels = append(labels, o.Label)
		}
	}
	return strings.Join(labels, "|")
}

type reads map[string][]string // want → texts

func (r reads) check(t *testing.T, p Prompt) {
	t.Helper()
	for want, texts := range r {
		for _, text := range texts {
			got := outcome(Read(p, text))
			if p.Input.Kind == core.KindQuestion {
				got = chosen(p, text)
			}
			if got != want {
				t.Errorf("%q reads as %q, want %q", text, got, want)
			}
		}
	}
}

func TestRP01DontApproveDeclines(t *testing.T) {
	t.Parallel()
	reads{no: {"no, don't approve", "No, don’t approve.", "don't approve", "nope, don't"}}.check(t, approval())
}

func TestRP03FreeTextIsKept(t *testing.T) {
	t.Parallel()
	p := asks("us-east", "eu-west")
	p.Input.Questions[0].FreeText = true
	reads{
		"text I have no preference, use eu-west": {"I have no preference, use eu-west", "  I have no preference, use eu-west\n"},
		"eu-west":                                {"2", "eu-west", "EU-West."},
		unclr:                                    {"7", "0", "-1"},
		cancels:                                  {"cancel", "/cancel"},
	}.check(t, p)
}

func TestRP04ConditionsNeverSettle(t *testing.T) {
	t.Parallel()
	reads{
		other: {"yes, but not now", "sure, later", "are you sure?", "I approve of the idea in general", "no wait"},
		unclr: {"yes?", "yes no"},
	}.check(t, approval())
}

func TestRP06CaseSpaceAndStops(t *testing.T) {
	t.Parallel()
	reads{
		yes: {"YES", "Yes.", "yes!", "  yes ", "Approve", "APPROVE."},
		no:  {"NO", "No.", "deny", "Deny!"},
	}.check(t, approval())
}

func TestRP09ManyNumbers(t *testing.T) {
	t.Parallel()
	var labels []string
	for c := 'A'; c < 'A'+18; c++ {
		labels = append(labels, "Item "+string(c))
	}
	p := asks(labels...)
	p.Input.Questions[0].Multi = true
	reads{
		"Item A|Item B|Item C|Item M": {"1, 2, 3, 13", "1,2,3,13", "1 2 3 13", "13 3 2 1 1", "item m, item a, item b, item c"},
		unclr:                         {"1, 2, 3, 19", "1 2 3 0"},
	}.check(t, p)
}

func TestRP11NumbersInSentences(t *testing.T) {
	t.Parallel()
	reads{
		other: {"not before 02.02.2027", "wait 2 minutes", "1 more thing: check the logs", "give me 1 sec to check the logs"},
		unclr: {"1 sec", "give me 1 sec", "1 moment please"},
	}.check(t, asks("Send", "Cancel"))
}

func TestRP13SecondOneIsNoVerdict(t *testing.T) {
	t.Parallel()
	reads{other: {"read me the second one"}}.check(t, confirmation())
	reads{other: {"read me the second one"}}.check(t, approval())
}

func TestRP14LabelsThatArePositions(t *testing.T) {
	t.Parallel()
	reads{"5": {"5", "five", "1"}, "8": {"8", "4", "last"}, unclr: {"9", "0"}}.check(t, asks("5", "6", "7", "8"))
	reads{"2": {"2", "a", "two"}, "1": {"1", "b"}, unclr: {"3", "first"}}.check(t, asks("2", "1"))
	if Lettered(asks("5", "6", "7", "8").Input.Questions[0].Options, "") || !Lettered(asks("2", "1").Input.Questions[0].Options, "") {
		t.Error("labels that are positions of their own list are lettered, others are not")
	}
}

func TestRP15ShortenedLabelsChooseNothing(t *testing.T) {
	t.Parallel()
	reads{"Delete": {"delete"}, "Delete all": {"delete all"}, unclr: {"del", "all", "delete al"}}.check(t, asks("Delete", "Delete all"))
	reads{"Production": {"production"}, "Non-production": {"non-production"}, unclr: {"prod", "non"}}.check(t, asks("Non-production", "Production"))
	reads{"No": {"no"}, "Not now": {"not now"}, unclr: {"not", "nope", "n"}}.check(t, asks("No", "Not now"))
	reads{unclr: {"production"}}.check(t, asks("Non-production", "Staging"))
}

func TestRP18EdgesOfTheNumbers(t *testing.T) {
	t.Parallel()
	reads{
		"one-a": {"1"}, "one-c": {"3"},
		unclr: {"0", "4", "-1", "01", "1.5", "999999999999999999999", strings.Repeat("9", 900)},
	}.check(t, asks("one-a", "one-b", "one-c"))
}

func TestRP21OwnMention(t *testing.T) {
	t.Parallel()
	p := approval()
	p.Names = []string{"@relay", "<@U123>"}
	reads{
		yes: {
			"@Relay yes", "yes @Relay", "@Relay: yes", "@Relay, yes", "yes, @relay", "@relay yes!", "yes @Relay.",
			"<@U123> yes", "<@U123|relay> yes", "yes <@U123>", "<@U123>: yes",
		},
		no:    {"@Relay no"},
		other: {"@Cleo yes", "yes @Cleo", "@relays yes", "@relay_two yes", "<@U1234> yes", "<@U9> yes"},
		unclr: {"@Relay", "@relay ok"},
	}.check(t, p)
	free := asks()
	free.Names, free.Input.Questions[0].FreeText = p.Names, true
	reads{"text Ask @cleo about it": {"@Relay Ask @cleo about it"}}.check(t, free)
}

func TestRP23InvisibleCharacters(t *testing.T) {
	t.Parallel()
	reads{yes: {"yes\u200b", "\u00a0yes", "\ufeffyes", "yes\n", "y\u200des", "\u2060yes\u2060", "yes\ufe0f"}}.check(t, approval())
}

func TestRP24WordsOfNoLanguageInPlay(t *testing.T) {
	t.Parallel()
	reads{other: {"s", "oui", "是", "да", "ja", "si", "sim", "はい"}, yes: {"yes"}}.check(t, confirmation())
}

func TestRP26ThumbsUpIsNear(t *testing.T) {
	t.Parallel()
	p := approval()
	p.Markup.Shortcodes = true
	up := []string{"👍", "👍\ufe0f", "👍👍", "👍 👍", ":+1:", ":thumbsup::skin-tone-4:", ":thumbsup: :+1:"}
	for skin := '🏻'; skin <= '🏿'; skin++ {
		up = append(up, "👍"+string(skin), "👍"+string(skin)+"👍")
	}
	reads{unclr: up}.check(t, p)
}

func TestRP29SlashForms(t *testing.T) {
	t.Parallel()
	p := approval()
	p.Names = []string{"@RelayBot"}
	reads{
		yes:     {"/approve", "/approve@RelayBot", "/approve@relaybot", "/yes"},
		no:      {"/deny", "/deny@RelayBot", "/no"},
		cancels: {"/cancel", "/cancel@RelayBot"},
		other:   {"/approve@OtherBot", "/cancel@OtherBot", "/approve staging"},
		unclr:   {"/approve please", "/approve it all", "/approve/it", "/ approve"},
	}.check(t, p)
}

func TestRP30QuotedPrompt(t *testing.T) {
	t.Parallel()
	p := approval()
	p.Text = "Allow `db__drop` to run?\n\nReply approve or deny."
	reads{
		no: {"> Allow db__drop to run?\n> \n> Reply approve or deny.\nno", "> Reply approve or deny.\n\nno"},
		unclr: {
			"> Reply approve or deny.", "> approve", "> approve\nyes", ">>> Reply approve or deny.\nyes",
			"> Reply approve or deny.\n> approve\nyes", "> Allow db__drop to run? yes\nyes",
		},
		yes:   {"> Reply approve or deny.\nyes", ">Reply approve or deny.\nyes"},
		other: {"> lunch?\nwhat is for lunch today?", "> Reply approve or deny.\nwhat is in it?", "yes\n> Reply approve or deny."},
	}.check(t, p)
	p.Markup.Entities = true
	reads{yes: {"&gt; Reply approve or deny.\nyes"}}.check(t, p)
}

// typos returns every text that is one slip away from s.
func typos(s string) []string {
	var out []string
	for i := range s {
		out = append(out, s[:i]+s[i+1:], s[:i]+"x"+s[i:], s[:i]+"x"+s[i+1:], s[:i]+string(s[i])+s[i:])
		if i > 0 {
			out = append(out, s[:i-1]+string(s[i])+string(s[i-1])+s[i+1:])
		}
	}
	return append(out, s+"s", s+"x")
}

func TestRP32TyposChooseNothing(t *testing.T) {
	t.Parallel()
	p := approval()
	closed := []string{"approve", "approved", "yes", "deny", "denied", "decline", "reject", "rejected", "nope", "nah", "never"}
	n := 0
	for _, w := range closed {
		for _, s := range typos(w) {
			if slices.Contains(closed, s) {
				continue
			}
			n++
			switch got := Read(p, s); {
			case got.Kind == core.ReadAnswer:
				t.Errorf("%q settles", s)
			case got.Kind == core.ReadOther && !known(s):
				t.Errorf("%q, a slip of %q, does not keep the question", s, w)
			}
		}
	}
	q := asks("Postgres", "SQLite", "Staging cluster")
	for _, o := range q.Input.Questions[0].Options {
		for _, s := range typos(o.Label) {
			if Fold(s) == Fold(o.Label) {
				continue
			}
			n++
			if got := Read(q, s); got.Kind != core.ReadUnclear {
				t.Errorf("%q, a slip of %q, reads as %s", s, o.Label, got.Kind)
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d slips tried", n)
	}
}

func known(s string) bool {
	_, ok := lexiconOf("en").known[s]
	return ok || len(s) < 3
}

func TestRP34FormsOfANumber(t *testing.T) {
	t.Parallel()
	reads{
		"Red": {
			"1", "1.", "1)", "(1)", "#1", "option 1", "Option 1.", "no. 1", "number 1", "one", "first", "the first one",
			"1st", "①", "１", "1️⃣", "1 please", "1: red", "1 - Red", "I pick 1", "let's go with the first one",
		},
		"Green": {"no. 2", "No. 2", "no.2"},
		"Blue":  {"last", "the last one", "option three", "❸"},
		other:   {"number 1 is wrong", "1 is wrong", "not 1 but a fourth colour"},
		unclr:   {"2: red", "1 or 2", "1,2", "option 4", "fourth"},
	}.check(t, asks("Red", "Green", "Blue"))
	reads{other: {"no. 2", "number 1 is wrong"}}.check(t, approval())
}

func TestRP35PlatformMarkup(t *testing.T) {
	t.Parallel()
	p := asks("R&D <beta>", "Sales")
	p.Markup = Markup{Entities: true, AngleLinks: true, Shortcodes: true}
	reads{"R&D <beta>": {"R&amp;D &lt;beta&gt;", "*R&amp;D &lt;beta&gt;*"}}.check(t, p)
	who := asks()
	who.Markup, who.Input.Questions[0].FreeText = p.Markup, true
	reads{
		"text ana@example.test":            {"<mailto:ana@example.test|ana@example.test>", "<mailto:ana@example.test>"},
		"text see example.com & <b>":       {"see <http://example.com|example.com> &amp; &lt;b&gt;"},
		"text https://example.com/a?b&c=2": {"<https://example.com/a?b&amp;c=2>", "<https://example.com/a?b&amp;c=2|this page>"},
		"text ask <@U9> :wave:":            {"ask <@U9> :wave:"},
	}.check(t, who)
}

func TestRP36LinesAfterYes(t *testing.T) {
	t.Parallel()
	reads{yes: {"yes\n", "\nyes", "\r\nyes\r\n"}, other: {"yes\n\nand also restart web"}}.check(t, approval())
}

func TestRP37PoliteAndNear(t *testing.T) {
	t.Parallel()
	reads{yes: {"yes please", "yes, thanks", "y"}, unclr: {"yep", "yeah", "sure"}}.check(t, approval())
}

func TestFM12ProseNeedsFreeText(t *testing.T) {
	t.Parallel()
	p := asks("Postgres", "SQLite")
	reads{other: {"the one we used in May", "whichever is cheaper", "hello?"}}.check(t, p)
	p.Input.Questions[0].FreeText = true
	reads{"text the one we used in May": {"the one we used in May"}}.check(t, p)
}

func TestFM17EmailAsTyped(t *testing.T) {
	t.Parallel()
	p := Prompt{Markup: Markup{Entities: true, AngleLinks: true}, Input: core.Input{Kind: core.KindForm,
		Schema: []byte(`{"type":"object","properties":{"email":{"type":"string","format":"email"}},"required":["email"]}`)}}
	reads{`"ana@example.test"`: {"<mailto:ana@example.test|ana@example.test>", "ana@example.test"}}.check(t, p)
}
