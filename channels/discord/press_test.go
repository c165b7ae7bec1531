package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/discord/discordtest"
	"parley/core"
	"parley/render"
)

// A press is handed in with what it names, and answered in time: quietly where it counted, else with a line
// for that person alone.
func TestPress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.send(r.room, render.Part{Text: "Deploy?", Buttons: buttons("i1")})
		prompt := r.srv.Sent(r.room)[0]
		good, err := r.srv.Press(ana, r.room, prompt.ID, "Approve")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := channels.Press{Input: "i1", Reply: "yes", From: "discord:42", Conversation: conversation(r.room), ID: good.String(), Lang: "de"}
		if got := r.sink.Pressed(); len(got) != 1 || got[0] != want {
			t.Errorf("pressed %+v", got)
		}
		if o := r.srv.Outcome(good); o.Type != 6 || o.Line != "" {
			t.Errorf("answered %+v", o)
		}
		r.sink.OnPress(func(context.Context, channels.Press) (channels.PressOutcome, error) {
			return channels.PressOutcome{Line: "Already approved by discord:42 *now*"}, nil
		})
		stale, _ := r.srv.Press(ben, r.room, prompt.ID, "Decline")
		synctest.Wait()
		if o := r.srv.Outcome(stale); o.Type != 4 || unescape(o.Line) != "Already approved by discord:42 *now*" || o.Line == unescape(o.Line) {
			t.Errorf("answered %+v", o)
		}
		if n := len(r.srv.Sent(r.room)); n != 1 {
			t.Errorf("%d messages: a line for one person is no message", n)
		}
	})
}

// TR-08: the store takes long: Discord is told to wait within three seconds, and the line follows.
func TestSlowStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.send(r.room, render.Part{Text: "Deploy?", Buttons: buttons("i1")})
		line := ""
		r.sink.OnPress(func(ctx context.Context, _ channels.Press) (channels.PressOutcome, error) {
			_ = channels.Sleep(ctx, 8*time.Second)
			return channels.PressOutcome{Line: line}, nil
		})
		first, _ := r.srv.Press(ana, r.room, r.srv.Sent(r.room)[0].ID, "Approve")
		after(10 * time.Second)
		if o := r.srv.Outcome(first); o.Type != 6 || o.Line != "" || o.After > 3*time.Second {
			t.Errorf("answered %+v", o)
		}
		line = "too late"
		second, _ := r.srv.Press(ana, r.room, r.srv.Sent(r.room)[0].ID, "Approve")
		after(10 * time.Second)
		if o := r.srv.Outcome(second); o.Type != 6 || o.Line != "too late" || o.After > 3*time.Second {
			t.Errorf("answered %+v", o)
		}
		r.sink.Refuse(func(core.Message) error { _ = channels.Sleep(context.Background(), 8*time.Second); return nil })
		command := r.srv.Command(ana, r.room, "cancel")
		after(10 * time.Second)
		if o := r.srv.Outcome(command); o.Type != 5 || o.Line != heardYou || o.After > 3*time.Second {
			t.Errorf("answered %+v", o)
		}
	})
}

// TR-07: a press that is not stored is told to the person, and nothing else happens.
func TestPressIsNotStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.send(r.room, render.Part{Text: "Deploy?", Buttons: buttons("i1")})
		for _, line := range []string{"", "Please try again."} {
			r.sink.OnPress(func(context.Context, channels.Press) (channels.PressOutcome, error) {
				return channels.PressOutcome{Line: line}, errors.New("disk full")
			})
			id, _ := r.srv.Press(ana, r.room, r.srv.Sent(r.room)[0].ID, "Approve")
			synctest.Wait()
			if o := r.srv.Outcome(id); o.Type != 4 || !strings.Contains(o.Line, "try again") {
				t.Errorf("answered %+v", o)
			}
		}
		r.sink.OnPress(func(context.Context, channels.Press) (channels.PressOutcome, error) { panic("a bug") })
		id, _ := r.srv.Press(ana, r.room, r.srv.Sent(r.room)[0].ID, "Approve")
		synctest.Wait()
		if o := r.srv.Outcome(id); o.Type != 4 {
			t.Errorf("after a panic: %+v", o)
		}
		r.say("still there?")
		r.sink.Only(t)
	})
}

