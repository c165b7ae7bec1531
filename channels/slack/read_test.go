package slack

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
	"time"

	"parley/core"
)

var home = reader{me: self{team: "T0HOME", enterprise: "E0ORG", user: "U0BOT", bot: "B0BOT"}}

// said is an event of a message, with changes.
func said(change map[string]any) map[string]any {
	e := map[string]any{
		"type": "message", "channel": "C0OPS", "channel_type": "channel", "user": "UANA", "text": "yes", "ts": "1764000000.000100",
		"client_msg_id": "g1", "team": "T0HOME", "blocks": []any{map[string]any{"type": "rich_text", "elements": []any{map[string]any{"type": "from_the_future"}}}},
	}
	maps.Copy(e, change)
	for k, v := range e {
		if v == nil {
			delete(e, k)
		}
	}
	return e
}

func read(t *testing.T, inner map[string]any) (post, string) {
	t.Helper()
	return home.readEvent(callback{Team: "T0HOME", Event: raw(t, inner)})
}

// What is no new message of a person is dropped, each with its reason.
func TestEventsThatAreNoMessage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]map[string]any{
		"an edit":                  {"subtype": "message_changed", "hidden": true, "message": map[string]any{"text": "yes", "user": "UANA"}},
		"a deletion":               {"subtype": "message_deleted"},
		"a bot message":            {"subtype": "bot_message", "user": nil, "bot_id": "B1", "username": "ana"},
		"another app":              {"bot_id": "B1"},
		"an app in a user's name":  {"bot_profile": map[string]any{"id": "B1"}},
		"our own message":          {"user": "U0BOT"},
		"our own bot":              {"bot_id": "B0BOT", "user": "U0BOT"},
		"Slackbot":                 {"user": "USLACKBOT"},
		"a workflow":               {"workflow_id": "Wf1"},
		"hidden":                   {"hidden": true},
		"edited":                   {"edited": map[string]any{"ts": "1"}},
		"a join":                   {"subtype": "channel_join"},
		"a topic":                  {"subtype": "channel_topic"},
		"a pin":                    {"subtype": "pinned_item"},
		"an assistant's thread":    {"subtype": "assistant_app_thread"},
		"a reply counter":          {"subtype": "message_replied"},
		"a kind of the future":     {"subtype": "telepathy"},
		"a reaction":               {"type": "reaction_added", "reaction": "white_check_mark"},
		"no user":                  {"user": nil},
		"a user of another type":   {"user": 5},
		"a bot id of another type": {"bot_id": 5},
		"no channel":               {"channel": nil},
		"a channel out of bounds":  {"channel": "C1/2|x"},
		"no timestamp":             {"ts": nil},
		"a strange timestamp":      {"ts": "yesterday"},
		"a strange thread":         {"thread_ts": "1|2"},
		"nothing in it":            {"text": ""},
	} {
		if p, why := read(t, said(change)); why == "" {
			t.Errorf("%s is read as %+v", name, p)
		}
	}
	for _, bad := range []string{``, `null`, `[]`, `"x"`, `5`} {
		if _, why := home.readEvent(callback{Event: json.RawMessage(bad)}); why == "" {
			t.Errorf("%q is read as a message", bad)
		}
	}
}

