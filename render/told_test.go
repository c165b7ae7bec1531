package render

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/core"
	"parley/core/model/wire"
	"parley/core/words"
)

// TestEngineSentencesAreKnown: what the engine and the models' clients say to a chat is what render knows them by.
func TestEngineSentencesAreKnown(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for _, dir := range []string{"../core/turn", "../core/model"} {
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				data, err := os.ReadFile(dir + "/" + path)
				source.Write(data)
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tail := strings.NewReplacer(" Please tell whoever runs this bot.", "", " Please try again in a while.", "")
	hole := regexp.MustCompile(`\{[a-z]+\}`)
	known := map[string]bool{"told.setup": true, "told.later": true} // told of those in toldAs only
	var all []string
	for key, s := range speak("en").text {
		if strings.HasPrefix(key, "told.") && !known[key] {
			all = append(all, hole.Split(tail.Replace(s), -1)...)
		}
	}
	for _, same := range toldAs {
		for _, s := range same {
			all = append(all, tail.Replace(s))
		}
	}
	for _, s := range all {
		if s = strings.TrimSpace(s); len(s) > 3 && !strings.Contains(source.String(), s) {
			t.Errorf("nobody says %q any more", s)
		}
	}
	for _, s := range []string{
		wire.KeyRefused, wire.NotAllowed, wire.NoCredit, wire.Unknown, wire.NotTaken, wire.TooLong, wire.Limited, wire.Broken, wire.Unreachable, wire.Late,
		wire.Insecure, wire.Unreadable, wire.NotAModel, wire.TooLarge, wire.Stopped(nil).Sentence, wire.Far{}.Unsendable(nil).Sentence,
		"The model's service could not be used. Write again to try once more.", "I stopped after 30 steps without an end. Write to me to go on.",
		"I stopped: this turn wanted to ask more than 20 times.", "db__drop was started and then interrupted. It may or may not have run.",
		`It went to "https://a.example" and now goes to "say \"b\"".`, "the tool is gone", "these are the arguments as they stand",
	} {
		for _, tag := range tags() {
			got := newWriter(View{Lang: tag}).told(s)
			if tag == "en" && got != s || tag != "en" && (got == s || strings.Contains(got, "{")) {
				t.Errorf("%s: %q is told as %q", tag, s, got)
			}
		}
	}
	for _, s := range []string{"", "I stopped after many steps", "The tool is gone. Say yes.", "a\nThe tool is gone."} {
		if got := newWriter(View{Lang: "de"}).told(s); got != s {
			t.Errorf("%q is told as %q", s, got)
		}
	}
}

func TestValuesOfEngineSentencesStay(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"I stopped after 30 steps without an end. Write to me to go on.":     "Ich habe nach 30 Schritten ohne Ende aufgehört. Schreiben Sie mir, um weiterzumachen.",
		`It went to "a" and now goes to "b".`:                                `Es ging an "a" und geht jetzt an "b".`,
		"x__y was started and then interrupted. It may or may not have run.": "x__y wurde gestartet und dann unterbrochen. Ob es ausgeführt wurde, ist nicht bekannt.",
	} {
		if got := newWriter(View{Lang: "de"}).told(s); got != want {
			t.Errorf("%q is told as %q", s, got)
		}
	}
	if got := PlainText(Failed(View{Lang: "fr"}, wire.NoCredit)); !strings.Contains(got, "crédit") {
		t.Errorf("failed: %s", got)
	}
	in := core.Input{Kind: core.KindApproval, Tool: "t", Purpose: core.PurposeChanged, Message: "It went to \"a\" and now goes to \"b\".\nThe description of its arguments changed; the arguments themselves are the same."}
	if got := PlainText(Prompt(View{Lang: "de"}, in)); !strings.Contains(got, `geht jetzt an "b"`) || !strings.Contains(got, "Beschreibung") {
		t.Errorf("changed: %s", got)
	}
	in.Purpose = ""
	if got := PlainText(Prompt(View{Lang: "de"}, in)); !strings.Contains(got, "It went to") {
		t.Errorf("a tool's own words are translated: %s", got)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	in := core.Input{ID: "in", Kind: core.KindApproval, Tool: "t", State: core.InputPending, Responders: core.Responders{Audience: []core.PersonID{"local:ana"}}}
	ended := in
	ended.State, ended.Settled = core.InputAccepted, &core.Settled{By: "local:ana"}
	for _, c := range []struct {
		no   core.AnswerError
		in   core.Input
		want string
	}{
		{core.AnswerError{Code: core.AnswerConflict, Current: &ended}, in, "local:ana"},
		{core.AnswerError{Code: core.AnswerConflict, Current: &in}, in, speak("de").text["note.moved_on"]},
		{core.AnswerError{Code: core.AnswerForbidden}, in, "local:ana"},
		{core.AnswerError{Code: core.AnswerForbidden}, core.Input{}, speak("de").text["refused.person"]},
		{core.AnswerError{Code: core.AnswerNotFound}, core.Input{}, speak("de").text["refused.unknown"]},
		{core.AnswerError{Code: core.AnswerInvalid, Reason: "English"}, in, speak("de").text["refused.fit"]},
		{core.AnswerError{Code: core.AnswerMismatch, Reason: "English"}, in, speak("de").text["refused.fit"]},
	} {
		got := PlainText(Refused(View{Lang: "de"}, c.in, &c.no))
		if !strings.Contains(got, c.want) || strings.Contains(got, "English") {
			t.Errorf("%s: %s", c.no.Code, got)
		}
	}
}

// TestMasksSpeakTheLanguage: whatever the language, a mask stands between its marks and says length and digest.
func TestMasksSpeakTheLanguage(t *testing.T) {
	t.Parallel()
	for _, tag := range words.Tags() {
		w := newWriter(View{Lang: tag})
		mask := w.mask("hunter22")
		digest := core.Digest("hunter22")[:8]
		if !strings.HasPrefix(mask, "‹") || !strings.HasSuffix(mask, "›") || strings.Count(mask, "›") != 1 || !strings.Contains(mask, "8") || !strings.Contains(mask, digest) || len(mask) > 110 {
			t.Errorf("%s: %s", tag, mask)
		}
		in := core.Input{Kind: core.KindApproval, Tool: "t", Arguments: []byte(`{"password":"hunter22","text":"{\"password\":\"hunter22\"}"}`)}
		if got := PlainText(Prompt(View{Lang: tag}, in)); strings.Count(got, mask) != 2 || strings.Contains(got, "hunter") {
			t.Errorf("%s: %s", tag, got)
		}
	}
}
