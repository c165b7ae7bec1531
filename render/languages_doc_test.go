package render

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"parley/core/words"
)

const languagesDoc = "../docs/languages.md"

// checkedBy names the native readers who went through a language's list, by tag. Nobody has yet.
var checkedBy = map[string]string{}

// The check lists for native readers say what the program says: they are written from the same files.
func TestLanguagesDoc(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(languagesDoc)
	if err != nil {
		t.Fatal(err)
	}
	const from = "<!-- written by go test ./render -run TestLanguagesDoc -update -->\n"
	intro, lists, ok := strings.Cut(string(data), from)
	if !ok {
		t.Fatalf("%s lacks the line %q", languagesDoc, from)
	}
	want := checkLists()
	if *update {
		if err := os.WriteFile(languagesDoc, []byte(intro+from+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if sayings(lists) != sayings(want) {
		t.Errorf("%s is not what the language files say (go test ./render -run TestLanguagesDoc -update writes it anew)", languagesDoc)
	}
}

// sayings are the lists without the words that are understood but never named: those may grow between two
// writings.
func sayings(lists string) string {
	var out []string
	for line := range strings.SplitSeq(lists, "\n") {
		if before, _, ok := strings.Cut(line, "**; "); ok {
			line = before
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func checkLists() string {
	var b strings.Builder
	for _, tag := range tags() {
		if tag == "en" {
			continue
		}
		s, w := speak(tag), words.For(tag)
		who := checkedBy[tag]
		if who == "" {
			who = "not checked by a native reader yet"
		}
		fmt.Fprintf(&b, "\n## %s (%s): %s\n\n", display.English.Languages().Name(language.Make(tag)), tag, who)
		for _, list := range []struct {
			name, main string
			all        []string
		}{
			{"consent", w.Main.Approve, w.Yes}, {"consent to a confirmation", w.Main.Yes, w.Confirm}, {"refusal", w.Main.Deny, w.No},
			{"done", w.Main.Done, w.Done}, {"cancel", w.Main.Cancel, w.Cancel}, {"skip", w.Main.Skip, w.Skip}, {"back", w.Main.Back, w.Back},
			{"default", w.Main.Default, slices.Concat(w.Default, w.Ok)}, {"edit, before a number or name=value", w.Main.Edit, w.Edit},
			{"because, between a refusal and its reason", w.Main.Because, w.Because}, {"pending", w.Main.Pending, w.Pending},
		} {
			others := slices.DeleteFunc(slices.Sorted(slices.Values(list.all)), func(x string) bool { return x == list.main })
			fmt.Fprintf(&b, "- [ ] %s: **%s**; %s\n", list.name, list.main, strings.Join(others, ", "))
		}
		for _, key := range mainSentences {
			fmt.Fprintf(&b, "- [ ] `%s`: %s\n", key, s.text[key])
		}
		for _, key := range []string{"days", "hours", "note.inbox"} {
			var forms []string
			for _, n := range []int{1, 2, 5, 11, 21} {
				forms = append(forms, flatten(s.many(key, n, nil)))
			}
			fmt.Fprintf(&b, "- [ ] `%s` for 1, 2, 5, 11, 21: %s\n", key, strings.Join(forms, " · "))
		}
	}
	return b.String()
}

// mainSentences are those on which an answer depends.
var mainSentences = []string{
	"title.approval", "title.approval.edited", "edited", "asks.approval", "code", "do.approval", "do.confirm", "do.cancel", "do.url", "do.number", "do.numbers", "do.only", "do.default", "do.skip",
	"do.back", "do.review", "who", "expires", "end.accepted.approval", "end.declined.approval", "end.expired", "call.executed", "call.not_run",
	"note.which", "note.not_shown", "note.change_refused", "note.unclear.words", "note.unclear.end", "note.not_allowed", "note.superseded", "note.may_have_run", "note.expired", "note.secret_field", "note.refused",
}
