package words

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// MaxPosition is the greatest position that has a name.
const MaxPosition = 99

// Place is what a phrase such as "the second one" or "#2" points at.
type Place struct {
	N int // from 1
	// Plain says that the phrase is nothing but the number: "2", "two".
	Plain bool
}

// Places holds the phrases that name positions in a language or in English.
type Places struct {
	Numbers map[string]Place // "2", "option two", "the 2nd"
	Letters map[string]Place // "b", "option b"
}

var places sync.Map // of *Places by tag

// PlacesOf returns the positions as they are named in a language or in English. The result is shared: it
// must not be changed.
func PlacesOf(tag string) *Places {
	l := For(tag)
	if p, ok := places.Load(l.Tag); ok {
		return p.(*Places)
	}
	p := &Places{Numbers: map[string]Place{}, Letters: map[string]Place{}}
	p.add(For("en"))
	for _, c := range l.Clash {
		delete(p.Numbers, c)
	}
	if l.Tag != "en" {
		p.add(l)
	}
	got, _ := places.LoadOrStore(l.Tag, p)
	return got.(*Places)
}

func (p *Places) add(l *Language) {
	for _, form := range l.Positions {
		switch {
		case strings.Contains(form, "{n}"):
			for n := 1; n <= MaxPosition; n++ {
				p.number(strings.Replace(form, "{n}", strconv.Itoa(n), 1), n, form == "{n}")
			}
			for n := 1; n <= 26; n++ {
				p.Letters[strings.Replace(form, "{n}", Position(n-1, true), 1)] = Place{n, form == "{n}"}
			}
		case strings.Contains(form, "{w}"):
			p.words(form, "{w}", l.Numbers)
		case strings.Contains(form, "{o}"):
			p.words(form, "{o}", l.Ordinals)
		}
	}
}

func (p *Places) words(form, hole string, of [][]string) {
	for i, same := range of {
		for _, w := range same {
			p.number(strings.Replace(form, hole, w, 1), i+1, form == "{w}")
		}
	}
}

// number adds a phrase. One that means another number in another language is dropped for good: N is 0.
func (p *Places) number(phrase string, n int, plain bool) {
	phrase = alike.Replace(phrase)
	if old, ok := p.Numbers[phrase]; ok && old.N != n {
		n = 0
	}
	p.Numbers[phrase] = Place{n, plain}
}

// Position names option i, counted from 0, as a prompt shows it: "1" or "a".
func Position(i int, lettered bool) string {
	if lettered && i < 26 {
		return string(rune('a' + i))
	}
	return strconv.Itoa(i + 1)
}

// Lettered reports whether options are shown as letters: when a label reads as a position among them, a
// number would have two meanings. render and parse both ask here.
func Lettered(labels []string, tag string) bool {
	if len(labels) > 26 {
		return false
	}
	p := PlacesOf(tag)
	for _, l := range labels {
		if at := p.Numbers[plain(l)]; at.N >= 1 && at.N <= len(labels) {
			return true
		}
	}
	return false
}

// alike writes letters that are typed for one another as one.
var alike = strings.NewReplacer("ё", "е", "ı", "i")

// plain is the folding of a label as far as a position needs it.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		d, ok := Digit(r)
		switch {
		case ok:
			return d
		case r >= '！' && r <= '～': // full width
			return unicode.ToLower(r - '！' + '!')
		case r >= '①' && r <= '⑨':
			return r - '①' + '1'
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Mn, r) && r >= 0xFE00, r == 0x20E3:
			return -1
		}
		return unicode.ToLower(r)
	}, s)
	return alike.Replace(strings.TrimRight(strings.Join(strings.Fields(s), " "), ".!"))
}

// Digit is the value of a decimal digit of any script as an ASCII digit; ok is false for every other rune.
func Digit(r rune) (d rune, ok bool) {
	if r < 0x80 {
		return r, r >= '0' && r <= '9'
	}
	for _, t := range unicode.Nd.R16 { // each range is whole tens, from a zero
		if r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10, r >= rune(t.Lo)
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10, r >= rune(t.Lo)
		}
	}
	return 0, false
}
