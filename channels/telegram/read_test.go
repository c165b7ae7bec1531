package telegram

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/core"
)

// us is the bot of the recorded updates.
var us = reader{me: self{id: 4242, username: "Relay_Bot"}, agent: "ops", channel: "tg"}

// recorded is one update as the Bot API sends it.
type recorded struct {
	Name   string
	Update json.RawMessage
}

func recordings(t testing.TB) []recorded {
	t.Helper()
	raw, err := os.ReadFile("testdata/updates.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []recorded
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What each kind of update means stands in testdata/updates.golden; -update writes it anew.
func TestRead(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, r := range recordings(t) {
		u, err := decodeUpdate(r.Update)
		if err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		fmt.Fprintf(&got, "%s\n    %s\n", r.Name, describeIncoming(us.read(u)))
	}
	const golden = "testdata/updates.golden"
	if *updateGolden {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("readings changed (-golden +now):\n%s", d)
	}
}

func describeIncoming(in incoming) string {
	switch {
	case in.message != nil:
		m := *in.message
		var extra []string
		add := func(name, value string) {
			if value != "" {
				extra = append(extra, name+"="+value)
			}
		}
		add("command", m.Command)
		add("reply", m.ReplyTo)
		add("lang", m.Lang)
		for _, f := range m.Files {
			add("file", fmt.Sprintf("%q/%s/%d", f.Name, f.Type, f.Size))
			add("ref", f.Ref)
		}
		if m.Shared {
			extra = append(extra, "shared")
		}
		if m.Addressed {
			extra = append(extra, "addressed")
		}
		return fmt.Sprintf("message %s #%d in %s of %s at %d: %q %s", m.ID, m.Order, m.Conversation, m.From, m.SentAt.Unix(), m.Text, strings.Join(extra, " "))
	case in.press != nil:
		p := *in.press
		return fmt.Sprintf("press %s of input %s step %d in %s by %s: %q", p.ID, p.Input, p.Step, p.Conversation, p.From, p.Reply)
	case in.stray != "":
		return "stray press " + in.stray
	case in.hidden != nil:
		return "hidden sender"
	case in.moved != nil:
		return fmt.Sprintf("moved from %d to %d", in.moved[0], in.moved[1])
	}
	return "dropped: " + in.dropped
}

// Whatever JSON comes, reading it does not panic, and only a person's own new words reach the sink.
func FuzzUpdate(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add([]byte(r.Update))
	}
	f.Add([]byte(`{"update_id":1,"message":{"message_id":1,"chat":{"id":1,"type":"private"},"from":{"id":1},"text":"/@"}}`))
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":1},"data":"a:1:b","message":{}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := decodeUpdate(raw)
		if err != nil {
			return
		}
		in := us.read(u)
		if in.press != nil && (in.press.Input == "" || in.press.Reply == "" || in.press.From == "" || in.press.Step < 0) {
			t.Errorf("an empty press %+v", in.press)
		}
		if in.message == nil {
			return
		}
		var outer struct {
			Message map[string]json.RawMessage `json:"message"`
		}
		if json.Unmarshal(raw, &outer) != nil || outer.Message == nil {
			t.Fatal("a message was read where there is none")
		}
		for _, field := range append([]string{"sender_chat", "migrate_to_chat_id"}, notTheirs...) {
			if v, ok := outer.Message[field]; ok && string(v) != "null" && string(v) != "false" {
				t.Errorf("a message with %s reached the sink", field)
			}
		}
		if u.Message.From == nil || u.Message.From.Bot || u.Message.From.ID <= 0 {
			t.Error("a message of no person reached the sink")
		}
		m := in.message
		if m.ID == "" || m.From == "" || m.Order == 0 || m.Conversation == "" || m.Text == "" && len(m.Files) == 0 && u.Message.Text == "" && u.Message.Caption == "" {
			t.Errorf("an incomplete message %+v", m)
		}
		if _, _, err := parsePlace(placeOf(u.Message.Chat.ID, u.Message.topic())); err != nil {
			t.Error(err)
		}
	})
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	good := map[string][2]int64{"42": {42, 0}, "-1001234/36": {-1001234, 36}, "-5": {-5, 0}}
	for s, want := range good {
		chat, topic, err := parsePlace(placeOf(want[0], want[1]))
		if err != nil || chat != want[0] || topic != want[1] || string(placeOf(chat, topic)) != s {
			t.Errorf("%s reads as %d %d %v", s, chat, topic, err)
		}
	}
	for _, s := range []string{"", "0", "x", "@ops", "-1/0", "-1/x", "1/-2", "1/2/3", "1/", "99999999999999999999"} {
		if _, _, err := parsePlace(core.Place(s)); err == nil {
			t.Errorf("place %q was taken", s)
		}
	}
	for _, s := range []string{"", "1", "1:", ":1", "0:1", "1:0", "a:b", "elsewhere"} {
		if _, _, ok := parseMessageID(s); ok {
			t.Errorf("message identity %q was taken", s)
		}
	}
}
