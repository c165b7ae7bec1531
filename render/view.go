package render

import (
	"strings"
	"time"

	"parley/core"
	"parley/core/words"
)

// View is what rendering needs beside the value itself.
type View struct {
	Dialect Dialect
	// Lang is a BCP 47 tag; "" is English.
	Lang string
	// Agent is the agent's name as people know it.
	Agent string
	// Now is the time that "expires in" counts from; zero leaves only the point in time.
	Now time.Time
	// Shared says that other people read along.
	Shared bool
	// Names writes a person for this conversation; nil writes the id. It is escaped like any text.
	Names func(core.PersonID) string
	// Again says that this is a second copy, since the first may have gone through.
	Again bool
	// Apart says that the link of a URL step went to its asker alone: the prompt names the host only.
	Apart bool
}

// PlainText is what the person sees of parts, without marks and escapes, one part below the other: kept so
// that quoted lines of a prompt are known again.
func PlainText(parts []Part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = strings.ReplaceAll(p.Plain, joiner, "")
	}
	return strings.Join(texts, "\n")
}

// writer puts sentences together for one view.
type writer struct {
	View
	s *sentences
	w *words.Language
}

// newWriter picks the sentences of the language that the words are of, so that a prompt speaks one language.
func newWriter(v View) *writer {
	w := words.For(v.Lang)
	return &writer{View: v, s: speak(w.Tag), w: w}
}

func (w *writer) line(key string, a args) block { return line(w.s.say(key, a)...) }

// head is a line that opens what Parley says in its own name: no other text can begin with its mark.
func (w *writer) head(s string) block {
	return line(seg{plain, mark + " "}, seg{bold, s})
}

func (w *writer) person(p core.PersonID) string {
	if p == "" {
		return w.s.text["person.none"]
	}
	if w.Names != nil {
		if name := oneLine(w.Names(p)); name != "" {
			return clip(name, 60)
		}
	}
	return clip(oneLine(string(p)), 100)
}

// maxNames is how many of those who may answer are named; the others are counted.
const maxNames = 12

func (w *writer) people(ps []core.PersonID, key string) string {
	var names []string
	for i, p := range ps {
		if i == maxNames && len(ps) > maxNames+1 {
			names = append(names, w.s.flat("who.more", args{"n": number(len(ps) - maxNames)}))
			break
		}
		names = append(names, w.person(p))
	}
	return w.s.list(key, names)
}

func (w *writer) agent() seg {
	if oneLine(w.Agent) == "" {
		return seg{plain, w.s.text["agent.none"]}
	}
	return text(clip(oneLine(w.Agent), 80))
}

// tool names the tool of an input as the model calls it.
func (w *writer) tool(in core.Input) seg {
	name := in.Tool
	if in.Source != "" && !strings.HasPrefix(name, in.Source+"__") {
		name = in.Source + "__" + name
	}
	return seg{code, clip(oneLine(name), 120)}
}

// typed is a word to type, set off from the sentence it stands in: by the style, or by the marks that the
// language quotes with where the style has none. English has none either, its words being short.
func (w *writer) typed(s string) seg {
	if w.Dialect.Style == Plain {
		s = strings.Replace(w.s.text["typed"], "{word}", s, 1)
	}
	return seg{code, s}
}

// clip shortens text that is only named, with a visible mark. Nothing that runs is ever clipped.
func clip(s string, most int) string {
	if runes(s) <= most {
		return s
	}
	i := 0
	for n := range s {
		if i++; i == most {
			return s[:whole(s, n)] + "…"
		}
	}
	return s
}
