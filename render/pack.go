package render

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// packing deals blocks out to parts of at most limit code units. A block that does not fit a part goes on in
// the next: at a paragraph, a line, a space, or else between two graphemes.
type packing struct {
	style Style
	limit int
	parts [][]block
	room  int // left in the last part
	// head opens every part but the first; foot closes a part within a literal text, and cut within one of its lines.
	head, foot, cut []block
}

func newPacking(d Dialect) *packing { return &packing{style: d.Style, limit: d.Limit} }

// pack deals out body, then tail, which stays whole on the last part.
func (p *packing) pack(body, tail []block) [][]block {
	p.open(nil)
	for _, b := range body {
		p.add(b)
	}
	if cost := p.cost(tail); cost > p.room {
		p.open(p.head)
		for len(tail) > 0 && tail[0].empty() {
			tail = tail[1:]
		}
	}
	for _, b := range tail {
		p.add(b)
	}
	return p.parts
}

func (p *packing) cost(blocks []block) int {
	n := 0
	for _, b := range blocks {
		n += b.cost(p.style)
	}
	return n
}

func (p *packing) open(head []block) {
	p.parts = append(p.parts, append([]block(nil), head...))
	p.room = 1<<62 - 1
	if p.limit > 0 {
		p.room = p.limit - p.cost(head)
	}
}

func (p *packing) put(b block) {
	last := len(p.parts) - 1
	p.parts[last] = append(p.parts[last], b)
	p.room -= b.cost(p.style)
}

func (p *packing) fresh() bool { return len(p.parts[len(p.parts)-1]) == 0 }

// add puts b where it fits, whole if a part can hold it.
func (p *packing) add(b block) {
	switch cost := b.cost(p.style); {
	case cost <= p.room:
		p.put(b)
	case b.empty():
		// a blank line at the end of a part shows nothing
	case cost <= p.limit-p.cost(p.head) && b.kind != prose:
		p.open(p.head)
		p.put(b)
	case b.kind == para:
		p.addLine(b)
	default:
		p.addText(b)
	}
}

// addText puts as much of a text as fits into this part, and so on.
func (p *packing) addText(b block) {
	around := block{kind: b.kind, info: b.info}.cost(p.style)
	for rest := b.text; rest != ""; {
		if b.kind != prose && p.room < p.limit/4 || p.room <= around {
			p.open(p.head)
		}
		room := p.room - around
		all := block{kind: b.kind, info: b.info, text: rest}
		if p.fits(b.kind, rest, room) == len(rest) {
			p.put(all)
			return
		}
		if b.kind == pre {
			room -= max(p.cost(p.foot), p.cost(p.cut))
		}
		n, cut := p.cutAt(b.kind, rest, room)
		all.text = rest[:n]
		rest = rest[n:]
		foot := p.cut
		if b.kind != prose && !cut {
			rest, foot = rest[1:], p.foot // the line feed is the end of the part
		}
		p.put(all)
		if b.kind == pre {
			p.parts[len(p.parts)-1] = append(p.parts[len(p.parts)-1], foot...)
		}
		p.room = 0
	}
}

// addLine puts a line of ours whose values are too long for a part.
func (p *packing) addLine(b block) {
	if !p.fresh() {
		p.open(p.head)
	}
	var now []seg
	room := p.room - 1
	for _, s := range b.segs {
		for {
			if cost := s.cost(p.style); cost <= room {
				now = append(now, s)
				room -= cost
				break
			}
			n, _ := p.cutAt(para, s.text, room-8)
			if n > 0 {
				now = append(now, seg{s.kind, s.text[:n]})
				s.text = s.text[n:]
			}
			open := isolates(now)
			if len(now) > 0 {
				p.put(line(appendSeg(now, seg{plain, strings.Repeat(pdi, open)})...))
			}
			p.open(p.head)
			now, room = appendSeg(nil, seg{plain, strings.Repeat(fsi, open)}), p.room-1-open
		}
	}
	p.put(line(now...))
}

// cutAt finds where to cut s so that what comes before takes at most room. cut says that it is within a line;
// else s[n] is a line feed, except of prose, which keeps its line feeds before the cut.
func (p *packing) cutAt(kind blockKind, s string, room int) (n int, cut bool) {
	most := p.fits(kind, s, room)
	if most == len(s) {
		return most, true
	}
	if kind == prose {
		if i := strings.LastIndex(s[:most], "\n\n"); i > most/2 {
			return i + 2, false
		}
	}
	upTo := s[:most]
	if kind != prose && s[most] == '\n' {
		return most, false
	}
	if i := strings.LastIndexByte(upTo, '\n'); i > most/4 {
		if kind == prose {
			i++
		}
		return i, false
	}
	if i := strings.LastIndex(upTo, `\n`); kind == pre && i > most*3/4 && !escaped(s[:i]) {
		return i + 2, true
	}
	if i := strings.LastIndexByte(upTo, ' '); i > most/2 {
		return i, true
	}
	return whole(s, most), true
}

// fits is the greatest n at which s may be cut between characters with s[:n] taking at most room.
func (p *packing) fits(kind blockKind, s string, room int) int {
	costs, mark := &textCosts[p.style], 0
	switch kind {
	case pre:
		costs = &literalCosts[p.style]
	case quote:
		mark = units(quoteMark(p.style))
	}
	for i, r := range s {
		room -= costs.rune(r)
		if r == '\n' {
			room -= mark
		}
		if room < 0 {
			return max(i, oneRune(s, i))
		}
	}
	return len(s)
}

// oneRune makes sure that a cut goes on: with no room at all one character is put all the same.
func oneRune(s string, i int) int {
	if i > 0 {
		return i
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// whole moves a cut at most backwards so that it does not split a grapheme, one of our visible escapes or a
// mask. A single one that is longer than all the room is split after all.
func whole(s string, most int) int {
	n := most
	if i := strings.LastIndex(s[:n], "‹"); i > 0 && n-i < 120 && !strings.Contains(s[i:n], "›") {
		n = i
	}
	if i := strings.LastIndex(s[:n], `\u{`); i > 0 && n-i < 10 && !strings.Contains(s[i:n], "}") {
		n = i
	}
	if escaped(s[:n]) && n > 1 {
		n--
	}
	from := n
	for from > 0 && s[from-1] >= utf8.RuneSelf {
		from--
	}
	from = max(0, from-1) // an ASCII character begins a grapheme
	end := from
	for g := graphemes.FromString(s[from:]); g.Next(); {
		if end+len(g.Value()) > n {
			break
		}
		end += len(g.Value())
	}
	if end == 0 {
		return most
	}
	return end
}

// escaped reports whether s ends in a backslash that escapes what comes next.
func escaped(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}
