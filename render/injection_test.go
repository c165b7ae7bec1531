package render

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"parley/core"
	"parley/core/coretest"
)

func injections(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/injections.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return append(out, "bytes \xff\xfe \xc3", coretest.Hostile)
}

// everywhere renders s in every place where somebody else's text may stand.
func everywhere(v View, s string) map[string][]Part {
	quoted, _ := json.Marshal(map[string]string{"x": s, s: "y"})
	in := coretest.Input("approval")
	in.Message, in.Tool, in.Source, in.Rule, in.Hash, in.Arguments = s, s, s, s, s, quoted
	v.Agent, v.Names = s, func(core.PersonID) string { return s }
	q := coretest.Input("question-multi")
	q.Message, q.Questions[0].Prompt, q.Questions[0].Options[0].Label = s, s, s
	f := coretest.Input("form-string")
	f.Message = s
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"f": map[string]any{"type": "string", "title": s, "description": s, "default": s}}})
	f.Schema = schema
	u := coretest.Input("url")
	u.Message = s
	ended := coretest.Ended(in, core.InputDeclined, &core.Answer{Action: core.ActionDecline, Reason: s})
	return map[string][]Part{
		"reply": Reply(v, s), "approval": Prompt(v, in), "question": Prompt(v, q), "form": Prompt(v, f), "url": Prompt(v, u), "link": Link(v, u),
		"closed": Closed(v, ended, nil), "details": Note(v, NoteData{Code: core.NoteDetails, Input: &in}),
		"aborted": Note(v, NoteData{Code: core.NoteAborted, Person: "x:1", Text: s}),
		"inbox":   Note(v, NoteData{Code: core.NoteInbox, Inputs: []core.Input{q, in}}),
	}
}

func TestInjectionsAreInert(t *testing.T) {
	t.Parallel()
	for _, d := range TestDialects() {
		for i, s := range injections(t) {
			for where, parts := range everywhere(view(d), s) {
				for _, p := range parts {
					if where == "reply" {
						p = withoutReplyMarks(d, p)
					}
					if bad := live(d, p); bad != "" {
						t.Errorf("%s, %s, corpus %d: %s in\n%.600q", d.Name, where, i, bad, p.Text)
					}
				}
			}
		}
	}
}

func TestGoldenInjections(t *testing.T) {
	t.Parallel()
	for _, d := range TestDialects() {
		var b strings.Builder
		for i, s := range injections(t) {
			if len(s) > 2000 {
				continue // their splits are checked by rule
			}
			q := coretest.Input("question-multi")
			q.Questions[0].Prompt, q.Questions[0].Options[0].Label = s, s
			args, _ := json.Marshal(s)
			fmt.Fprintf(&b, "==== %d\n%s%s%s", i, dump(Reply(view(d), s)), dump(Prompt(view(d), q)),
				dump(Note(view(d), NoteData{Code: core.NoteDetails, Input: &core.Input{Tool: "t", Arguments: args}})))
		}
		golden(t, "injections/"+d.Name+".txt", b.String())
	}
}

// The checks below are written apart from the code that they check.

var (
	unseen = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{200b}\x{200e}\x{200f}` +
		`\x{2028}-\x{202e}\x{2061}-\x{206f}\x{2800}\x{3164}\x{fe00}-\x{fe0d}\x{feff}\x{ffa0}\x{fff9}-\x{fffb}\x{e0000}-\x{e0fff}]`)
	fences     = regexp.MustCompile("(?s)```.*?```")
	codeSpans  = regexp.MustCompile("`[^`\n]+`")
	entity     = regexp.MustCompile(`&(amp|lt|gt);`)
	pair       = regexp.MustCompile(`\\[!-/:-@\[-` + "`" + `{-~]`)
	ourBold    = regexp.MustCompile(`(?m)^◈ (\*\*?)(.+?)\*\*?$`)
	bareURL    = regexp.MustCompile(`(?m)^<?https://[^\s<>]+>?$`)
	mail       = regexp.MustCompile(`[A-Za-z0-9]@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}([^\pL\pN_@]|$)`)
	everyone   = regexp.MustCompile(`(?i)@(everyone|here|channel)`)
	ping       = regexp.MustCompile(`@[^\s\x{2060}]`)
	tag        = regexp.MustCompile(`#[\pL\pN_]|(^|[\s(])/[A-Za-z]`)
	isolate    = regexp.MustCompile(`\x{2068}[^\n\x{2068}\x{2069}]*\x{2069}`)
	forged     = regexp.MustCompile(`(?m)^◈ \**Approved`)
	emphasised = regexp.MustCompile(`(^|[^\pL\pN])([*_~])[^\s\x{2060}]`)
)

