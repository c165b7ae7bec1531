package render

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/core/coretest"
)

// The names of these tests are those of the bugs in other programs that they hold off.

func eachDialect(t *testing.T, check func(t *testing.T, v View)) {
	t.Parallel()
	for _, d := range TestDialects() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			check(t, view(d))
		})
	}
}

// shown is all literal text of parts in order, with the dialect's own signs undone: what a person reads.
func shown(v View, parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.File != nil {
			b.Write(p.File.Data)
			continue
		}
		s := strings.ReplaceAll(p.Text, joiner, "")
		chunk := s
		if fenced(v.Dialect.Style) {
			chunk = ""
			for _, m := range regexp.MustCompile("(?s)```(?:json)?\n(.*?)\n```").FindAllStringSubmatch(s, -1) {
				chunk += m[1]
			}
		} else if i := strings.Index(s, "Arguments:\n"); i >= 0 {
			chunk = s[i+len("Arguments:\n"):]
		} else {
			chunk = strings.TrimPrefix(s, "◈ (continued)\n")
		}
		if v.Dialect.Style == Mrkdwn {
			chunk = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(chunk)
		}
		if i := strings.Index(chunk, "\n◈ (this line goes on"); i >= 0 {
			chunk = chunk[:i]
		} else if i := strings.Index(chunk, "\n◈ (goes on"); i >= 0 {
			chunk = chunk[:i+1]
		}
		if fenced(v.Dialect.Style) && !strings.Contains(s, "(this line goes on") {
			chunk += "\n"
		}
		b.WriteString(chunk)
	}
	return b.String()
}

func TestRE01NothingIsCut(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		for _, name := range []string{"approval-long", "approval-code", "approval"} {
			in := coretest.Input(name)
			want, _ := Masked(in.Arguments, nil)
			if got := shown(v, Prompt(v, in)); !strings.Contains(got, want) {
				t.Errorf("%s: the arguments are not whole:\n%q\nin\n%q", name, want[max(0, len(want)-300):], got[max(0, len(got)-600):])
			}
		}
	})
}

func TestRE02TheLastPartSaysWhatIsAsked(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		for _, in := range coretest.Inputs() {
			parts := Prompt(v, in)
			last := strings.Split(strings.ReplaceAll(parts[len(parts)-1].Plain, joiner, ""), "\n")
			line := last[len(last)-1]
			for _, want := range map[core.Kind][]string{
				core.KindApproval: {"Run ", "approve", "deny"}, core.KindURL: {"done", "no"},
			}[in.Kind] {
				if !strings.Contains(line, want) {
					t.Errorf("%s: the last line %q lacks %q", in.ID, line, want)
				}
			}
			if !strings.Contains(line, "Reply") && !strings.Contains(line, "Write") {
				t.Errorf("%s: the last line %q asks for no reply", in.ID, line)
			}
			for _, p := range parts[:len(parts)-1] {
				if len(p.Buttons) > 0 {
					t.Errorf("%s: a part before the last has buttons", in.ID)
				}
			}
		}
	})
}

func TestRE03FencesStayWhole(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		v.Dialect.MaxParts = 0
		in := coretest.Input("approval-code")
		parts := Prompt(v, in)
		if v.Dialect.Limit > 0 && len(parts) < 2 {
			t.Fatalf("%d characters in %d part", len(in.Arguments), len(parts))
		}
		for i, p := range parts {
			if bad := live(v.Dialect, p); bad != "" {
				t.Errorf("part %d: %s", i+1, bad)
			}
		}
		code := "intro\n```go\n" + strings.Repeat("x := []int{1, 2, 3}\n", 450) + "```\nthe end"
		got := ""
		for i, p := range Reply(v, code) {
			if bad := live(v.Dialect, p); bad != "" {
				t.Errorf("reply, part %d: %s", i+1, bad)
			}
			got += "\n" + strings.TrimSuffix(p.Plain, "\n")
		}
		if n := strings.Count(got, "x := []int{1, 2, 3}"); n != 450 {
			t.Errorf("%d of 450 lines arrived", n)
		}
	})
}

func TestRE04NothingBreaksOut(t *testing.T) {
	args, _ := json.Marshal("x` <https://evil.example|Approve here> ``` *ALREADY APPROVED* [ok](https://evil.example)")
	eachDialect(t, func(t *testing.T, v View) {
		in := coretest.Input("approval")
		in.Arguments = args
		want := `"x` + "` <https://evil.example|Approve here> ``` *ALREADY APPROVED* [ok](https://evil.example)"
		parts := Prompt(v, in)
		if got := shown(v, parts); !strings.Contains(got, want) {
			t.Errorf("not shown literally: %q", got)
		}
		for _, p := range parts {
			if bad := live(v.Dialect, p); bad != "" {
				t.Error(bad)
			}
		}
	})
}

