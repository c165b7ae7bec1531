package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/discord/discordtest"
	"parley/core"
)

// What the gateway tells about channels, threads and roles, event by event.
func TestRooms(t *testing.T) {
	t.Parallel()
	r := newRooms()
	for _, e := range []struct{ kind, data string }{
		{"GUILD_CREATE", `{"id":"5","channels":[{"id":"50","type":0}],"threads":[{"id":"51","type":11,"member":{}},{"id":"52","type":12},{"id":"53","type":11,"owner_id":"4242"}],"roles":[{"id":"6","tags":{"bot_id":"4242"}},{"id":"7","tags":{"bot_id":"1"}},{"id":"5"}]}`},
		{"THREAD_LIST_SYNC", `{"guild_id":"5","threads":[{"id":"54","type":11}],"members":[{"id":"54"},{"id":"999"}]}`},
		{"GUILD_ROLE_CREATE", `{"guild_id":"9","role":{"id":"90","tags":{"bot_id":"4242"}}}`},
		{"CHANNEL_CREATE", `{"id":"55","type":0,"guild_id":"5"}`},
		{"CHANNEL_DELETE", `{"id":"50"}`},
		{"THREAD_MEMBER_UPDATE", `{"id":"52","user_id":"4242"}`},
		{"THREAD_MEMBERS_UPDATE", `{"id":"53","added_members":[{"user_id":"1"}],"removed_member_ids":["2"]}`},
		{"THREAD_MEMBERS_UPDATE", `{"id":"51","removed_member_ids":["4242"]}`},
		{"THREAD_MEMBERS_UPDATE", `{"id":"56","added_members":[{"user_id":"4242"}]}`},
		{"TYPING_START", `7`},
	} {
		if err := r.hear(4242, e.kind, json.RawMessage(e.data)); err != nil {
			t.Errorf("%s: %v", e.kind, err)
		}
	}
	for id, want := range map[snowflake]room{
		51: {kind: 11, guild: 5, joined: true}, 52: {kind: 12, guild: 5, ours: true, joined: true}, 53: {kind: 11, guild: 5, ours: true, joined: true},
		54: {kind: 11, guild: 5, ours: true, joined: true}, 55: {guild: 5}, 56: {ours: true, joined: true},
	} {
		if got, ok := r.get(id); !ok || got != want {
			t.Errorf("%s is %+v, want %+v", id, got, want)
		}
	}
	for _, id := range []snowflake{50, 999} {
		if got, ok := r.get(id); ok {
			t.Errorf("%s is known as %+v", id, got)
		}
	}
	if got := r.ourRoles(); !slices.Equal(got, []snowflake{6, 90}) {
		t.Errorf("roles %v", got)
	}
}

// A channel that the gateway told nothing of is asked about once.
func TestUnknownChannels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.srv.Dispatch("CHANNEL_DELETE", map[string]any{"id": r.room})
		for range 3 {
			r.say("hello", discordtest.Field("channel_type", nil))
		}
		if n := len(r.srv.Calls(discordtest.RouteChannel)); n != 1 {
			t.Errorf("asked %d times", n)
		}
		for _, m := range r.sink.Got() {
			if !m.Shared || m.Thread {
				t.Errorf("%+v", m)
			}
		}
	})
}

// The rights of a thread are those of its parent.
func TestCheckAThread(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		thread := r.srv.Thread(r.room, true)
		r.a.places = []core.Place{core.Place(thread.String())}
		last := func() channels.Finding { f := r.a.Check(context.Background()); return f[len(f)-1] }
		if f := last(); f.Level != channels.LevelOK {
			t.Errorf("%+v", f)
		}
		r.srv.Overwrite(r.room, "274877906944")
		if f := last(); f.Level != channels.LevelFail || !strings.Contains(f.What, "Send Messages in Threads") {
			t.Errorf("%+v", f)
		}
		r.srv.Fail(discordtest.RouteMember, discordtest.Fault{Status: 500})
		if f := last(); f.Level != channels.LevelWarn {
			t.Errorf("%+v", f)
		}
	})
}

// The limits in the headers of an answer are kept without running into them.
func TestPacerLearns(t *testing.T) {
	t.Parallel()
	now := clock()
	a := mustNew(t, Config{Name: "guild", Agent: "ops", Token: "t", Clock: func() time.Time { return now }})
	a.learn("7", http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset-After": {"30"}})
	if a.pace.Held("7") {
		t.Error("held with a call left")
	}
	a.learn("7", http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"12.5"}})
	if over, err := a.pace.Turn(t.Context(), "7"); err != nil || over != 12500*time.Millisecond || a.pace.Held("8") {
		t.Errorf("%s %v", over, err)
	}
	now = now.Add(13 * time.Second)
	if over, err := a.pace.Turn(t.Context(), "7"); err != nil || over != 0 || a.pace.Held("7") {
		t.Errorf("%s %v", over, err)
	}
}
