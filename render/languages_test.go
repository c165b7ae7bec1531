package render

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"parley/core"
	"parley/core/coretest"
	"parley/core/words"
)

var (
	placeholder = regexp.MustCompile(`\{[a-z]+\}`)
	pluralForm  = regexp.MustCompile(`\.(zero|one|two|few|many|other)$`)
)

// pluralKeys are the keys of sentences that depend on a number.
func pluralKeys(en *sentences) []string {
	var out []string
	for k := range en.text {
		if base, ok := strings.CutSuffix(k, ".other"); ok && en.has(base+".one") {
			out = append(out, base)
		}
	}
	return out
}

// ownKeys are the keys of a language's own file.
func ownKeys(t *testing.T, tag string) map[string]string {
	t.Helper()
	name := "lang/" + tag + ".json"
	data, err := langFiles.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all, err := readLanguages(fstest.MapFS{name: {Data: data}}, "lang")
	if err != nil {
		t.Fatal(err)
	}
	return all[tag].text
}

// Sentences and the words that they name come together: a language with one of them alone would speak two.
func TestLanguagesHaveWordsAndSentences(t *testing.T) {
	t.Parallel()
	if got, want := tags(), words.Tags(); !slices.Equal(got, want) {
		t.Errorf("there are sentences in %v, words in %v", got, want)
	}
	if len(tags()) < 20 {
		t.Errorf("%d languages", len(tags()))
	}
}

func TestEveryLanguageHasEverySentence(t *testing.T) {
	t.Parallel()
	en := speak("en")
	plurals := pluralKeys(en)
	for _, tag := range tags() {
		mine := ownKeys(t, tag)
		for k, english := range en.text {
			base := pluralForm.ReplaceAllString(k, "")
			if base != k && slices.Contains(plurals, base) {
				continue
			}
			if mine[k] == "" {
				t.Errorf("%s lacks %s", tag, k)
			} else if got, want := holes(mine[k]), holes(english); !slices.Equal(got, want) {
				t.Errorf("%s, %s: placeholders %v, want %v", tag, k, got, want)
			}
		}
		for k, s := range mine {
			if base := pluralForm.ReplaceAllString(k, ""); !en.has(k) && !slices.Contains(plurals, base) {
				t.Errorf("%s has the sentence %s, which English lacks", tag, k)
			}
			if strings.Count(s, "{") != strings.Count(s, "}") || strings.TrimSpace(s) != s && !strings.HasPrefix(k, "list.") || strings.Contains(s, mark) {
				t.Errorf("%s, %s is not well formed: %q", tag, k, s)
			}
		}
	}
}

func holes(s string) []string {
	return slices.Sorted(slices.Values(placeholder.FindAllString(s, -1)))
}

// Each number has a form of its own language, in which nothing is missing but perhaps the number itself.
func TestPlurals(t *testing.T) {
	t.Parallel()
	names := [...]string{"other", "zero", "one", "two", "few", "many"}
	for _, tag := range tags() {
		mine := ownKeys(t, tag)
		for _, key := range pluralKeys(speak("en")) {
			for n := 1; n <= 1002; n++ {
				form := key + "." + names[plural.Cardinal.MatchPlural(language.Make(tag), n, 0, 0, 0, 0)]
				if mine[form] == "" {
					t.Errorf("%s lacks %s, for %d", tag, form, n)
					break
				}
				if !strings.Contains(mine[form], "{n}") && n > 2 && len(pluralNumbers(tag, form)) > 1 {
					t.Errorf("%s, %s does not say how many, though it stands for %v", tag, form, pluralNumbers(tag, form))
				}
				if strings.Contains(key, "superseded") != strings.Contains(mine[form], "{what}") {
					t.Errorf("%s, %s: {what}", tag, form)
				}
			}
		}
	}
	for tag, want := range map[string][]string{
		"en": {"1 minute", "2 minutes", "5 minutes", "21 minutes"},
		"ru": {"1 минуту", "2 минуты", "5 минут", "21 минуту"},
		"pl": {"1 minutę", "2 minuty", "5 minut", "21 minut"},
		"cs": {"1 minutu", "2 minuty", "5 minut", "21 minut"},
		"ar": {"دقيقة واحدة", "دقيقتين", "5 دقائق", "21 دقيقة"},
		"ja": {"1 分", "2 分", "5 分", "21 分"},
	} {
		for i, n := range []int{1, 2, 5, 21} {
			if got := speak(tag).in(time.Duration(n) * time.Minute); got != want[i] {
				t.Errorf("%s: %d is %q, want %q", tag, n, got, want[i])
			}
		}
	}
}

func pluralNumbers(tag, form string) []int {
	names := [...]string{"other", "zero", "one", "two", "few", "many"}
	var out []int
	for n := 1; n <= 102; n++ {
		if strings.HasSuffix(form, "."+names[plural.Cardinal.MatchPlural(language.Make(tag), n, 0, 0, 0, 0)]) {
			out = append(out, n)
		}
	}
	return out
}