func TestRE06HiddenCharactersShow(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		parts := Prompt(v, coretest.Input("approval-hostile"))
		all := ""
		for _, p := range parts {
			all += strings.ReplaceAll(p.Plain, joiner, "")
		}
		for _, want := range []string{"202E", "2066", "2069", "200B", "2060", "FEFF", "2028", "E0100", "001B", "007F", "000D", "0000", "E0041"} {
			if !strings.Contains(all, `\u{`+want+`}`) {
				t.Errorf("U+%s is not shown", want)
			}
		}
		names := PlainText(Prompt(v, coretest.Input("approval-names")))
		for _, want := range []string{"אבג", "القاهرة", "👨‍👩‍👧‍👦", "café", "a_b-c.txt", `"n": 1.50`, `"n": 1e3`} {
			if !strings.Contains(names, want) {
				t.Errorf("%s is not readable", want)
			}
		}
	})
}

func TestRE08And09PlainFallback(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		in := coretest.Input("approval")
		in.Arguments = json.RawMessage(`{"path":"a_b-c.txt","marks":"_ * [ ] ( ) ~ > # + - = | { } . ! <b>"}`)
		for _, p := range Prompt(v, in) {
			if !strings.Contains(strings.ReplaceAll(p.Plain, joiner, ""), "_ * [ ] ( ) ~ > # + - = | { } . ! <b>") {
				t.Errorf("the plain form does not show the marks: %s", p.Plain)
			}
			if !strings.Contains(p.Plain, "a_b-c.txt") {
				t.Errorf("the plain form does not show a_b-c.txt: %s", p.Plain)
			}
		}
	})
}

func TestRE10SecretsAreMasked(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		for _, parts := range [][]Part{
			Prompt(v, coretest.Input("approval-secrets")), Prompt(v, coretest.Input("url-secret")),
			Closed(v, coretest.Ended(coretest.Input("approval-secrets"), core.InputAccepted, nil), nil),
			Note(v, NoteData{Code: core.NoteDetails, Input: ptr(coretest.Input("approval-secrets"))}),
		} {
			for _, p := range parts {
				all := p.Text + p.Plain
				for _, b := range p.Buttons {
					all += b.URL
				}
				for _, secret := range []string{"abcd1234", "efgh5678", "hunter2", "u:p@", "qqqq1111", "123-45", "ana:"} {
					if strings.Contains(all, secret) {
						t.Errorf("%s is shown in %s", secret, all)
					}
				}
				if !strings.Contains(all, "masked") {
					t.Errorf("nobody is told that something is masked: %s", all)
				}
			}
		}
	})
}

func ptr[T any](v T) *T { return &v }

func TestRE12TheAddressIsExact(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		for _, name := range []string{"url", "url-message", "url-scripts"} {
			in := coretest.Input(name)
			want := in.URL
			if v.Dialect.Style == Mrkdwn {
				want = strings.ReplaceAll(want, "&", "&amp;")
			}
			parts := Prompt(v, in)
			lines := strings.Split(parts[0].Text, "\n")
			found := false
			for _, l := range lines {
				found = found || l == want || l == "<"+want+">"
			}
			if !found {
				t.Errorf("%s: no line is exactly %s:\n%s", name, want, parts[0].Text)
			}
			if v.Dialect.Buttons && parts[0].Buttons[0].URL != in.URL {
				t.Errorf("%s: the button leads to %s", name, parts[0].Buttons[0].URL)
			}
		}
	})
}

func TestRE13ItNamesAllThatMatters(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		v.Shared = true
		v.Names = func(p core.PersonID) string {
			return map[core.PersonID]string{coretest.Asker: "Ana", coretest.Approver: "Ben"}[p]
		}
		text := PlainText(Prompt(v, coretest.Input("approval-batch")))
		for _, want := range []string{
			"Ops wants to run db__drop (source db) for Ana", `"name": "staging"`, "k3jx52aq", "Who may answer: Ana or Ben",
			"Expires in 7 days (2026-03-21 09:26 UTC)", "1 of 3, they run when all are answered", "Reply to this message with approve or deny",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	})
}

