package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram/telegramtest"
	"parley/core"
	"parley/core/model"
	"parley/core/tool/askuser"
	"parley/core/tool/schema"
	"parley/core/turn"
	"parley/parse"
	"parley/store/bolt"
)

// slowly is a model that writes a word every half second: first a reply that asks, then one that ends.
type slowly struct{}

func (slowly) Generate(context.Context, model.Request) (model.Response, error) {
	return model.Response{}, fmt.Errorf("not asked for a stream")
}

func (slowly) Stream(ctx context.Context, r model.Request, text func(string)) (model.Response, error) {
	out := model.Response{Text: "There are **two ways** to go on from here", Stop: model.StopTools, Calls: []model.Call{{
		ID: "c1", Name: "ask_user", Arguments: json.RawMessage(`{"questions":[{"prompt":"Which way?","options":[{"label":"left"},{"label":"right"}]}]}`),
	}}}
	if last := r.Messages[len(r.Messages)-1]; last.Result != nil {
		out = model.Response{Text: "So it is. I went there and came back", Stop: model.StopEnd}
	}
	words := strings.SplitAfter(out.Text, " ")
	for i := range words {
		text(strings.Join(words[:i+1], ""))
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return model.Response{}, ctx.Err()
		}
	}
	return out, nil
}

// serve runs the engine and the hub over the rig's adapter, which streams, until the test ends.
func (r *rig) serve() {
	store, err := bolt.Open(filepath.Join(r.t.TempDir(), "p.db"), bolt.Options{Clock: time.Now})
	if err != nil {
		r.t.Fatal(err)
	}
	agent := &turn.Agent{ID: "ops", Name: "Ops", Model: slowly{}, AskUser: true, Human: core.DefaultHumanInput(), Lang: "en"}
	var ids atomic.Int64
	engine, err := turn.New(turn.Config{
		Store:   store,
		Agents:  func(id core.AgentID) (*turn.Agent, bool) { return agent, id == "ops" },
		NewID:   func() string { return fmt.Sprintf("%016d", ids.Add(1)) },
		Streams: func(channel string) bool { return channel == "tg" },
		Deps: turn.Deps{
			Read:     channels.NewReader(channels.ReaderConfig{Adapter: func(string) channels.Adapter { return r.a }}),
			Prepare:  schema.Prepare,
			AskSpecs: askuser.Specs,
			ParseAsk: func(name string, args json.RawMessage) (string, []core.Question, []string) {
				return askuser.Parse(name, args, parse.Fold)
			},
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	hub, err := channels.NewHub(channels.Config{Turns: engine, Now: time.Now, Channels: []channels.Channel{
		{Adapter: r.a, Access: channels.Access{Public: true}, Streams: true},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = engine.Run(ctx) })
	all.Go(func() { _ = hub.Run(ctx) })
	r.t.Cleanup(func() {
		cancel()
		all.Wait()
		if err := store.Close(); err != nil {
			r.t.Error(err)
		}
	})
	synctest.Wait()
}

func textsOf(sent []telegramtest.Message) string {
	var out []string
	for _, m := range sent {
		out = append(out, m.Text)
	}
	return strings.Join(out, "\n--\n")
}

// A reply grows in one message, by edits that keep to the limit of a chat; its prompt is a message below it,
// and what is said there answers the prompt.
func TestReplyIsStreamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.serve()
		r.srv.Say(ana, dm, "go")
		after(2 * time.Second)
		sent := r.srv.Sent(dm)
		if len(sent) != 1 || !strings.HasPrefix(sent[0].Text, "There are") || !strings.HasSuffix(sent[0].Text, " …") {
			t.Fatalf("after 2 s the chat shows:\n%s", textsOf(sent))
		}
		after(10 * time.Second)
		sent = r.srv.Sent(dm)
		if len(sent) != 2 || sent[0].Text != "There are two ways to go on from here" || !strings.Contains(sent[1].Text, "Which way?") {
			t.Fatalf("the chat shows:\n%s", textsOf(sent))
		}
		if n := len(r.srv.Calls("editMessageText")); n < 2 || n > 5 {
			t.Errorf("%d edits for a reply of 4.5 s", n)
		}
		r.srv.Say(ana, dm, "2", telegramtest.Reply(sent[0].ID)) // not to the prompt: no answer
		after(10 * time.Second)
		if all := textsOf(r.srv.Sent(dm)); strings.Contains(all, "So it is") {
			t.Fatalf("a reply to the streamed message answered:\n%s", all)
		}
		r.srv.Say(ana, dm, "2")
		after(10 * time.Second)
		sent = r.srv.Sent(dm)
		last := sent[len(sent)-1].Text
		if last != "So it is. I went there and came back" || strings.Count(textsOf(sent), "So it is") != 1 || strings.Contains(textsOf(sent), "…") {
			t.Errorf("the chat shows:\n%s", textsOf(sent))
		}
	})
}

// The message that grew was deleted: the reply is sent whole.
func TestStreamedReplyIsDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.serve()
		r.srv.Say(ana, dm, "go")
		after(2 * time.Second)
		r.srv.Delete(dm, r.srv.Sent(dm)[0].ID)
		after(10 * time.Second)
		sent := r.srv.Sent(dm)
		if len(sent) != 2 || sent[0].Text != "There are two ways to go on from here" || !strings.Contains(sent[1].Text, "Which way?") {
			t.Errorf("the chat shows:\n%s", textsOf(sent))
		}
	})
}
