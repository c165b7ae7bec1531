package inbox_test

import (
	"net/url"
	"strings"
	"testing"

	"parley/core"
)

// TestEveryBadFieldIsNamed, whether the page or the engine finds it, each at its own question.
func TestEveryBadFieldIsNamed(t *testing.T) {
	t.Parallel()
	const options = `"options":[{"label":"A"},{"label":"B"}]`
	for name, tt := range map[string]struct {
		questions string
		form      url.Values
		bad       int
	}{
		"nothing chosen":        {`{"prompt":"One?",` + options + `},{"prompt":"Many?","multi":true,` + options + `}`, url.Values{}, 2},
		"two of one kind":       {`{"prompt":"One?",` + options + `},{"prompt":"Two?",` + options + `}`, url.Values{}, 2},
		"two of several each":   {`{"prompt":"Many?","multi":true,` + options + `},{"prompt":"More?","multi":true,` + options + `}`, url.Values{}, 2},
		"no text, two of one":   {`{"prompt":"Many?","multi":true,"freeText":true,` + options + `},{"prompt":"One?",` + options + `},{"prompt":"Why?","freeText":true}`, url.Values{"q0": {"text"}, "q1": {"o0", "o1"}}, 3},
		"a default is not bad":  {`{"prompt":"Many?","multi":true,` + options + `},{"prompt":"One?","defaults":["A"],` + options + `}`, url.Values{"q1": {"o0"}}, 1},
		"what fits is not said": {`{"prompt":"Many?","multi":true,` + options + `},{"prompt":"One?",` + options + `}`, url.Values{"q1": {"o0"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			in := w.begin("ops", `call ask_user {"questions":[`+tt.questions+`]}`)[0]
			p := w.as("ana").answer(in, tt.form).want(t, 400, "It still waits.")
			if got := strings.Count(p.body, `class="error"`); got != tt.bad {
				t.Errorf("%d fields have a reason, want %d\n%s", got, tt.bad, p.body)
			}
			if !w.input(in.ID).Pending() {
				t.Error("it was settled")
			}
		})
	}
}

// TestAStrangersPostTellsNothing: it gets what an id gets that does not exist, whatever the input's state and what is
// sent, and the log keeps that somebody tried. Who may see the input and not answer it is told so.
func TestAStrangersPostTellsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, done := w.begin("strict", drop)[0], w.begin("strict", drop)[0]
	w.as("ben").answer(done, url.Values{}).want(t, 303)
	cleo := w.as("cleo")
	for _, rest := range []string{"", "/reveal"} {
		for _, form := range []url.Values{{"action": {"accept"}, "hash": {in.Hash}}, {"action": {"decline"}}, {"action": {"cancel"}}, {"action": {"x"}}, {}} {
			none := cleo.post("/inbox/inputs/aaaaaaaaaaaaaaaa"+rest, form).want(t, 404)
			for _, id := range []core.InputID{in.ID, done.ID} {
				if p := cleo.post("/inbox/inputs/"+string(id)+rest, form).want(t, 404, "!staging"); p.body != none.body {
					t.Errorf("%s %v: the pages differ:\n%s\n%s", rest, form, p.body, none.body)
				}
			}
		}
		w.as("ana").post("/inbox/inputs/"+string(in.ID)+rest, url.Values{"action": {"accept"}, "hash": {in.Hash}}).want(t, 403)
	}
	if !w.input(in.ID).Pending() {
		t.Errorf("it is %s", w.input(in.ID).State)
	}
	w.as("ben").get("/inbox/runs/"+string(in.Run)).want(t, 200, "test:cleo, who may not, tried")
}

// TestSkipSaysWhatItDoes.
func TestSkipSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	const with, without = `{"prompt":"With?","options":[{"label":"A"},{"label":"B"}],"defaults":["A"]}`, `{"prompt":"Without?","freeText":true}`
	for name, tt := range map[string]struct {
		questions, says string
		want            core.InputState
	}{
		"none has defaults": {without, "There are no defaults, so this declines.", core.InputDeclined},
		"all have":          {with, "Defaults stand, unconfirmed.</span>", core.InputSkipped},
		"some have":         {with + "," + without, "Defaults stand, unconfirmed. What has none stays without an answer.", core.InputSkipped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			in := w.begin("ops", `call ask_user {"questions":[`+tt.questions+`]}`)[0]
			b := w.as("ana")
			b.get("/inbox/inputs/"+string(in.ID)).want(t, 200, tt.says)
			b.answer(in, url.Values{"action": {"skip"}}).want(t, 303)
			if got := w.input(in.ID); got.State != tt.want {
				t.Errorf("it is %s, want %s", got.State, tt.want)
			}
		})
	}
}