// live says what of a part would do something on its platform; "" is nothing.
func live(d Dialect, p Part) string {
	p.Text, p.Plain = unisolated(p.Text), unisolated(p.Plain)
	switch {
	case !utf8.ValidString(p.Text) || !utf8.ValidString(p.Plain):
		return "invalid UTF-8"
	case unseen.MatchString(p.Text):
		return fmt.Sprintf("hidden character %q", unseen.FindString(p.Text))
	case d.Limit > 0 && len(utf16.Encode([]rune(p.Text))) > d.Limit, d.Limit > 0 && len(utf16.Encode([]rune(p.Plain))) > d.Limit:
		return fmt.Sprintf("too long (%d)", len(utf16.Encode([]rune(p.Text))))
	case strings.TrimSpace(p.Text) == "":
		return "blank part"
	case forged.MatchString(p.Text):
		return "forged line"
	case d.Style != Plain && pinging(p.Plain) != "":
		return "ping in the plain form"
	}
	return map[Style]func(Part) string{Plain: func(Part) string { return "" }, Entities: liveEntities, Mrkdwn: liveMrkdwn, Markdown: liveMarkdown}[d.Style](p)
}

// pinging is what of a text mentions somebody. The sign of a mail address does not.
func pinging(s string) string {
	return ping.FindString(everyone.FindString(s) + mail.ReplaceAllStringFunc(s, func(m string) string { return strings.Replace(m, "@", "", 1) }))
}

// unisolated takes out the pairs of marks that keep the direction of a value to itself. One that is left has
// lost its partner, or came from somebody else.
func unisolated(s string) string {
	for {
		t := isolate.ReplaceAllStringFunc(s, func(m string) string { return joiner + m[3:len(m)-3] + joiner })
		if t == s {
			return s
		}
		s = t
	}
}

var (
	replyURL       = regexp.MustCompile(`https?://[A-Za-z0-9][A-Za-z0-9._~/?#&=+%,;:!$-]*`)
	angleURL       = regexp.MustCompile(`<https?://[A-Za-z0-9](?:[A-Za-z0-9._~/?#=+%,;:!$-]|&amp;|&)*>`)
	mrkdwnStrong   = regexp.MustCompile(`(?m)(^|[\s([{"'])\*([^*\s](?:[^*\n]*[^*\s])?)\*`)
	markdownStrong = regexp.MustCompile(`(?m)(^|[^\\*]|\\\\)\*\*((?:[^*\\\n]|\\.)+)\*\*`)
)

// withoutReplyMarks takes out the marks that an agent's reply may have: bold, and addresses as they are.
func withoutReplyMarks(d Dialect, p Part) Part {
	switch d.Style {
	case Entities:
		p.Text = replyURL.ReplaceAllStringFunc(p.Text, func(u string) string { return strings.Repeat("u", len(u)) })
	case Mrkdwn:
		p.Text = mrkdwnStrong.ReplaceAllString(angleURL.ReplaceAllString(p.Text, "u"), "$1$2")
	case Markdown:
		p.Text = markdownStrong.ReplaceAllString(angleURL.ReplaceAllString(p.Text, "u"), "${1}x$2")
	}
	return p
}

func liveEntities(p Part) string {
	u := utf16.Encode([]rune(p.Text))
	rest, at := "", 0
	for _, s := range p.Spans {
		if s.Start < at || s.Length <= 0 || s.Start+s.Length > len(u) {
			return fmt.Sprintf("span %v out of order or bounds", s)
		}
		if s.Kind != Bold {
			rest += string(utf16.Decode(u[at:s.Start])) + "\x00"
			at = s.Start + s.Length
		}
	}
	rest += string(utf16.Decode(u[at:]))
	rest = bareURL.ReplaceAllString(rest, "")
	if m := pinging(rest) + tag.FindString(rest); m != "" {
		return fmt.Sprintf("mention, tag or command %q", m)
	}
	return ""
}

func liveMrkdwn(p Part) string {
	s := bareURL.ReplaceAllString(p.Text, "")
	if strings.ContainsAny(s, "<>") || strings.Contains(entity.ReplaceAllString(s, ""), "&") {
		return "unescaped angle or ampersand"
	}
	if strings.Count(s, "```")%2 != 0 {
		return "unbalanced fence"
	}
	s = strings.ReplaceAll(fences.ReplaceAllString(s, ""), joiner+"`"+joiner, "")
	s = codeSpans.ReplaceAllString(s, "")
	s = ourBold.ReplaceAllString(s, "$2")
	if strings.Contains(s, "`") || emphasised.MatchString(s) {
		return "live mark " + emphasised.FindString(s)
	}
	return ""
}

func liveMarkdown(p Part) string {
	if strings.Count(p.Text, "```")%2 != 0 {
		return "unbalanced fence"
	}
	s := pair.ReplaceAllString(fences.ReplaceAllString(p.Text, ""), "·")
	s = bareURL.ReplaceAllString(codeSpans.ReplaceAllString(s, ""), "")
	s = ourBold.ReplaceAllString(s, "$2")
	s = regexp.MustCompile(`(?m)^> `).ReplaceAllString(s, "")
	s = regexp.MustCompile(`(?m)^([a-z]|\d+)\) `).ReplaceAllString(s, "")
	if i := strings.IndexAny(s, "\\`*_~|<>[]#"); i >= 0 {
		return fmt.Sprintf("live mark %q", s[i:min(len(s), i+12)])
	}
	if m := regexp.MustCompile(`(?m)^ *([-+]|\d+\.) |^ *[-=]+$`).FindString(s); m != "" {
		return "live line start " + m
	}
	if pinging(s) != "" {
		return "live ping"
	}
	return ""
}
