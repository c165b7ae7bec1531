package render

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// joiner is put where a dialect would make a mention or a mark of two characters and has no escape for it.
// Readers do not see it, parse drops it, and untrusted text has none: visible shows its own.
const joiner = "\u2060"

// units is the length of s in UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += runeUnits(r)
	}
	return n
}

func runeUnits(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// costs is the most that each ASCII character can take once escaped, wherever it stands, of Text or Plain.
type costs [utf8.RuneSelf]uint8

func (c *costs) of(s string) int {
	n := 0
	for _, r := range s {
		n += c.rune(r)
	}
	return n
}

func (c *costs) rune(r rune) int {
	if r < utf8.RuneSelf {
		return int(c[r])
	}
	return runeUnits(r)
}

// textCosts and literalCosts are by style, for running text and for code.
var textCosts, literalCosts = func() (text, literal [Markdown + 1]costs) {
	for style := Plain; style <= Markdown; style++ {
		for c := range utf8.RuneSelf {
			text[style][c], literal[style][c] = 1, 1
			if style != Plain && strings.ContainsRune("@#/<", rune(c)) {
				text[style][c], literal[style][c] = 2, 2
			}
		}
		if style == Markdown {
			for _, c := range markdownMarks + markdownStarts {
				text[style][c]++
			}
		}
		if style == Markdown || style == Mrkdwn {
			literal[style]['`'] = 2
		}
	}
	for _, c := range mrkdwnMarks {
		text[Mrkdwn][c] = 3
	}
	for c, e := range mrkdwnEntities {
		text[Mrkdwn][c], literal[Mrkdwn][c] = uint8(len(e)), uint8(len(e))
	}
	return text, literal
}()

const (
	markdownMarks  = "\\`*_~|<>[]()#!"
	markdownStarts = "-+=." // marks at the start of a line, or after digits there
	mrkdwnMarks    = "*_~`:"
)

// shortcode is the name of an emoji, which would be shown in its place; its halves may stand in two values.
var (
	shortcode       = regexp.MustCompile(`^:[\pL\pN_+'-]+:`)
	shortcodeBegins = regexp.MustCompile(`:[\pL\pN_+'-]*$`)
	shortcodeEnds   = regexp.MustCompile(`^[\pL\pN_+'-]*:`)
)

var mrkdwnEntities = map[rune]string{'&': "&amp;", '<': "&lt;", '>': "&gt;"}

// escape writes one line of running text so that the style shows it as it is. start says that the line
// begins with it.
func escape(style Style, s string, start bool) string {
	switch style {
	case Entities:
		return dead(s)
	case Mrkdwn:
		return escapeMrkdwn(s)
	case Markdown:
		return escapeMarkdown(s, start)
	default:
		return s
	}
}

func word(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// mailHost is the host of a mail address.
var mailHost = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}`)

// mailAt reports whether the sign at s[i] stands within a mail address, which no platform makes a mention of and which
// people copy. One that begins like a mention of everybody is none, since that is looked for within words too;
// and an address of the web with a user in it is none.
func mailAt(s string, i int) bool {
	if i == 0 || s[i] != '@' || !isAlnum(s[i-1]) {
		return false
	}
	host := mailHost.FindString(s[i+1 : min(len(s), i+1+maxMail)])
	next, _ := utf8.DecodeRuneInString(s[i+1+len(host):])
	if host == "" || word(next) || next == '@' || everybody.MatchString(host) {
		return false
	}
	before := s[max(0, i-maxMail):i]
	if from := strings.LastIndexAny(before, " \t"); from >= 0 {
		before = before[from+1:]
	}
	return len(before) < maxMail && !strings.Contains(before, "//")
}

// maxMail is how long the parts of a mail address are at most.
const maxMail = 254

// everybody begins like a mention of all who are in a room.
var everybody = regexp.MustCompile(`^(?i:everyone|here|channel)`)

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// dead puts a joiner into what a platform would make a mention, a tag, a command or a reference of. What stands
// behind s is not known: at its end it is taken for a letter.
func dead(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '@' && c != '#' && c != '/' && c != '<' {
			continue
		}
		next, n := utf8.DecodeRuneInString(s[i+1:])
		prev, _ := utf8.DecodeLastRuneInString(s[:i])
		live := false
		switch c {
		case '@', '<':
			live = !unicode.IsSpace(next) && !mailAt(s, i)
		case '#':
			live = n == 0 || word(next)
		case '/':
			live = (n == 0 || word(next)) && prev != '/' && (i == 0 || !word(prev))
		}
		if live {
			b.WriteString(s[done : i+1])
			b.WriteString(joiner)
			done = i + 1
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func escapeMrkdwn(s string) string {
	if !strings.ContainsAny(s, "&<>"+mrkdwnMarks) {
		return s
	}
	var b strings.Builder
	prev := rune(0)
	for i, r := range s {
		if e, ok := mrkdwnEntities[r]; ok {
			b.WriteString(e)
			prev = r
			continue
		}
		next, n := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case r == ':' && shortcode.MatchString(s[i:]):
			b.WriteString(":" + joiner)
		case r == '`', (r == '*' || r == '_' || r == '~') && marks(prev, next, n):
			b.WriteString(joiner + string(r) + joiner)
		default:
			b.WriteRune(r)
		}
		prev = r
	}
	return b.String()
}

// marks reports whether an emphasis character can open or close anything between prev and next; at the ends
// of a text, where what stands beside it is not known, it can.
func marks(prev, next rune, n int) bool {
	blank := n > 0 && unicode.IsSpace(next)
	letter := func(r rune) bool { return r != '_' && word(r) }
	return (!letter(prev) || !letter(next) || n == 0) && (!blank || !unicode.IsSpace(prev))
}

func escapeMarkdown(s string, start bool) string {
	var b strings.Builder
	lead := start // only blanks or digits so far
	digits := false
	for i, r := range s {
		switch {
		case r == '@' || r == '<':
			if r == '<' {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			if (i+1 == len(s) || s[i+1] != ' ') && !mailAt(s, i) {
				b.WriteString(joiner)
			}
		case strings.ContainsRune(markdownMarks, r),
			lead && (r == '-' || r == '+' || r == '=') && !digits,
			lead && r == '.' && digits:
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		if r >= '0' && r <= '9' {
			digits = true
		} else if !unicode.IsSpace(r) {
			lead = false
		}
	}
	return b.String()
}

// literal writes text that stands within a code span or a fence.
func literal(style Style, s string) string {
	switch style {
	case Mrkdwn:
		return breakFences(entitiesOnly.Replace(s))
	case Markdown:
		return breakFences(s)
	default:
		return s
	}
}

var entitiesOnly = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// breakFences keeps backticks that stand together from closing a fence: inside one nothing can be escaped.
func breakFences(s string) string {
	if !strings.Contains(s, "``") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '`' && i+1 < len(s) && s[i+1] == '`' {
			b.WriteString(joiner)
		}
	}
	return b.String()
}
