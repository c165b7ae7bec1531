package program

import (
	"slices"
	"strings"
	"testing"
)

// ask starts a turn in a conversation of its own and returns its one input.
func (s *site) ask(text, conversation string) waiting {
	s.t.Helper()
	var r siteRun
	s.do("POST", "/v1/agents/ops/runs", map[string]string{"text": text, "conversation": conversation}, &r)
	s.do("GET", "/v1/runs/"+r.ID+"?wait=30", nil, &r)
	if len(r.Inputs) != 1 {
		s.t.Fatalf("run %+v", r)
	}
	return r.Inputs[0]
}

// TestTheInboxSaysHowToAnswer: of each kind all that an answer must be, and who may give it.
func TestTheInboxSaysHowToAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for text, want := range map[string][]string{
		deleteIt:              {"approval  ops", `call db__drop {"name":"staging"}`, "hash "},
		"plan the release":    {`day: "When do we ship?" | "Tuesday" | "Thursday" | "Next week"  (default "Thursday")`, `(several may be chosen; default "Unit tests", "Security review")`},
		"invite a teammate":   {`field "email": email  "Where the invitation goes."`, `field "role": enum of "viewer" | "editor" | "admin"`, `field "days": integer from 1 to 365`},
		"connect my calendar": {"url  ops", `open "` + calendarPage + `"`},
	} {
		in := s.ask(text, "c"+newID())
		out := s.desk(exitDone, "inbox", "--server", "http://"+s.address)
		for _, w := range append(want, in.ID, "for local:alice") {
			if !strings.Contains(out, w) {
				t.Errorf("%s: the inbox does not say %q:\n%s", text, w, out)
			}
		}
	}
	server := []string{"inbox", "--server", "http://" + s.address}
	if out := s.desk(exitDone, append(server, "--as", "local:alice")...); strings.Count(out, "for local:alice") != 4 {
		t.Errorf("for alice:\n%s", out)
	}
	if out := s.desk(exitDone, append(server, "--as", "local:bob")...); out != "Nothing waits.\n" {
		t.Errorf("for bob:\n%s", out)
	}
	if out := s.desk(exitFailed, append(server, "--agent", "nope")...); !strings.Contains(out, "hint: the agents that a token sees") {
		t.Errorf("another agent: %s", out)
	}
}

// TestAnswerEachKind from the shell: what is taken, and what is said about the rest. Each is an input of its own.
func TestAnswerEachKind(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const set, form, step = "plan the release", "invite a teammate", "connect my calendar"
	for i, c := range []struct {
		ask  string
		args []string
		code int
		want string
	}{
		{deleteIt, []string{"no", "--reason", "not today"}, exitDone, "declined by local:alice. The turn goes on."},
		{deleteIt, []string{"yes", "--reason", "because"}, exitUsage, "--reason says why something is declined"},
		{deleteIt, []string{"yes", "--defaults"}, exitUsage, "want either a VALUE or one of"},
		{deleteIt, []string{"--defaults"}, exitUsage, "only questions have defaults"},
		{deleteIt, []string{"--skip"}, exitFailed, "only a question can be skipped"},
		{deleteIt, []string{"--cancel"}, exitDone, "cancelled by local:alice"},
		{deleteIt, []string{"yes", "please"}, exitUsage, "quote a value with spaces"},
		{deleteIt, []string{"yes", "--hash", "wrong"}, exitFailed, "hint: " + lookAgain},
		{set, []string{"--defaults"}, exitDone, "accepted by local:alice. The turn goes on."},
		{set, []string{"--skip"}, exitDone, "skipped by local:alice. The turn goes on."},
		{set, []string{"--decline"}, exitDone, "declined by local:alice. The turn goes on."},
		{set, []string{`{"day":"Next week","checks":["Load test"]}`}, exitDone, "accepted by local:alice."},
		{set, []string{"Tuesday"}, exitFailed, "since there are several questions"},
		{set, []string{`{"day":"Friday","x":1}`}, exitFailed, "x: there is no such question"},
		{form, []string{`{"email":"ana@example.com","role":"viewer","days":3}`}, exitDone, "accepted by local:alice."},
		{form, []string{`{"email":"ana","days":0}`}, exitFailed, "role: it is missing"},
		{form, []string{`{"email"`}, exitUsage, "is no JSON"},
		{form, []string{"no"}, exitUsage, "or use --decline"},
		{form, []string{"--decline", "--reason", "nobody new"}, exitDone, "declined by local:alice."},
		{step, []string{"done"}, exitDone, "accepted by local:alice."},
		{step, []string{"no"}, exitDone, "declined by local:alice."},
		{step, []string{"maybe"}, exitUsage, "answer with yes or no"},
	} {
		in := s.ask(c.ask, "c"+newID())
		args := slices.Concat([]string{"answer", "--server", "http://" + s.address, in.ID}, c.args)
		if out := s.desk(c.code, args...); !strings.Contains(out, c.want) {
			t.Errorf("%d: %s %q: %s", i, c.ask, c.args, out)
		}
		want := c.code == exitDone
		s.do("GET", "/v1/inputs/"+in.ID, nil, &in)
		if (in.State != "pending") != want {
			t.Errorf("%d: %s %q: it is %s", i, c.ask, c.args, in.State)
		}
	}
}
