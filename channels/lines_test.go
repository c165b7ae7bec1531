package channels_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

func TestLines(t *testing.T) {
	t.Parallel()
	in := pending()
	failed := core.Run{ID: "r1", Status: core.RunFailed, Reason: "The model's service is down."}
	for _, c := range []struct {
		name  string
		shown turn.Shown
		want  []channels.Voice
		text  string
	}{
		{"a note", turn.Shown{Row: core.Out{Kind: core.OutNote, Note: core.NoteNotAllowed, Person: "p:2"}, Input: in}, []channels.Voice{channels.VoiceNote}, "p:1"},
		{"the stored call again", turn.Shown{
			Row: core.Out{Kind: core.OutNote, Note: core.NoteDetails}, Input: in,
			Calls: []core.Call{{ID: "c0"}, {ID: in.Call, Tool: "db__drop", Source: "db", Arguments: []byte(`{"name":"staging"}`)}},
		}, []channels.Voice{channels.VoiceNote}, "drop"},
		{"a run that failed", turn.Shown{Row: core.Out{Kind: core.OutReply}, Run: failed}, []channels.Voice{channels.VoiceNote}, "service is down"},
		{"an edit says nothing", turn.Shown{Row: core.Out{Kind: core.OutEdit}, Input: in}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := channels.Lines(render.View{Agent: "Ops"}, c.shown)
			var all strings.Builder
			for i, l := range got {
				if i >= len(c.want) || l.Voice != c.want[i] {
					t.Errorf("line %d is %q: %q", i, l.Voice, l.Part.Text)
				}
				all.WriteString(l.Part.Text)
			}
			if len(got) < len(c.want) || !strings.Contains(all.String(), c.text) {
				t.Errorf("shown %q, want %q in it", all.String(), c.text)
			}
		})
	}
}

// named is a platform that writes people by name.
type named struct{ *channeltest.Fake }

func (named) NameOf(_ core.Place, who core.PersonID) string {
	if who == "p:1" {
		return "Ana"
	}
	return ""
}

func TestPeopleAreWrittenAsThePlatformShowsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, func(c *channels.Channel, _ *channels.Config, s *stand) { c.Adapter = named{s.Fake} })
		in := pending()
		in.Responders.Audience = []core.PersonID{"p:1", "p:2"}
		texter(s, "", in)
		s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1"})
		synctest.Wait()
		if got := s.Shown("room")[0].Part.Text; !strings.Contains(got, "Ana") || !strings.Contains(got, "p:2") {
			t.Errorf("shown %q", got)
		}
	})
}

// panicky is an adapter with a bug in how it receives.
type panicky struct{ *channeltest.Fake }

func (p panicky) Run(context.Context, channels.Sink) error { panic("an update of a new kind") }

func TestAdapterThatPanicsIsStartedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, func(c *channels.Channel, _ *channels.Config, s *stand) { c.Adapter = panicky{s.Fake} })
		pass(90 * time.Second)
		if st := s.hub.States()[0]; st.Status != channels.Retrying || !strings.Contains(st.Err.Error(), "new kind") {
			t.Errorf("state %+v", st)
		}
	})
}

// A prompt that is gone for good does not hide that another of the same input could not be edited for now.
func TestEditOfSeveralPrompts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{Edits: true}, nil)
		texter(s, "", pending())
		s.turns.Put(core.Out{Kind: core.OutPrompt, Conversation: home, Input: "i1"})
		synctest.Wait()
		in := pending()
		in.State, in.Settled = core.InputDeclined, &core.Settled{By: "p:1", Via: "chat"}
		in.Prompts = []core.Prompt{
			{Conversation: home, Messages: []string{"gone"}}, {Conversation: home, Messages: []string{s.Shown("room")[0].ID}},
		}
		texter(s, "", in)
		s.EditErrs(&channels.SendError{Permanent: true, Err: errors.New("gone")}, &channels.SendError{Err: errors.New("502")})
		s.turns.Put(edit())
		pass(time.Minute)
		if got := s.Shown("room"); got[0].Edits != 1 || len(s.turns.Failures()) != 1 {
			t.Errorf("edited %d times after %d failures", got[0].Edits, len(s.turns.Failures()))
		}
	})
}
