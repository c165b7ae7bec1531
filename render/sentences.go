package render

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// langFiles holds every sentence of this package: one file a language, named by its tag. A file is all that a
// language needs; what it leaves out is said in English. {names} are placeholders. Sentences that depend on a
// number end in .one, .few, .many or .other, as the language's plurals go.
//
//go:embed lang/*.json
var langFiles embed.FS

// sentences are the sentences of one language, English ones where it has none.
type sentences struct {
	tag  language.Tag
	text map[string]string
}

var languages = sync.OnceValue(func() map[string]*sentences {
	files, err := langFiles.ReadDir("lang")
	if err != nil {
		panic("render: the languages built in cannot be listed: " + err.Error())
	}
	own := map[string]map[string]string{}
	for _, f := range files {
		data, err := langFiles.ReadFile("lang/" + f.Name())
		m := map[string]string{}
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			panic(fmt.Sprintf("render: the language file %s built in cannot be read: %v", f.Name(), err))
		}
		own[strings.TrimSuffix(f.Name(), path.Ext(f.Name()))] = m
	}
	all := map[string]*sentences{}
	for tag, m := range own {
		merged := maps.Clone(own["en"])
		maps.Copy(merged, m)
		all[tag] = &sentences{tag: language.Make(tag), text: merged}
	}
	return all
})

// speak finds the sentences for a tag: its own, its base language's, or English.
func speak(tag string) *sentences {
	all := languages()
	if s, ok := all[strings.ToLower(tag)]; ok {
		return s
	}
	base, _ := language.Make(tag).Base()
	if s, ok := all[base.String()]; ok && tag != "" {
		return s
	}
	return all["en"]
}

// args are the values of a sentence's placeholders.
type args map[string]seg

func (s *sentences) has(key string) bool { return s.text[key] != "" }

// say is a sentence with its values in place. A placeholder without a value stays as it is written.
func (s *sentences) say(key string, values args) []seg {
	var out []seg
	rest, ok := s.text[key]
	if !ok {
		return []seg{{plain, key}} // a test demands every key that is used
	}
	for {
		before, after, found := strings.Cut(rest, "{")
		name, tail, closed := strings.Cut(after, "}")
		value, known := values[name]
		if !found || !closed || !known {
			return appendSeg(out, seg{own, rest})
		}
		out = appendSeg(out, seg{own, before})
		if value.text == "" {
			value = seg{plain, s.text["empty"]}
		}
		out = append(out, value)
		rest = tail
	}
}

func appendSeg(segs []seg, s seg) []seg {
	if s.text == "" {
		return segs
	}
	return append(segs, s)
}

// flat is a sentence as a string: for what stands within another one.
func (s *sentences) flat(key string, values args) string {
	var b strings.Builder
	for _, x := range s.say(key, values) {
		b.WriteString(x.text)
	}
	return b.String()
}

// many is the sentence of key for n of something.
func (s *sentences) many(key string, n int, values args) []seg {
	values = maps.Clone(values)
	if values == nil {
		values = args{}
	}
	values["n"] = number(n)
	form := [...]string{"other", "zero", "one", "two", "few", "many"}[plural.Cardinal.MatchPlural(s.tag, n, 0, 0, 0, 0)]
	if !s.has(key + "." + form) {
		form = "other"
	}
	return s.say(key+"."+form, values)
}

func number(n int) seg { return seg{plain, strconv.Itoa(n)} }

// list joins names with commas and a last "or" or "and".
func (s *sentences) list(key string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	last := names[len(names)-1]
	if len(names) == 1 {
		return last
	}
	front := strings.Join(names[:len(names)-1], s.text["list.comma"])
	return s.flat(key, args{"a": {plain, front}, "b": {plain, last}})
}

// in is a length of time in the greatest unit of which there are at least two, rounded down.
func (s *sentences) in(d time.Duration) string {
	key, n := "minutes", int(d/time.Minute)
	switch {
	case d >= 48*time.Hour:
		key, n = "days", int(d/(24*time.Hour))
	case d >= 2*time.Hour:
		key, n = "hours", int(d/time.Hour)
	}
	return flatten(s.many(key, max(n, 1), nil))
}

func flatten(segs []seg) string {
	var b strings.Builder
	for _, x := range segs {
		b.WriteString(x.text)
	}
	return b.String()
}

// when writes a time the same way for everybody who reads along.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// tags are the languages that have a file, in order.
func tags() []string { return slices.Sorted(maps.Keys(languages())) }
