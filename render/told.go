package render

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/core"
	"parley/core/words"
)

// The engine and what it stands on say a few sentences of their own, in English: they are kept with the run, and
// the API shows them as they are. A chat is told them in its language. Such a sentence is known by its words; one
// that is not known is shown as it is.

// toldAs are the sentences of which several are told as one where the language is not English.
var toldAs = map[string][]string{
	"told.setup": {
		"The model's service refused this bot's key. Please tell whoever runs this bot.",
		"The model's service does not allow this bot to use the model. Please tell whoever runs this bot.",
		"The model's service does not know the model that this bot asks for, or is not at the address it has. Please tell whoever runs this bot.",
		"The model's service did not accept the request. Please tell whoever runs this bot.",
		"The connection to the model's service is not secure, so it was not used. Please tell whoever runs this bot.",
		"What answers at the address of the model's service is not a model. Please tell whoever runs this bot.",
		"The model's service sent an answer that is far too long. Please tell whoever runs this bot.",
		"This conversation could not be put to the model because its record is not in order. Please tell whoever runs this bot.",
	},
	"told.later": {
		"The model's service gets too many requests just now. Please try again in a while.",
		"The model's service has a problem of its own. Please try again in a while.",
		"The model's service cannot be reached. Please try again in a while.",
		"The model did not answer in time. Please try again in a while.",
		"The model's service sent an answer that cannot be read. Please try again in a while.",
	},
}

// toldSentence is a sentence with its key, as an expression whose groups are the values of its placeholders.
type toldSentence struct {
	key   string
	re    *regexp.Regexp
	names []string
}

// hole is what a placeholder of a sentence of the engine may hold.
var hole = map[string]string{"n": `(\d+)`, "tool": `(\S+)`, "was": `("(?:[^"\\]|\\.)*")`, "now": `("(?:[^"\\]|\\.)*")`}

var toldSentences = sync.OnceValue(func() []toldSentence {
	var out []toldSentence
	en := speak("en")
	for key, s := range en.text {
		if !strings.HasPrefix(key, "told.") {
			continue
		}
		t := toldSentence{key: key}
		pattern := regexp.QuoteMeta(s)
		for _, name := range namesIn(s) {
			pattern = strings.Replace(pattern, `\{`+name+`\}`, hole[name], 1)
			t.names = append(t.names, name)
		}
		t.re = regexp.MustCompile(`^` + pattern + `$`)
		out = append(out, t)
	}
	return out
})

// namesIn are the placeholders of a sentence, in order.
func namesIn(s string) (names []string) {
	for {
		_, after, ok := strings.Cut(s, "{")
		name, rest, closed := strings.Cut(after, "}")
		if !ok || !closed {
			return names
		}
		names, s = append(names, name), rest
	}
}

// told is a sentence of the engine in the view's language.
func (w *writer) told(s string) string {
	if w.w.Tag == "en" {
		return s
	}
	for key, same := range toldAs {
		if slices.Contains(same, s) {
			return w.s.text[key]
		}
	}
	for _, t := range toldSentences() {
		m := t.re.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		values := args{}
		for i, name := range t.names {
			values[name] = seg{plain, m[i+1]}
		}
		return w.s.flat(t.key, values)
	}
	return s
}

// local is an input with what the engine wrote in it in the view's language.
func (w *writer) local(in core.Input) core.Input {
	if w.w.Tag == "en" || in.Purpose != core.PurposeUnknown && in.Purpose != core.PurposeChanged {
		return in
	}
	said := strings.Split(in.Message, "\n")
	for i, s := range said {
		said[i] = w.told(s)
	}
	in.Message = strings.Join(said, "\n")
	if in.Purpose == core.PurposeUnknown {
		in.Questions = slices.Clone(in.Questions)
		for i, q := range in.Questions {
			in.Questions[i].Prompt, in.Questions[i].Options = w.told(q.Prompt), slices.Clone(q.Options)
			for k, o := range q.Options {
				in.Questions[i].Options[k].Label = words.Outcome(o.Label, w.w.Tag)
			}
		}
	}
	return in
}

// Failed says why a run failed: a sentence of the engine, in the view's language, or of the model's service.
func Failed(v View, reason string) []Part { return Reply(v, newWriter(v).told(reason)) }

// Refused says why an answer was refused that its person gave by a press: there is no prompt to say it below.
func Refused(v View, in core.Input, no *core.AnswerError) []Part {
	w := newWriter(v)
	switch no.Code {
	case core.AnswerConflict:
		if no.Current != nil {
			in = *no.Current
		}
		if in.Pending() {
			return MovedOn(v)
		}
		return Note(v, NoteData{Code: core.NoteAlready, Input: &in})
	case core.AnswerForbidden, core.AnswerFromRequired:
		if in.ID != "" {
			return Note(v, NoteData{Code: core.NoteNotAllowed, Input: &in})
		}
		return w.sentence("refused.person", nil)
	case core.AnswerNotFound:
		return w.sentence("refused.unknown", nil)
	default:
		return w.sentence("refused.fit", nil)
	}
}
