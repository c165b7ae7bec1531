package render

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
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
// number end in .zero, .one, .two, .few, .many or .other, as the plurals of the language go.
//
//go:embed lang/*.json
var langFiles embed.FS

// sentences are the sentences of one language, English ones where it has none.
type sentences struct {
	tag  language.Tag
	text map[string]string
	// rtl says that the language is written from right to left.
	rtl bool
}

var languages = sync.OnceValue(func() map[string]*sentences {
	all, err := readLanguages(langFiles, "lang")
	if err != nil {
		panic("render: the languages built in cannot be read: " + err.Error())
	}
	return all
})

// readLanguages reads every language file of a folder, by tag.
func readLanguages(from fs.FS, dir string) (map[string]*sentences, error) {
	files, err := fs.ReadDir(from, dir)
	if err != nil {
		return nil, err
	}
	own := map[string]map[string]string{}
	for _, f := range files {
		data, err := fs.ReadFile(from, path.Join(dir, f.Name()))
		m := map[string]string{}
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			return nil, fmt.Errorf("language file %s: %w", f.Name(), err)
		}
		own[strings.TrimSuffix(f.Name(), path.Ext(f.Name()))] = m
	}
	all := map[string]*sentences{}
	for tag, m := range own {
		merged := map[string]string{}
		maps.Copy(merged, own["en"])
		maps.Copy(merged, m)
		s := &sentences{tag: language.Make(tag), text: merged}
		script, _ := s.tag.Script()
		s.rtl = slices.Contains(rightToLeft, script.String())
		all[tag] = s
	}
	return all, nil
}

// rightToLeft are the scripts written so that languages of today use.
var rightToLeft = []string{"Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm"}

// speak finds the sentences of a language; English ones where it has no file.
func speak(tag string) *sentences {
	if s, ok := languages()[tag]; ok {
		return s
	}
	return languages()["en"]
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
		out = append(out, s.isolated(value)...)
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
	if len(names) == 1 {
		return names[0]
	}
	apart := make([]string, len(names))
	for i, name := range names {
		apart[i] = flatten(s.isolated(seg{plain, name}))
	}
	last := len(apart) - 1
	front := strings.Join(apart[:last], s.text["list.comma"])
	return strings.NewReplacer("{a}", front, "{b}", apart[last]).Replace(s.text[key])
}

// in is a length of time in the greatest unit of which there are at least two, to the nearest one; less than a
// minute is in seconds.
func (s *sentences) in(d time.Duration) string {
	nearest := func(unit time.Duration) int { return int(d.Round(unit) / unit) }
	key, n := "minutes", nearest(time.Minute)
	switch {
	case nearest(time.Second) < 60:
		key, n = "seconds", nearest(time.Second)
	case nearest(time.Hour) >= 48:
		key, n = "days", nearest(24*time.Hour)
	case n >= 120:
		key, n = "hours", nearest(time.Hour)
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