// mayEqual are sentences that are right as the English ones are.
var mayEqual = map[string][]string{
	"note.item": {"*"}, "what.with": {"*"}, "list.comma": {"*"},
	"field.string": {"cs", "de", "sv"}, "button.no": {"es", "it"}, "tool": {"fr"}, "minutes.other": {"fr"},
	"url.host": {"nl", "pt", "tr"}, "url.host.both": {"nl", "pt", "tr"},
}

// latin are the words in Latin letters that a language of another script has.
var latin = regexp.MustCompile(`https://example\.com|18:00:00Z|2026-12-24(T18:00:00Z)?|/(cancel|status|inbox)|\bID\b|UTC`)

// english are words of which no other language here has all its sentences free by chance.
var english = regexp.MustCompile(`(?i)\b(the|was|were|which|answer|answers|question|reply|approved|approval|message|nothing|nobody|somebody|please|with|this|that)\b`)

func TestNothingIsLeftInEnglish(t *testing.T) {
	t.Parallel()
	en := speak("en")
	for _, tag := range tags() {
		if tag == "en" {
			continue
		}
		script, _ := language.Make(tag).Script()
		for k, s := range ownKeys(t, tag) {
			if ok := mayEqual[k]; s == en.text[k] && !slices.Contains(ok, tag) && !slices.Contains(ok, "*") {
				t.Errorf("%s, %s is English: %q", tag, k, s)
			}
			bare := latin.ReplaceAllString(placeholder.ReplaceAllString(s, ""), "")
			if script.String() != "Latn" && regexp.MustCompile(`[A-Za-z]`).MatchString(bare) {
				t.Errorf("%s, %s has Latin letters: %q", tag, k, s)
			}
			if m := english.FindString(bare); m != "" && !mayMean[tag+" "+strings.ToLower(m)] {
				t.Errorf("%s, %s has the English word %q: %q", tag, k, m, s)
			}
		}
	}
}

// mayMean are words of other languages that are spelt as English ones.
var mayMean = map[string]bool{"fr message": true, "fr question": true, "nl was": true, "de was": true}

// A translation is about as long as the English sentence, so that a prompt of the smallest platform holds it.
func TestSentencesAreShort(t *testing.T) {
	t.Parallel()
	en := speak("en")
	for _, tag := range tags() {
		for k, s := range ownKeys(t, tag) {
			if most := 30 + runes(en.text[k])*9/5; en.has(k) && runes(s) > most {
				t.Errorf("%s, %s has %d characters, at most %d: %q", tag, k, runes(s), most, s)
			}
			if strings.HasPrefix(k, "button.") && !strings.Contains(s, "{") && runes(s) > 30 {
				t.Errorf("%s, %s is too long for a button: %q", tag, k, s)
			}
		}
		v := view(Dialect{Name: "short", Style: Markdown, Limit: 2000, Buttons: true})
		v.Lang = tag
		for _, name := range []string{"approval", "question-multi", "form-field-1", "form-review", "url", "unknown"} {
			if parts := Prompt(v, coretest.Input(name)); len(parts) != 1 {
				t.Errorf("%s: %s has %d parts", tag, name, len(parts))
			}
		}
	}
}

func TestGoldenLanguages(t *testing.T) {
	t.Parallel()
	plainDialect := TestDialects()[0]
	for _, tag := range tags() {
		v := view(plainDialect)
		v.Lang = tag
		var b strings.Builder
		show := func(name string, parts []Part) { fmt.Fprintf(&b, "==== %s\n%s", name, dump(parts)) }
		for _, name := range []string{"approval-batch", "approval-edited", "question-multi", "form-field-1", "form-integer", "form-review", "url", "unknown"} {
			show(name, Prompt(v, coretest.Input(name)))
		}
		shared := v
		shared.Shared, shared.Again = true, true
		show("approval, shared", Prompt(shared, coretest.Input("approval")))
		show("question-open, shared", Prompt(shared, coretest.Input("question-open")))
		shared.Apart = true
		show("url, shared", Prompt(shared, coretest.Input("url")))
		show("url, its link", Link(v, coretest.Input("url")))
		for _, state := range []core.InputState{core.InputAccepted, core.InputDeclined, core.InputSkipped, core.InputCancelled, core.InputSuperseded, core.InputExpired} {
			in := coretest.Ended(coretest.Input("approval-batch"), state, &core.Answer{Action: core.ActionDecline, Reason: "not now"})
			show(string(state), Closed(v, in, &core.Call{Status: core.CallExecuted}))
		}
		for _, n := range notesOf() {
			show(string(n.Code)+" "+string(n.Hint), Note(v, n))
		}
		show("refusal", Refusal(v, coretest.Asker))
		show("moved on", MovedOn(v))
		golden(t, "languages/"+tag+".txt", b.String())
	}
}

