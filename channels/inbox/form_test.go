package inbox_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/core"
)

const ask = `call ask_user {"questions":[
	{"id":"day","prompt":"Which day?","options":[{"value":"mo","label":"Monday"},{"value":"tu","label":"Tuesday"}],"defaults":["tu"]},
	{"id":"extras","prompt":"Which extras?","options":[{"value":"a","label":"Apples"},{"value":"b","label":"Bananas"}],"multi":true,"freeText":true},
	{"id":"why","prompt":"Why?","freeText":true}]}`

func oneLine(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\n", ""), "\t", "") }

func TestQuestions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		form url.Values
		want []core.Choice // without By
		says string
	}{
		"all":              {url.Values{"q0": {"o0"}, "q1": {"o0", "o1"}, "q2": {"so\r\nit is"}}, []core.Choice{{Question: "day", Values: []string{"mo"}}, {Question: "extras", Values: []string{"a", "b"}}, {Question: "why", Values: []string{}, Text: "so\nit is"}}, ""},
		"default stands":   {url.Values{"q0": {"o1"}, "q1": {"none"}, "q2": {"x"}}, []core.Choice{{Question: "day", Values: []string{"tu"}, Defaulted: true}, {Question: "extras", Values: []string{}}, {Question: "why", Values: []string{}, Text: "x"}}, ""},
		"something else":   {url.Values{"q0": {"o0"}, "q1": {"o1", "text"}, "q1t": {"Cherries"}, "q2": {"x"}}, []core.Choice{{Question: "day", Values: []string{"mo"}}, {Question: "extras", Values: []string{"b"}, Text: "Cherries"}, {Question: "why", Values: []string{}, Text: "x"}}, ""},
		"no text":          {url.Values{"q0": {"o0"}, "q1": {"none"}, "q2": {" "}}, nil, "it is not answered and has no defaults"},
		"nothing chosen":   {url.Values{"q0": {"o0"}, "q2": {"x"}}, nil, "nothing is chosen"},
		"text not chosen":  {url.Values{"q0": {"o0"}, "q1": {"o1"}, "q1t": {"Cherries"}, "q2": {"x"}}, nil, "is not chosen"},
		"chosen, no text":  {url.Values{"q0": {"o0"}, "q1": {"text"}, "q2": {"x"}}, nil, "nothing is typed"},
		"none with others": {url.Values{"q0": {"o0"}, "q1": {"none", "o0"}, "q2": {"x"}}, nil, "beside others"},
		"two of one":       {url.Values{"q0": {"o0", "o1"}, "q1": {"none"}, "q2": {"x"}}, nil, "there are several answers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			in := w.begin("ops", oneLine(ask))[0]
			b := w.as("ana")
			p := b.answer(in, tt.form)
			got := w.input(in.ID)
			if tt.says != "" {
				p.want(t, 400, tt.says, "It still waits.", `aria-invalid="true"`)
				if !got.Pending() {
					t.Errorf("it is %s", got.State)
				}
				return
			}
			p.want(t, 303)
			if got.Settled == nil || !reflect.DeepEqual(bare(got.Settled.Answer.Choices), tt.want) {
				t.Fatalf("settled %+v", got.Settled)
			}
			b.get("/inbox/inputs/"+string(in.ID)).want(t, 200, "Which day?", "Accepted by test:ana, asker, via web")
		})
	}
}

func bare(all []core.Choice) []core.Choice {
	out := slices.Clone(all)
	for i := range out {
		out[i].By = ""
	}
	return out
}

func TestQuestionsAsControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", oneLine(ask))[0]
	b := w.as("ana")
	p := b.get("/inbox").want(t, 200, "3 questions", `<legend dir="auto">Which day?</legend>`, `type="radio"`, `type="checkbox"`, `<textarea`, ">Hand in</button>", ">Skip</button>", "None of these", "Something else:")
	if !strings.Contains(p.body, `value="o1" checked><label for="in-`+string(in.ID)+`-q0-o1" dir="auto">Tuesday`) {
		t.Error("the default is not chosen")
	}
	// What was entered is there again after a mistake.
	b.answer(in, url.Values{"q0": {"o0"}, "q1": {"o1", "text"}, "q1t": {""}, "q2": {"because </textarea> & so"}}).want(t, 400, "because &lt;/textarea&gt; &amp; so", `value="o0" checked`)
	b.answer(in, url.Values{"action": {"skip"}}).want(t, 303)
	b.get("/inbox/inputs/"+string(in.ID)).want(t, 200, "Skipped by test:ana", "Tuesday (skipped: nobody confirmed it)")
}

const formSchema = `{"type":"object","required":["mail","n","sure","size","pass","day"],"properties":{
	"mail":{"type":"string","format":"email","title":"Mail"},"n":{"type":"integer","minimum":1,"maximum":30},"x":{"type":"number","default":0.5},
	"sure":{"type":"boolean"},"maybe":{"type":"boolean"},"size":{"type":"string","enum":["small","large"]},
	"many":{"type":"string","enum":["a1","a2","a3","a4","a5","a6","a7","a8"],"default":"a3"},
	"teams":{"type":"array","items":{"type":"string","enum":["Red","Blue"]},"maxItems":1},
	"pass":{"type":"string","format":"password"},"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time","default":"2026-12-24T18:30:00+02:00"},"clock":{"type":"string","format":"time"},"page":{"type":"string","format":"uri"},
	"note":{"type":"string","maxLength":2000}}}`

func TestForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", "call team__form "+oneLine(formSchema))[0]
	b := w.as("ana")
	b.get("/inbox").want(t, 200, "A form of team / form", "Fill this in.", `type="email"`, `type="number" value="" min="1" max="30" step="1" required`, `value="0.5" step="any"`, `type="password"`, `autocomplete="new-password"`,
		`type="date"`, `type="datetime-local" value="2026-12-24T16:30:00"`, `type="time"`, `type="url"`, "<select", `<option value="o2" selected>a3`, "<textarea", "Leave it out", "Choose at most 1.", "!>Skip</button>")
	b.answer(in, url.Values{"f0": {"nobody"}, "f1": {"07"}, "f4": {"perhaps"}, "f7": {"o0", "o1"}, "f8": {"hunter2"}, "f9": {"tomorrow"}, "f13": {"<i>x"}}).want(t, 400,
		"want an email address", "want a whole number", "want yes or no", "it is missing", "want at most 1", "want a date", "It still waits.", "&lt;i&gt;x", `value="07"`, "!hunter2")
	if got := w.input(in.ID); !got.Pending() {
		t.Fatalf("it is %s", got.State)
	}
	b.answer(in, url.Values{"f0": {"ana@example.com"}, "f1": {"7"}, "f2": {"1e2"}, "f3": {"false"}, "f4": {""}, "f5": {"o1"}, "f6": {"o0"}, "f7": {"o1"}, "f8": {"hunter2"}, "f9": {"2026-12-24"},
		"f10": {"2026-12-24T18:30"}, "f11": {"18:30:05"}, "f12": {""}, "f13": {"a\r\nb"}}).want(t, 303)
	w.stopped(in)
	var got map[string]any
	if all := w.effects(); len(all) != 1 || json.Unmarshal([]byte(strings.TrimPrefix(all[0], "form ")), &got) != nil {
		t.Fatalf("effects %q", all)
	}
	want := map[string]any{"mail": "ana@example.com", "n": 7.0, "x": 100.0, "sure": false, "size": "large", "many": "a1", "teams": []any{"Blue"}, "pass": "hunter2", "day": "2026-12-24",
		"at": "2026-12-24T18:30:00Z", "clock": "18:30:05Z", "note": "a\nb"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	b.get("/inbox/inputs/"+string(in.ID)).want(t, 200, "ana@example.com", "!hunter2", "masked: 7 characters")
}

func TestConfirmation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.begin("ops", `call team__sure {"message":"Publish?"}`)[0]
	b := w.as("ben")
	b.get("/inbox").want(t, 200, "Confirm team / sure?", "Publish?", ">Confirm</button>", ">Decline</button>")
	b.answer(in, url.Values{"action": {"decline"}}).want(t, 303)
	w.stopped(in)
	in = w.begin("ops", `call team__sure {"message":"Publish?"}`)[0]
	b.answer(in, url.Values{}).want(t, 303)
	w.stopped(in)
	if got := w.effects(); !slices.Equal(got, []string{"sure"}) {
		t.Errorf("effects %q", got)
	}
}

// TestHostileTexts are shown as they are, and are nothing but text.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	hostile := []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onfocus='alert(1)`, "`${alert(1)}`", `</pre></article><form action=//evil.example>`, `<!--`, `{{.CSRF}}`, `javascript:alert(1)`,
		"\u202eevil\u2066", "a\u200bb", "\x07", `</textarea><script>`, `</script><script>alert(1)</script>`, `<style>*{display:none}</style>`, strings.Repeat("é<b>", 3000),
	}
	for _, s := range hostile {
		w := newWorld(t)
		q, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		text := string(q)
		inputs := w.begin("ops", `call db__drop {"k`+text[1:len(text)-1]+`":`+text+`}`+"\n"+
			`call team__sure {"message":`+text+`}`+"\n"+
			`call ask_user {"questions":[{"prompt":`+text+`,"options":[{"label":`+text+`},{"label":"No"}],"freeText":true,"defaults":["No"]}]}`+"\n"+
			`call team__form {"type":"object","properties":{`+text+`:{"type":"string","title":`+text+`,"description":`+text+`}}}`)
		b := w.as("ana")
		paths := []string{"/inbox", "/inbox/runs/" + string(inputs[0].Run), "/inbox?agent=" + url.QueryEscape(s) + "&person=" + url.QueryEscape(s)}
		for _, in := range inputs {
			paths = append(paths, "/inbox/inputs/"+string(in.ID))
		}
		for _, path := range paths {
			p := b.get(path).want(t, 200)
			inert(t, path, p.body)
		}
		p := b.answer(inputs[0], url.Values{"action": {s}, "reason": {s}}).want(t, 400)
		inert(t, "refused", p.body)
		b.answer(inputs[0], url.Values{"action": {"decline"}, "reason": {s}}).want(t, 303)
		inert(t, "declined", b.get("/inbox/inputs/"+string(inputs[0].ID)).body)
	}
}

// inert fails where a page has an element or an attribute that our templates do not write, or a character that
// moves others about.
func inert(t *testing.T, where, body string) {
	t.Helper()
	for _, bad := range []string{"<script>", "<img", "<style", "<!--", "onerror=alert(1)>", "' onfocus", "<form action=//", "<b>", "\u202e", "\u2066", "\u200b", "\x07", "href=\"javascript:"} {
		if strings.Contains(body, bad) {
			t.Errorf("%s: %q is on the page", where, bad)
		}
	}
	if n, m := strings.Count(body, "<article"), strings.Count(body, "</article>"); n != m {
		t.Errorf("%s: %d articles begin, %d end", where, n, m)
	}
}
