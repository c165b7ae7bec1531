package render

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"parley/core"
	"parley/core/words"
)

// question asks the question shown of a set, or what to do about a call that may have run.
func (w *writer) question(a *asking, in core.Input, q core.Question) {
	key := "title.question"
	switch {
	case in.Purpose == core.PurposeUnknown:
		key = "title.unknown"
	case len(in.Questions) > 1:
		key = "title.question.n"
	}
	a.head = append([]block{w.title(in, key, args{"at": position(in.Draft.At), "all": number(len(in.Questions))})}, a.head...)
	if in.Purpose == core.PurposeUnknown {
		a.body = append(a.body, w.line("asks.unknown", args{
			"tool": w.fullTool(in), "agent": w.agent(), "asker": {plain, w.person(in.Responders.Asker)},
		}))
		a.body = append(a.body, w.arguments(in)...)
	} else {
		a.body = append(a.body, w.asks(in))
	}
	if in.Draft.Held {
		a.head = append(a.head, w.line("defaults.shown", nil))
	}
	if in.Draft.At == 0 {
		a.say(in.Message)
	}
	a.say(q.Prompt)
	a.recall = q.Prompt
	o := w.options(a, q.Options, func(o core.Option) bool { return slices.Contains(q.Defaults, o.Value) })
	a.tail = append(w.terms(in), line(join(w.ways(a, in, q, o)...)...))
}

// choices are options as a prompt shows them.
type choices struct {
	options  []core.Option
	lettered bool
	labels   []string // folded
	values   []string // folded; nobody is shown them, and yet they can be typed
	// multi: several may be chosen, from least to most.
	multi       bool
	least, most int
}

func (c choices) position(i int) string { return words.Position(i, c.lettered) }

// takes reports whether an option takes a word over.
func (c choices) takes(word string) bool {
	f := foldLabel(word)
	return slices.Contains(c.labels, f) || slices.Contains(c.values, f)
}

// free is the first of the words that no option has taken over, "" if there is none.
func (c choices) free(lists ...[]string) string {
	for _, list := range lists {
		for _, word := range list {
			if word != "" && !c.takes(word) {
				return word
			}
		}
	}
	return ""
}

// foldLabel is a label as parse compares it with a word of ours, as far as one of them can be it.
func foldLabel(s string) string {
	s = norm.NFKC.String(strings.Map(func(r rune) rune {
		if r >= 0x200b && r <= 0x200f || r >= 0x2060 && r <= 0x2064 || r == 0xfeff || r == 0xad || r >= 0xfe00 && r <= 0xfe0f {
			return -1
		}
		return r
	}, s))
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	return strings.TrimRight(strings.Trim(s, "\"'“”„«»‘’`*_"), ".! 。")
}

// options lists the options, one a line, each with its number or letter.
func (w *writer) options(a *asking, options []core.Option, byDefault func(core.Option) bool) choices {
	c := choices{options: options, most: len(options)}
	var labels []string
	for _, o := range options {
		labels = append(labels, o.Label)
		c.labels = append(c.labels, foldLabel(o.Label))
		c.values = append(c.values, foldLabel(o.Value))
	}
	c.lettered = words.Lettered(labels, w.Lang)
	for i, o := range options {
		segs := append([]seg{{plain, c.position(i) + ") "}}, w.s.isolated(text(o.Label))...)
		if byDefault(o) {
			segs = append(segs, seg{plain, " " + w.s.text["default"]})
		}
		a.body = append(a.body, line(segs...))
		a.replies = append(a.replies, c.position(i))
		if copyable(o.Label) && !slices.Contains(c.labels[:i], c.labels[i]) && !slices.Contains(c.labels[i+1:], c.labels[i]) {
			a.replies = append(a.replies, o.Label)
		}
	}
	return c
}

// copyable reports whether a label can be typed as it is shown.
func copyable(label string) bool { return label != "" && oneLine(label) == label }

// ways are the sentences that say which replies answer a question.
func (w *writer) ways(a *asking, in core.Input, q core.Question, o choices) [][]seg {
	o.multi = q.Multi
	out := w.choosing(a, o)
	main := w.w.Main
	switch {
	case q.FreeText && len(q.Options) > 0:
		out = append(out, w.s.say("do.own", args{"cancel": a.offer(w.leave(o))}))
	case q.FreeText:
		out = append(out, w.s.say(w.here("do.write"), args{"cancel": a.offer(w.leave(o))}))
	}
	if q.HasDefaults() {
		out = append(out, w.takeDefault(a, q, o))
	}
	if skip := o.free([]string{main.Skip}, w.w.Skip); skip != "" && in.Purpose != core.PurposeUnknown {
		out = append(out, w.s.say("do.skip", args{"skip": a.offer(skip)}))
		a.button(w.s.text["button.skip"], skip)
	}
	if back := o.free([]string{main.Back}, w.w.Back); back != "" && in.Draft.At > 0 {
		out = append(out, w.s.say("do.back", args{"back": a.offer(back)}))
	}
	out = append(out, w.takenOver(a, o, q.FreeText)...)
	if !q.FreeText {
		out = append(out, w.s.say("do.only", nil))
	}
	return out
}