// notesOf are the notes with what each is about.
func notesOf() []NoteData {
	ended := coretest.Ended(coretest.Input("approval"), core.InputAccepted, nil)
	secret, approval, question := coretest.Input("form-secret"), coretest.Input("approval"), coretest.Input("question-single")
	run := core.Run{Status: core.RunInputRequired}
	var out []NoteData
	for _, code := range noteCodes {
		n := NoteData{Code: code, Hint: core.HintNumber, Person: coretest.Asker, Input: &question, Run: &run, Inputs: []core.Input{approval, question}}
		switch code {
		case core.NoteAlready:
			n.Input = &ended
		case core.NoteSecretField:
			n.Input = &secret
		case core.NoteDetails, core.NoteMayHaveRun, core.NoteExpired:
			n.Input = &approval
		case core.NotePending, core.NoteWhich:
			n.Inputs = several()
		case core.NoteChangeRefused:
			n.Text = refusedChange
		}
		out = append(out, n)
	}
	return out
}

// A language file is all that it takes to speak another language.
func TestALanguageIsAFile(t *testing.T) {
	t.Parallel()
	en, err := langFiles.ReadFile("lang/en.json")
	if err != nil {
		t.Fatal(err)
	}
	eo, err := os.ReadFile("testdata/eo.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := readLanguages(fstest.MapFS{"l/en.json": {Data: en}, "l/eo.json": {Data: eo}}, "l")
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{View: view(TestDialects()[0]), s: all["eo"], w: words.For("en")}
	a := w.asking(coretest.Input("approval"))
	got := PlainText(w.draw(w.pack(&a), nil))
	for _, want := range []string{"Aprobo necesas", "Ĉu ruli db__drop? Respondu approve aŭ deny.", "Finiĝos post 7 tagoj", "cancel ends the whole turn."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if _, err := readLanguages(fstest.MapFS{"l/en.json": {Data: []byte("{")}}, "l"); err == nil || !strings.Contains(err.Error(), "en.json") {
		t.Errorf("a broken file: %v", err)
	}
}

func TestExpiryIsRoundedToTheNearestUnit(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		7 * 24 * time.Hour: "7 days", 7*24*time.Hour - time.Second: "7 days", 6*24*time.Hour + 11*time.Hour: "6 days",
		48*time.Hour - time.Second: "2 days", 47 * time.Hour: "47 hours", 2*time.Hour - time.Second: "2 hours",
		119 * time.Minute: "119 minutes", 61 * time.Second: "1 minute", time.Minute: "1 minute", 59*time.Second + 600*time.Millisecond: "1 minute",
		59 * time.Second: "59 seconds", time.Second: "1 second", 2 * time.Second: "2 seconds", time.Millisecond: "1 second",
	} {
		if got := speak("en").in(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Values of the other direction keep to themselves, and those of the sentence's own are left alone.
func TestDirections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tag, value string
		want       bool
	}{
		{"en", "ana", false}, {"en", "zażółć 東京", false}, {"en", "אבג", true}, {"en", "db__القاهرة", true},
		{"ar", "ana", true}, {"ar", "القاهرة", false}, {"ar", "12", false}, {"ar", "2026-03-14 09:26 UTC", true}, {"ar", "18:00", true}, {"ar", "القاهرة x", true},
	} {
		if got := speak(tt.tag).turns(tt.value); got != tt.want {
			t.Errorf("%s: %q is kept apart: %v", tt.tag, tt.value, got)
		}
	}
	for _, d := range TestDialects() {
		for _, s := range slices.Concat(injections(t), []string{"אבג", "\u2069 x \u2068"}) {
			for _, tag := range []string{"ar", "en"} {
				v := view(d)
				v.Lang = tag
				for where, parts := range everywhere(v, s) {
					for _, p := range parts {
						if where != "reply" && len(s) < 500 {
							balanced(t, tag+" "+d.Name+" "+where, p.Text)
						}
					}
				}
			}
		}
	}
}

// balanced checks that every line of s closes each isolate that it opens.
func balanced(t *testing.T, where, s string) {
	t.Helper()
	for line := range strings.SplitSeq(s, "\n") {
		deep := 0
		for _, r := range line {
			switch string(r) {
			case fsi:
				deep++
			case pdi:
				deep--
			}
			if deep < 0 {
				break
			}
		}
		if deep != 0 {
			t.Errorf("%s: isolates do not match in %q", where, line)
		}
	}
}

// The tags that platforms send find the language they mean.
func TestTagsOfPlatforms(t *testing.T) {
	t.Parallel()
	want := map[string]string{"pt-br": "pt", "zh-hans": "zh", "zh-TW": "zh", "en-GB": "en", "es-419": "es", "sv-SE": "sv", "in": "id", "DE": "de", "ar_EG": "ar"}
	for tag, lang := range want {
		w := newWriter(View{Lang: tag})
		if w.s != speak(lang) || w.w.Tag != lang {
			t.Errorf("%s speaks %s with words of %s", tag, w.s.tag, w.w.Tag)
		}
	}
}
