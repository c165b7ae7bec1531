package channels_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/core/coretest"
	"parley/parse"
	"parley/render"
)

// scribe is a platform that escapes text and has a name of its own.
type scribe struct{ *channeltest.Fake }

func (scribe) Markup() parse.Markup { return parse.Markup{Entities: true} }
func (scribe) Names() []string      { return []string{"<@U9>"} }

func reader(keep int) func(core.Input, core.Message, core.HumanInput) core.Reading {
	a := scribe{channeltest.NewFake("chat", render.Dialect{Style: render.Mrkdwn, Limit: 3900})}
	return channels.NewReader(channels.ReaderConfig{
		Adapter: func(channel string) channels.Adapter {
			if channel == "chat" {
				return a
			}
			return nil
		},
		Agent: func(core.AgentID) (string, string) { return "Ops", "" },
		Keep:  keep,
	})
}

func TestReader(t *testing.T) {
	t.Parallel()
	read := reader(2)
	in := coretest.Input("approval")
	in.Prompts = []core.Prompt{{Conversation: in.Conversation, DeliveredAt: coretest.Now.Add(3 * time.Hour)}}
	prompt := render.PlainText(render.Prompt(render.View{
		Dialect: render.Dialect{Style: render.Mrkdwn, Limit: 3900}, Agent: "Ops", Now: coretest.Now.Add(3 * time.Hour), Again: true,
	}, in))
	quoted := "> " + strings.ReplaceAll(strings.TrimSpace(prompt), "\n", "\n> ") + "\nyes"
	escaped := strings.ReplaceAll(quoted, ">", "&gt;")
	exact := core.HumanInput{NearMissSupersedes: true}
	for _, c := range []struct {
		name, channel, text string
		human               core.HumanInput
		want                core.ReadingKind
	}{
		{"yes", "chat", "yes", core.HumanInput{}, core.ReadAnswer},
		{"our own mention", "chat", "<@U9> yes", core.HumanInput{}, core.ReadAnswer},
		{"another mention", "chat", "<@U8> yes", core.HumanInput{}, core.ReadOther},
		{"our mention on another channel", "gone", "<@U9> yes", core.HumanInput{}, core.ReadOther},
		{"near miss", "chat", "sure", core.HumanInput{}, core.ReadUnclear},
		{"near miss, exact", "chat", "sure", exact, core.ReadOther},
		{"the whole prompt quoted", "chat", quoted, core.HumanInput{}, core.ReadAnswer},
		{"the same, escaped", "chat", escaped, core.HumanInput{}, core.ReadAnswer},
		{"a quotation of something else", "chat", "> pay the invoice\nyes", core.HumanInput{}, core.ReadUnclear},
		{"other", "chat", "what does it do?", core.HumanInput{}, core.ReadOther},
	} {
		for range 2 { // compiled and kept read alike
			m := core.Message{Conversation: core.NewConversation("ops", c.channel, "room"), Text: c.text}
			if got := read(in, m, c.human); got.Kind != c.want || c.want == core.ReadAnswer && !got.Yes {
				t.Errorf("%s: read as %s, want %s", c.name, describe(got), c.want)
			}
		}
	}
}

// What is kept belongs to one step of one input: the next question is not read by the options of the last.
func TestReaderKeepsByStep(t *testing.T) {
	t.Parallel()
	read := reader(0)
	m := core.Message{Conversation: home, Text: "2"}
	in := coretest.Input("question-set")
	for range 2 {
		for step, want := range []string{"The whole repository", "Tests"} {
			in.Draft = core.Draft{Step: step, At: step}
			got := read(in, m, core.HumanInput{})
			if got.Part == nil || len(got.Part.Values) != 1 || got.Part.Values[0] != want {
				t.Errorf("step %d: %s, want %s", step, describe(got), want)
			}
		}
	}
}

func TestReaderAtOnce(t *testing.T) {
	t.Parallel()
	read := reader(4)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				in := coretest.Input("approval")
				in.ID = core.InputID(fmt.Sprint("i", (i+n)%6))
				if got := read(in, core.Message{Conversation: home, Text: "yes"}, core.HumanInput{}); got.Kind != core.ReadAnswer {
					t.Errorf("read as %s", got.Kind)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkReader(b *testing.B) {
	read, in := reader(0), coretest.Input("question-18")
	m := core.Message{Conversation: home, Text: "3 and 5"}
	b.ReportAllocs()
	for b.Loop() {
		read(in, m, core.HumanInput{})
	}
}