// Payloads that no prompt of ours has are answered, and reach nobody.
func TestForgedPresses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.send(r.room, part("Deploy?"))
		prompt := r.srv.Sent(r.room)[0].ID
		for _, id := range []string{"", "x", "i1", "i1:0", "i1:0:", ":0:yes", "i1:-1:yes", "i1:00:yes", "i 1:0:yes", strings.Repeat("i", 33) + ":0:yes", "i1:x:yes"} {
			one := r.srv.PressID(ana, r.room, prompt, id)
			synctest.Wait()
			if o := r.srv.Outcome(one); o.Type != 6 {
				t.Errorf("%q: answered %+v", id, o)
			}
		}
		theirs := r.srv.Say(ana, r.room, "not the bot's")
		r.srv.PressID(ana, r.room, theirs, "i1:0:yes")
		r.srv.PressID(discordtest.User{ID: 7, Name: "b", Bot: true}, r.room, prompt, "i1:0:yes")
		synctest.Wait()
		if got := r.sink.Pressed(); len(got) != 0 {
			t.Errorf("pressed %+v", got)
		}
	})
}

// A press on a message that the bot does not remember, after a restart or in a channel that is gone, works.
func TestPressOnAnOldPrompt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		id := r.srv.PressID(ana, r.dm, 12345, "i9:3:option 2")
		r.srv.Outlive(id)
		synctest.Wait()
		got := r.sink.Pressed()
		if len(got) != 1 || got[0].Input != "i9" || got[0].Step != 3 || got[0].Reply != "option 2" {
			t.Errorf("pressed %+v", got)
		}
		if strings.Contains(r.log.String(), "level=WARN") {
			t.Errorf("an answer that comes too late is nothing to warn of:\n%s", r.log)
		}
	})
}

// Commands of Discord's own menu are messages of their conversation, and answered for the person alone.
func TestCommands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		id := r.srv.Command(ana, r.room, "status")
		synctest.Wait()
		m := r.sink.Only(t)
		if m.Command != "status" || !m.Addressed || !m.Shared || m.From != "discord:42" || m.Lang != "de" || m.Order != uint64(id) || m.Conversation != conversation(r.room) {
			t.Errorf("%+v", m)
		}
		if o := r.srv.Outcome(id); o.Type != 4 || o.Line != heardYou {
			t.Errorf("answered %+v", o)
		}
		other := r.srv.Command(ana, r.dm, "deploy")
		r.sink.Refuse(func(core.Message) error { return errors.New("disk full") })
		failed := r.srv.Command(ana, r.dm, "cancel")
		synctest.Wait()
		if o := r.srv.Outcome(other); o.Line != notACommand {
			t.Errorf("answered %+v", o)
		}
		if o := r.srv.Outcome(failed); o.Line != unstored {
			t.Errorf("answered %+v", o)
		}
		if n := len(r.sink.Got()); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
}

// A person can carry the application into a server that never let the bot in: it answers nothing there.
func TestApplicationOfAPerson(t *testing.T) {
	t.Parallel()
	i := interaction{ID: 1, Channel: 7, Guild: 5, Type: 2, User: &user{ID: 42}}
	i.Data.Name = "status"
	if _, ok := testReader.command(i); !ok {
		t.Error("a server that tells nothing is refused")
	}
	i.Owners = map[string]json.RawMessage{"1": json.RawMessage(`"42"`)}
	if _, ok := testReader.command(i); ok {
		t.Error("heard")
	}
	i.Owners["0"] = json.RawMessage(`"5"`)
	if _, ok := testReader.command(i); !ok {
		t.Error("not heard where the bot is")
	}
}

func TestCustomIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ы", 100-len("i1:12:"))
	for _, c := range []struct {
		b  render.Button
		ok bool
	}{
		{render.Button{Input: "i1", Step: 12, Reply: long}, true},
		{render.Button{Input: "i1", Step: 12, Reply: long + "x"}, false},
		{render.Button{Input: "i1", Reply: "a:b"}, true},
		{render.Button{Input: "i:1", Reply: "a"}, false},
		{render.Button{Input: "", Reply: "a"}, false},
		{render.Button{Input: "i1", Reply: ""}, false},
		{render.Button{Input: "i1", Reply: "\xff"}, false},
	} {
		id, ok := customID(c.b, c.b.Reply)
		if ok != c.ok {
			t.Errorf("%+v: %v", c.b, ok)
		}
		if !ok {
			continue
		}
		if in, step, reply, ok := parseCustomID(id); !ok || in != c.b.Input || step != c.b.Step || reply != c.b.Reply {
			t.Errorf("%q comes back as %q %d %q %v", id, in, step, reply, ok)
		}
	}
}

func FuzzCustomID(f *testing.F) {
	f.Add("i1:0:yes")
	f.Add("::")
	f.Fuzz(func(t *testing.T, id string) {
		in, step, reply, ok := parseCustomID(id)
		if ok && fmt.Sprintf("%s:%d:%s", in, step, reply) != id {
			t.Errorf("%q reads as %q %d %q", id, in, step, reply)
		}
	})
}

// Buttons stand in rows of five; many are a menu; what does not fit is left to typing, whole.
func TestLayout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		for _, c := range []struct {
			n, shown int
			menu     bool
			change   func([]render.Button)
		}{
			{n: 0}, {n: 1, shown: 1}, {n: 5, shown: 5}, {n: 6, shown: 6}, {n: 10, shown: 10}, {n: 11, shown: 11, menu: true}, {n: 25, shown: 25, menu: true},
			{n: 26}, {n: 20, shown: 20, change: func(b []render.Button) { b[0].Input = "i2" }}, {n: 26, change: func(b []render.Button) { b[0].Input = "i2" }},
			{n: 3, change: func(b []render.Button) { b[1].Reply = b[0].Reply }}, {n: 3, change: func(b []render.Button) { b[2].Label = " " }},
			{n: 3, change: func(b []render.Button) { b[2].Reply = strings.Repeat("x", 101) }},
			{n: 3, shown: 3, change: func(b []render.Button) { b[2].Label = strings.Repeat("ы", 90) }},
			{n: 12, change: func(b []render.Button) { b[2].Reply = strings.Repeat("x", 101) }},
		} {
			var bs []render.Button
			for i := range c.n {
				bs = append(bs, render.Button{Label: fmt.Sprintf("Option %d", i+1), Input: "i1", Reply: fmt.Sprint(i + 1)})
			}
			if c.change != nil {
				c.change(bs)
			}
			target := to(r.room)
			target.Key = ""
			if _, err := r.a.Send(context.Background(), target, render.Part{Text: "Which?", Buttons: bs}); err != nil {
				t.Fatalf("%d: %v", c.n, err)
			}
			all := r.srv.Sent(r.room)
			got := all[len(all)-1].Buttons
			if len(got) != c.shown || c.shown > 0 && (got[0].Value != "") != c.menu {
				t.Errorf("%d: shown %d: %+v", c.n, len(got), got)
			}
			if c.shown > 2 {
				if _, err := r.srv.Press(ana, r.room, all[len(all)-1].ID, "Option 2"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				pressed := r.sink.Pressed()
				if p := pressed[len(pressed)-1]; p.Reply != "2" || p.Input != "i1" {
					t.Errorf("%d: pressed %+v", c.n, p)
				}
			}
		}
	})
}
