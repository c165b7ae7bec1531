package render

import "strings"

// drawing is a part being written: Text with its spans, and Plain beside it.
type drawing struct {
	style       Style
	text, plain strings.Builder
	at          int // length of text in UTF-16 code units
	spans       []Span
}

// draw writes the blocks of one part.
func draw(style Style, blocks []block) Part {
	d := &drawing{style: style}
	for i, b := range blocks {
		if i > 0 {
			d.gap(blocks[i-1], b)
		}
		d.block(b)
	}
	return Part{Text: d.text.String(), Plain: d.plain.String(), Spans: d.spans}
}

// gap ends the block before. A reply's own line feed does for one.
func (d *drawing) gap(before, b block) {
	if before.kind != prose || !strings.HasSuffix(before.text, "\n") {
		d.both("\n")
	}
	if before.kind == quote && d.style == Markdown && !b.empty() {
		d.both("\n") // else the next line would count as part of the quote
	}
}

func (d *drawing) both(s string) {
	d.marked(s)
	d.plain.WriteString(s)
}

// marked writes to Text alone.
func (d *drawing) marked(s string) {
	d.text.WriteString(s)
	d.at += units(s)
}

func (d *drawing) span(kind SpanKind, from int) {
	if d.style == Entities && d.at > from {
		d.spans = append(d.spans, Span{Kind: kind, Start: from, Length: d.at - from})
	}
}

func (d *drawing) block(b block) {
	switch b.kind {
	case para:
		for i, s := range b.segs {
			d.seg(s, i == 0)
			if d.style == Mrkdwn && i+1 < len(b.segs) && shortcodeBegins.MatchString(s.text) && shortcodeEnds.MatchString(b.segs[i+1].text) {
				d.marked(joiner) // a colon costs enough for it
			}
		}
	case pre:
		d.pre(b)
	default:
		for i, l := range strings.Split(b.text, "\n") {
			if i > 0 {
				d.both("\n")
			}
			if b.kind == quote {
				d.marked(quoteMark(d.style))
				if !fenced(d.style) {
					d.plain.WriteString(quoteMark(d.style))
				}
			}
			if b.kind == prose {
				d.reply(l)
			} else {
				d.running(l, true)
			}
		}
	}
}

// running writes a line of running text, or what is left of one.
func (d *drawing) running(s string, start bool) {
	d.marked(escape(d.style, s, start))
	d.plain.WriteString(d.safe(s))
}

// safe is s for Plain: no marks, and nothing that pings.
func (d *drawing) safe(s string) string {
	if d.style == Plain {
		return s
	}
	return dead(s)
}

func (d *drawing) seg(s seg, start bool) {
	from := d.at
	switch {
	case s.kind == link:
		d.link(s.text)
	case s.spans(d.style) && d.style == Entities:
		d.marked(s.text)
		d.plain.WriteString(d.safe(s.text))
		d.span(Code, from)
	case s.spans(d.style):
		d.marked("`" + literal(d.style, s.text) + "`")
		d.plain.WriteString(d.safe(s.text))
	case s.kind == bold:
		mark := [...]string{"", "", "*", "**"}[d.style]
		d.marked(mark)
		d.running(s.text, false)
		d.marked(mark)
		d.span(Bold, from)
	case s.kind == own && d.style == Entities:
		d.both(s.text) // its commands may work
	default:
		d.running(s.text, start)
	}
}

// link writes an address exactly. Where a style would take a sign at its end for the sentence's, or cannot
// show it bare, it stands in angle brackets, which readers do not see.
func (d *drawing) link(url string) {
	bracket := d.style == Mrkdwn || d.style == Markdown && strings.ContainsAny(url[len(url)-1:], ".,:;!?\"')]*_~|")
	switch {
	case strings.ContainsAny(url, "<>|\" \\`") && d.style != Plain:
		d.marked(escape(d.style, url, true)) // no platform would link it
	case bracket:
		d.marked("<" + d.address(url) + ">")
	default:
		d.marked(url)
	}
	d.plain.WriteString(url)
}

func (d *drawing) address(url string) string {
	if d.style == Mrkdwn {
		return entitiesOnly.Replace(url)
	}
	return url
}

// pre writes literal text, in a fence where the style has them.
func (d *drawing) pre(b block) {
	info := ""
	if d.style == Markdown {
		info = b.info
	}
	if fenced(d.style) {
		d.marked("```" + info + "\n" + literal(d.style, b.text) + "\n```")
	} else {
		from := d.at
		d.marked(b.text)
		d.span(Pre, from)
	}
	d.plain.WriteString(d.safe(b.text))
}