func TestRE14TheRuleThatApplied(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		for _, rule := range []string{"always", "destructive", "predicate"} {
			in := coretest.Input("approval")
			in.Rule = rule
			if text := PlainText(Prompt(v, in)); !strings.Contains(text, "by the rule "+rule+".") {
				t.Errorf("the rule %s is not named:\n%s", rule, text)
			}
		}
		in := coretest.Input("approval")
		in.Rule = ""
		if strings.Contains(PlainText(Prompt(v, in)), "by the rule") {
			t.Error("a rule is named where none applied")
		}
	})
}

func TestRE16LongOptionsKeepTheirNumbers(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		in := coretest.Input("question-long")
		parts := Prompt(v, in)
		text := PlainText(parts)
		for i, o := range in.Questions[0].Options {
			if !strings.Contains(text, fmt.Sprintf("%d) %s", i+1, strings.TrimSpace(o.Label))) {
				t.Errorf("option %d is not whole", i+1)
			}
		}
		if last := parts[len(parts)-1].Plain; len(parts) > 1 && !strings.Contains(last, "Which plan?") {
			t.Errorf("the last part does not say what is asked:\n%s", last)
		}
		for i, p := range parts {
			if bad := live(v.Dialect, p); bad != "" {
				t.Errorf("part %d: %s", i+1, bad)
			}
		}
	})
}

func TestFM12FreeTextIsToldApart(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		free, closed := PlainText(Prompt(v, coretest.Input("question-free"))), PlainText(Prompt(v, coretest.Input("question-single")))
		if !strings.Contains(free, "write your own; cancel to leave") || strings.Contains(free, "Only these answers") {
			t.Errorf("free text is not invited:\n%s", free)
		}
		if strings.Contains(closed, "write your own") || !strings.Contains(closed, "Only these answers count") {
			t.Errorf("free text is not ruled out:\n%s", closed)
		}
	})
}

func TestFM15SecretsAreNotAskedInPublic(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		in := coretest.Input("form-secret")
		if text := PlainText(Prompt(v, in)); !strings.Contains(text, "Write your answer") {
			t.Errorf("in private it is not asked:\n%s", text)
		}
		v.Shared = true
		for _, parts := range [][]Part{Prompt(v, in), Closed(v, in, nil)} {
			text := PlainText(parts)
			if strings.Contains(text, "Write your answer") || !strings.Contains(text, "never asked where others read along") || len(parts[0].Buttons) > 0 {
				t.Errorf("it is asked in public:\n%s", text)
			}
		}
		if Replies(v, in) != nil {
			t.Error("replies are offered")
		}
	})
}

func TestSecretField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schema string
		want         bool
	}{
		{"f", `{"type":"string"}`, false}, {"f", `{"type":"string","format":"password"}`, true}, {"f", `{"type":"string","writeOnly":true}`, true},
		{"apiKey", `{"type":"string"}`, true}, {"db_password", `{"type":"string"}`, true}, {"f", `x`, false},
	} {
		if got := SecretField(tt.name, json.RawMessage(tt.schema)); got != tt.want {
			t.Errorf("SecretField(%s, %s) = %v", tt.name, tt.schema, got)
		}
	}
}

func TestRP17WhatIsNamedIsShown(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		for _, in := range coretest.Inputs() {
			text := PlainText(Prompt(v, in))
			replies := Replies(v, in)
			if len(replies) == 0 {
				t.Errorf("%s: no replies", in.ID)
			}
			for _, r := range replies {
				if len(r) < 200 && !strings.Contains(text, r) {
					t.Errorf("%s: the reply %q is not named in\n%s", in.ID, r, text)
				}
			}
			parts := Prompt(v, in)
			for _, b := range parts[len(parts)-1].Buttons {
				if b.URL == "" && !strings.Contains(strings.Join(replies, "\x00")+"\x00", b.Reply+"\x00") || b.Input != in.ID {
					t.Errorf("%s: the button %v does what no typed reply does", in.ID, b)
				}
			}
		}
	})
}

func TestRP29NoSlashWhereItDoesNotArrive(t *testing.T) {
	command := regexp.MustCompile(`(^|[\s(])/[a-z]`)
	eachDialect(t, func(t *testing.T, v View) {
		if v.Dialect.Slash {
			return
		}
		for _, in := range coretest.Inputs() {
			if in.ID != "approval-hostile" && in.ID != "approval-code" && command.MatchString(PlainText(Prompt(v, in))) {
				t.Errorf("%s names a slash command", in.ID)
			}
		}
		for _, code := range noteCodes {
			if command.MatchString(PlainText(Note(v, NoteData{Code: code}))) {
				t.Errorf("the note %s names a slash command", code)
			}
		}
	})
}