func TestEventsThatAreMessages(t *testing.T) {
	t.Parallel()
	base := post{channel: "C0OPS", ts: "1764000000.000100", kind: "channel", user: "UANA", team: "T0HOME", text: "yes", gesture: "g1"}
	for name, c := range map[string]struct {
		change map[string]any
		want   func(*post)
	}{
		"plain":                              {nil, func(*post) {}},
		"a root":                             {map[string]any{"thread_ts": "1764000000.000100"}, func(*post) {}},
		"a thread reply":                     {map[string]any{"thread_ts": "1763999999.000001", "parent_user_id": "U0BOT"}, func(p *post) { p.thread, p.under = "1763999999.000001", "U0BOT" }},
		"also to channel":                    {map[string]any{"subtype": "thread_broadcast", "thread_ts": "1763999999.000001", "root": map[string]any{}}, func(p *post) { p.thread = "1763999999.000001" }},
		"me":                                 {map[string]any{"subtype": "me_message"}, func(*post) {}},
		"a mention":                          {map[string]any{"text": "<@U0BOT> yes"}, func(p *post) { p.meant = true }},
		"app_mention":                        {map[string]any{"type": "app_mention", "channel_type": nil, "text": "<@U0BOT> yes"}, func(p *post) { p.meant, p.mention, p.kind = true, true, "" }},
		"a stranger":                         {map[string]any{"user_team": "T0AWAY"}, func(p *post) { p.team, p.told = "T0AWAY", true }},
		"a stranger, by the message's team":  {map[string]any{"team": "T0AWAY"}, func(p *post) { p.team, p.told = "T0AWAY", true }},
		"at home in somebody else's channel": {map[string]any{"user_team": "T0HOME", "source_team": "T0AWAY", "team": "T0AWAY"}, func(p *post) { p.told = true }},
		"our organisation":                   {map[string]any{"user_team": "E0ORG"}, func(p *post) { p.told = true }},
		"a file": {map[string]any{"subtype": "file_share", "text": "", "files": []any{map[string]any{"name": "a.pdf", "mimetype": "application/pdf", "size": 12}}},
			func(p *post) { p.text, p.files = "", []core.File{{Name: "a.pdf", Type: "application/pdf", Size: 12}} }},
		"a file to open": {map[string]any{"subtype": "file_share", "files": []any{map[string]any{"id": "F012AB", "name": "a.png", "mimetype": "image/png", "size": 12, "mode": "hosted"}}},
			func(p *post) { p.files = []core.File{{Name: "a.png", Type: "image/png", Size: 12, Ref: "F012AB"}} }},
		"a file kept elsewhere": {map[string]any{"files": []any{map[string]any{"id": "F012AB", "name": "a.doc", "is_external": true}, map[string]any{"id": "x/../y", "name": "b"}}},
			func(p *post) { p.files = []core.File{{Name: "a.doc"}, {Name: "b"}} }},
		"a file with words":   {map[string]any{"subtype": "file_share", "files": []any{map[string]any{"title": "Photo"}}}, func(p *post) { p.files = []core.File{{Name: "Photo"}} }},
		"files of no shape":   {map[string]any{"subtype": "file_share", "files": map[string]any{}}, func(p *post) { p.files = []core.File{{Name: "file"}} }},
		"a file that is gone": {map[string]any{"files": []any{map[string]any{"mode": "tombstone"}}}, func(*post) {}},
		"a forward":           {map[string]any{"attachments": []any{map[string]any{"is_share": true, "text": "yes"}}}, func(p *post) { p.files = []core.File{{Name: "forwarded message"}} }},
		"a preview":           {map[string]any{"attachments": []any{map[string]any{"from_url": "x"}}}, func(*post) {}},
		"cancel":              {map[string]any{"text": " /cancel"}, func(p *post) { p.text, p.command, p.meant = "/cancel", "cancel", true }},
		"no command":          {map[string]any{"text": "/cancelled"}, func(p *post) { p.text = "/cancelled" }},
		"a direct chat":       {map[string]any{"channel": "D0ANA", "channel_type": nil}, func(p *post) { p.channel, p.kind = "D0ANA", direct }},
	} {
		want := base
		c.want(&want)
		got, why := read(t, said(c.change))
		if why != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as\n%+v (%s), want\n%+v", name, got, why, want)
		}
	}
}

// Messages of one conversation share a lane, others do not wait for them.
func TestLanes(t *testing.T) {
	t.Parallel()
	root, _ := read(t, said(nil))
	reply, _ := read(t, said(map[string]any{"ts": "1764000009.000001", "thread_ts": root.ts}))
	other, _ := read(t, said(map[string]any{"ts": "1764000010.000001"}))
	chat, _ := read(t, said(map[string]any{"channel": "D0ANA", "ts": "1764000011.000001"}))
	inChat, _ := read(t, said(map[string]any{"channel": "D0ANA", "ts": "1764000012.000001", "thread_ts": "1764000011.000001"}))
	if root.lane() != reply.lane() || root.lane() == other.lane() || chat.lane() != inChat.lane() {
		t.Error(root.lane(), reply.lane(), other.lane(), chat.lane(), inChat.lane())
	}
}

func TestOrderAndTime(t *testing.T) {
	t.Parallel()
	if orderOf("1764000000.000100") != 1764000000000100 || orderOf("x.y") != 0 {
		t.Error(orderOf("1764000000.000100"), orderOf("x.y"))
	}
	if got := timeOf("1764000000.000100"); !got.Equal(time.Unix(1764000000, 100000)) {
		t.Error(got)
	}
}

// An event however strange never panics, and never yields a message that names no person and no place.
func FuzzEvent(f *testing.F) {
	for _, s := range []string{
		`{"type":"message","channel":"C1","user":"U1","text":"yes","ts":"1.000001"}`, `{"type":"app_mention","files":5}`, `{"type":"message","subtype":{}}`, `[]`,
		`{"type":"block_actions","user":{"id":"U1","team_id":"T1"},"container":{"channel_id":"C1","message_ts":"1.000001"},"actions":[{"value":"in:0:yes"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, why := home.readEvent(callback{Team: "T1", Event: b}); why == "" {
			if !validUser.MatchString(p.user) || !validChannel.MatchString(p.channel) || !validTS.MatchString(p.ts) || p.user == "U0BOT" {
				t.Errorf("%q is read as %+v", b, p)
			}
			if _, _, err := parsePlace(placeOf(p.channel, p.thread)); err != nil {
				t.Error(err)
			}
		}
		if p, why := home.readPress(b); why == "" && (p.input == "" || p.reply == "" || p.user == "") {
			t.Errorf("%q is read as %+v", b, p)
		}
	})
}