// leave is the word that cancels where options may have taken words over; the command can be taken by none.
func (w *writer) leave(o choices) string {
	if word := o.free([]string{w.w.Main.Cancel}, w.w.Cancel, words.For("en").Cancel); word != "" {
		return word
	}
	return "/cancel"
}

// takenOver names other words for what a prompt does not speak of, as long as an option has not taken the word over
// that people know: to leave, where options are all that is asked for, and to see the call again, where not any text
// is an answer.
func (w *writer) takenOver(a *asking, o choices, free bool) (out [][]seg) {
	en := words.For("en")
	if free {
		return nil
	}
	if o.takes(w.w.Main.Cancel) || o.takes(en.Main.Cancel) {
		out = append(out, w.s.say("do.cancel", args{"cancel": a.offer(w.leave(o))}))
	}
	if o.takes(w.w.Main.Details) || o.takes(en.Main.Details) {
		if word := o.free([]string{w.w.Main.Details}, w.w.Details, en.Details); word != "" {
			out = append(out, w.s.say("do.details", args{"details": a.offer(word)}))
		}
	}
	return out
}

// here picks the form of a sentence for a shared conversation, where there is one.
func (w *writer) here(key string) string {
	if w.Shared {
		return key + ".shared"
	}
	return key
}

// choosing says how options are named, and makes their buttons.
func (w *writer) choosing(a *asking, o choices) [][]seg {
	n := len(o.options)
	if n == 0 {
		return nil
	}
	if !o.multi {
		key := "do.number"
		if o.lettered {
			key = "do.letter"
		}
		for i, x := range o.options {
			a.button(o.position(i)+") "+oneLine(x.Label), o.position(i))
		}
		return [][]seg{w.s.say(key, args{"reply": w.reply(), "first": w.typed(o.position(0)), "last": w.typed(o.position(n - 1))})}
	}
	key := "do.numbers"
	if o.lettered {
		key = "do.letters"
	}
	out := [][]seg{w.s.say(key, args{"reply": w.reply(), "example": a.offer(o.example())})}
	all, none := "", ""
	if o.most >= n {
		all = o.free([]string{w.w.Main.All}, w.w.All)
	}
	if o.least == 0 {
		none = o.free([]string{w.w.Main.None}, w.w.None)
	}
	switch {
	case all != "" && none != "":
		out = append(out, w.s.say("do.all.none", args{"all": a.offer(all), "none": a.offer(none)}))
	case all != "":
		out = append(out, w.s.say("do.all", args{"all": a.offer(all)}))
	case none != "":
		out = append(out, w.s.say("do.none", args{"none": a.offer(none)}))
	}
	return out
}

// example is a reply that chooses several, as many as may be.
func (c choices) example() string {
	n := len(c.options)
	want := min(max(2, c.least), max(c.most, 1), n)
	var out []string
	for i := 0; len(out) < want; i++ {
		if i == 1 && want == 2 && n > 2 {
			continue // "1, 3" shows better than "1, 2" that it is no range
		}
		out = append(out, c.position(i))
	}
	return strings.Join(out, ", ")
}

// takeDefault names the word that takes the defaults, and what they are.
func (w *writer) takeDefault(a *asking, q core.Question, o choices) []seg {
	lists := [][]string{w.w.Ok, {w.w.Main.Default}, w.w.Default}
	if q.FreeText {
		lists = lists[1:] // "ok" may be meant as the answer itself
	}
	word := o.free(lists...)
	if word == "" {
		return nil
	}
	a.button(w.s.text["button.default"], word)
	var names []string
	for _, d := range q.Defaults {
		i := slices.IndexFunc(q.Options, func(x core.Option) bool { return x.Value == d })
		if i >= 0 {
			d = q.Options[i].Label
		}
		names = append(names, clip(oneLine(d), 80))
	}
	if len(names) == 0 {
		return w.s.say("do.default.none", args{"default": a.offer(word)})
	}
	return w.s.say("do.default", args{"default": a.offer(word), "value": {plain, w.s.list("list.and", names)}})
}