func TestFilesBeforeThePrompt(t *testing.T) {
	t.Parallel()
	v := view(Dialect{Style: Entities, Limit: 4096, MaxParts: 2, Files: true, Buttons: true})
	in := coretest.Input("approval-code")
	parts := Prompt(v, in)
	want, _ := Masked(in.Arguments, nil)
	if len(parts) != 2 || parts[0].File == nil || string(parts[0].File.Data) != want || parts[0].Text == "" {
		t.Fatalf("want a file and the prompt, got %d parts: %+v", len(parts), parts[0])
	}
	if !strings.Contains(parts[1].Text, "in the file arguments.json above") || len(parts[1].Buttons) == 0 {
		t.Errorf("the prompt does not name its file:\n%s", parts[1].Text)
	}
	closed := Closed(v, coretest.Ended(in, core.InputAccepted, nil), nil)
	if len(closed) != 2 || closed[0].File == nil || !strings.Contains(closed[1].Text, "Approved by") {
		t.Errorf("closed: %+v", closed)
	}
}

func TestClosedHasThePartsOfThePrompt(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		for _, in := range coretest.Inputs() {
			prompt := Prompt(v, in)
			later := v
			later.Now = v.Now.Add(time.Hour)
			closed := Closed(later, coretest.Ended(in, core.InputExpired, nil), nil)
			if len(closed) != len(prompt) {
				t.Fatalf("%s: %d parts closed, %d asked", in.ID, len(closed), len(prompt))
			}
			for i, p := range closed {
				if len(p.Buttons) > 0 {
					t.Errorf("%s: buttons stay", in.ID)
				}
				if i < len(closed)-1 && p.Text != prompt[i].Text {
					t.Errorf("%s: part %d changes", in.ID, i+1)
				}
				if bad := live(v.Dialect, p); bad != "" {
					t.Errorf("%s: %s", in.ID, bad)
				}
			}
			if last := closed[len(closed)-1].Plain; !strings.HasPrefix(last, "◈ Expired at") {
				t.Errorf("%s: it does not say how it ended:\n%s", in.ID, last)
			}
		}
	})
}

// Whatever the length of the arguments, the terms and the replies stand together on the last part, and what
// replaces it fits.
func TestEveryLengthOfArguments(t *testing.T) {
	eachDialect(t, func(t *testing.T, v View) {
		if v.Dialect.Limit == 0 {
			t.Skip("no limit")
		}
		for n := v.Dialect.Limit - 700; n < v.Dialect.Limit+100; n += 7 {
			in := coretest.Input("approval")
			in.Arguments = json.RawMessage(`{"x":"` + strings.Repeat("a", n) + `"}`)
			prompt := Prompt(v, in)
			last := prompt[len(prompt)-1]
			if !strings.Contains(last.Plain, "Hash: ") || !strings.Contains(last.Plain, "Reply approve or deny") {
				t.Fatalf("%d: the last part is\n%s", n, last.Plain)
			}
			ended := coretest.Ended(in, core.InputDeclined, &core.Answer{Action: core.ActionDecline, Reason: strings.Repeat("because ", 60)})
			closed := Closed(v, ended, &core.Call{Status: core.CallRejected})
			if len(closed) != len(prompt) {
				t.Fatalf("%d: %d parts closed, %d asked", n, len(closed), len(prompt))
			}
			for _, p := range append(prompt, closed...) {
				if bad := live(v.Dialect, p); bad != "" {
					t.Fatalf("%d: %s", n, bad)
				}
			}
		}
	})
}

// TestClosingALongTail: names so long that the end of a prompt takes several parts are closed all the same.
func TestClosingALongTail(t *testing.T) {
	t.Parallel()
	for _, d := range TestDialects() {
		in := coretest.Input("approval")
		in.Hash, in.Tool, in.Code, in.Of, in.Nth = strings.Repeat("*_", 400), strings.Repeat("*`", 400), "B7", 2, 1
		in.Responders.Audience = slices.Repeat([]core.PersonID{"local:ana"}, 13)
		v := view(d)
		v.Names = func(core.PersonID) string { return strings.Repeat("*_", 900) }
		ended := coretest.Ended(in, core.InputDeclined, &core.Answer{Action: core.ActionDecline})
		if got := Closed(v, ended, nil); len(got) != len(Prompt(v, in)) {
			t.Errorf("%s: %d parts replace %d", d.Name, len(got), len(Prompt(v, in)))
		}
	}
}
