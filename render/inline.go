package render

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An agent writes Markdown. Of it a reply shows what cannot deceive: **bold**, `code`, fenced code, headings,
// bullets, and links as their text with the whole address beside it. Everything else stays as it was written,
// escaped. A scanner of our own does this within one line, rather than a Markdown parser over the whole: what
// it does not know is text, no construct reaches over a line or a part, and nothing is nested but bold around
// one of the others, so that no input can make it emit a mark that it does not close.

var (
	bullet  = regexp.MustCompile(`^([ \t]*)[-*+][ \t]+(\S.*)$`)
	heading = regexp.MustCompile(`^#{1,6}[ \t]+([^*]+)$`)
	// webAddress is an address of which every style can show each character. It has no user info.
	webAddress = regexp.MustCompile(`^https?://[A-Za-z0-9][A-Za-z0-9._~/?#&=+%,;:!$-]*`)
	shownLink  = regexp.MustCompile(`^!?\[([^\[\]]{0,300})\]\((https?://[A-Za-z0-9][A-Za-z0-9._~/?#&=+%,;:!$-]*)\)`)
)

// reply writes one line of an agent's reply.
func (d *drawing) reply(l string) {
	if d.style == Plain {
		d.running(l, true)
		return
	}
	start := true
	if m := bullet.FindStringSubmatch(l); m != nil {
		d.both(m[1] + "• ")
		l, start = m[2], false
	} else if m := heading.FindStringSubmatch(l); m != nil && strings.TrimSpace(m[1]) != "" {
		l = "**" + strings.TrimSpace(m[1]) + "**"
	}
	for _, s := range inline(d.style, l) {
		switch s.kind {
		case link:
			d.webLink(s.text)
		case plain:
			d.running(s.text, start)
		default:
			d.seg(s, false)
		}
		start = false
	}
}

// webLink writes an address that stands within text, so that the style takes no more for it and no less.
func (d *drawing) webLink(url string) {
	if fenced(d.style) {
		d.marked("<" + d.address(url) + ">")
	} else {
		d.marked(url)
	}
	d.plain.WriteString(url)
}

// inline takes a line apart into text, bold text, code and addresses.
func inline(style Style, l string) []seg {
	var out []seg
	done := 0
	add := func(segs ...seg) {
		for _, s := range segs {
			if n := len(out); s.kind == plain && n > 0 && out[n-1].kind == plain {
				out[n-1].text += s.text // so that what is escaped sees what it stands beside
				continue
			}
			out = appendSeg(out, s)
		}
	}
	for i := 0; i < len(l); {
		n, segs := inlineAt(style, l, i)
		if segs == nil {
			i += max(n, 1)
			continue
		}
		add(seg{plain, l[done:i]})
		add(segs...)
		i += n
		done = i
	}
	add(seg{plain, l[done:]})
	return out
}

// inlineAt reads what begins at l[i]: how long it is, and what it becomes; nil is the text that it is.
func inlineAt(style Style, l string, i int) (int, []seg) {
	switch rest := l[i:]; l[i] {
	case '`':
		return codeAt(style, l, i)
	case '*':
		return boldAt(style, l, i)
	case '!', '[':
		m := shownLink.FindStringSubmatch(rest)
		switch {
		case m == nil:
			return 0, nil
		case m[1] == "" || m[1] == m[2]:
			return len(m[0]), []seg{{link, m[2]}}
		}
		return len(m[0]), []seg{{plain, m[1] + " ("}, {link, m[2]}, {plain, ")"}}
	case '<':
		if url := addressIn(rest[1:]); url != "" && strings.HasPrefix(rest[1+len(url):], ">") {
			return len(url) + 2, []seg{{link, url}}
		}
	case 'h':
		if before, _ := utf8.DecodeLastRuneInString(l[:i]); !word(before) {
			if url := addressIn(rest); url != "" {
				return len(url), []seg{{link, url}}
			}
			return len(webAddress.FindString(rest)), nil // so that none is looked for within it
		}
	}
	return 0, nil
}

// addressIn is the address that s begins with, "" where it goes on in a way that another reader might count in.
func addressIn(s string) string {
	if !strings.HasPrefix(s, "http") {
		return ""
	}
	url := strings.TrimRight(webAddress.FindString(s), ".,;:!?_~")
	next, n := utf8.DecodeRuneInString(s[len(url):])
	if n == 0 || unicode.IsSpace(next) || strings.ContainsRune(".,;:!?_~)]}>'\"*`。、，；：！？）」』】", next) {
		return url
	}
	return ""
}

// codeAt reads code between single backticks.
func codeAt(style Style, l string, i int) (int, []seg) {
	n := strings.IndexByte(l[i+1:], '`')
	if n <= 0 {
		return runOf(l, i, '`'), nil
	}
	s, end := seg{code, l[i+1 : i+1+n]}, i+n+2
	if strings.TrimSpace(s.text) == "" || strings.HasPrefix(l[end:], "`") || !s.spans(style) || !apart(style, l, i, end) {
		return 0, nil
	}
	return end - i, []seg{s}
}

// boldAt reads text between two asterisks on each side. Around code or an address they are left out, since not
// every style can mark those twice.
func boldAt(style Style, l string, i int) (int, []seg) {
	run := runOf(l, i, '*')
	n := strings.IndexByte(l[i+run:], '*')
	if run != 2 || n <= 0 {
		return run, nil
	}
	text, end := l[i+2:i+2+n], i+n+4
	if runOf(l, i+2+n, '*') != 2 || strings.TrimSpace(text) != text || !apart(style, l, i, end) {
		return run, nil
	}
	if strings.Contains(text, "`") || strings.Contains(text, "](") || strings.Contains(text, "://") {
		return end - i, inline(style, text)
	}
	return end - i, []seg{{bold, text}}
}

// runOf is how many c stand at l[i:].
func runOf(l string, i int, c byte) int {
	n := 0
	for i+n < len(l) && l[i+n] == c {
		n++
	}
	return n
}

// apart reports whether the style takes the marks around l[i:end] for marks: Mrkdwn does not within a word.
func apart(style Style, l string, i, end int) bool {
	if style != Mrkdwn {
		return true
	}
	prev, _ := utf8.DecodeLastRuneInString(l[:i])
	next, _ := utf8.DecodeRuneInString(l[end:])
	return (i == 0 || unicode.IsSpace(prev) || strings.ContainsRune(`([{"'`, prev)) &&
		(end == len(l) || unicode.IsSpace(next) || strings.ContainsRune(`.,;:!?)]}"'`, next))
}
