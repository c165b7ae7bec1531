package channeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/core"
	"parley/core/model"
	"parley/core/tool/askuser"
	"parley/core/tool/schema"
	"parley/core/turn"
	"parley/parse"
	"parley/store/bolt"
)

// What the model of a Stage says: first with a question, then, once that is answered, to the end.
const (
	FirstWords  = "There are **two ways** to go on from here"
	StageAsks   = "Which way?"
	SecondWords = "So it is. I went there and came back"
)

// slowly is a model that writes a word every half second.
type slowly struct{}

func (slowly) Generate(context.Context, model.Request) (model.Response, error) {
	return model.Response{}, fmt.Errorf("not asked for a stream")
}

func (slowly) Stream(ctx context.Context, r model.Request, text func(string)) (model.Response, error) {
	out := model.Response{Text: FirstWords, Stop: model.StopTools, Calls: []model.Call{{
		ID: "c1", Name: "ask_user", Arguments: json.RawMessage(`{"questions":[{"prompt":"` + StageAsks + `","options":[{"label":"left"},{"label":"right"}]}]}`),
	}}}
	if last := r.Messages[len(r.Messages)-1]; last.Result != nil {
		out = model.Response{Text: SecondWords, Stop: model.StopEnd}
	}
	words := strings.SplitAfter(out.Text, " ")
	for i := range words {
		text(strings.Join(words[:i+1], ""))
		if err := channels.Sleep(ctx, 500*time.Millisecond); err != nil {
			return model.Response{}, err
		}
	}
	return out, nil
}

// Stage runs engine and hub over one adapter that streams, in a bubble, on a store file that outlives them.
type Stage struct {
	t    testing.TB
	file string
	ids  atomic.Int64
	stop func()
	// Log, if set, gets what the hub logs.
	Log *Log
}

// NewStage makes one; nothing runs yet.
func NewStage(t testing.TB) *Stage {
	s := &Stage{t: t, file: filepath.Join(t.TempDir(), "p.db")}
	t.Cleanup(s.Stop)
	return s
}

// Start runs the program over an adapter.
func (s *Stage) Start(a channels.Adapter) {
	s.t.Helper()
	store, err := bolt.Open(s.file, bolt.Options{Clock: time.Now})
	if err != nil {
		s.t.Fatal(err)
	}
	agent := &turn.Agent{ID: Agent, Name: "Ops", Model: slowly{}, AskUser: true, Human: core.DefaultHumanInput(), Lang: "en"}
	engine, err := turn.New(turn.Config{
		Store:   store,
		Agents:  func(id core.AgentID) (*turn.Agent, bool) { return agent, id == Agent },
		NewID:   func() string { return fmt.Sprintf("%016d", s.ids.Add(1)) },
		Streams: func(string) bool { return true },
		Deps: turn.Deps{
			Read:     channels.NewReader(channels.ReaderConfig{Adapter: func(string) channels.Adapter { return a }}),
			Prepare:  schema.Prepare,
			AskSpecs: askuser.Specs,
			ParseAsk: func(name string, args json.RawMessage) (string, []core.Question, []string) {
				return askuser.Parse(name, args, parse.Fold)
			},
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if s.Log != nil {
		log = s.Log.Logger()
	}
	hub, err := channels.NewHub(channels.Config{Turns: engine, Now: time.Now, Memory: store, Log: log, Channels: []channels.Channel{
		{Adapter: a, Access: channels.Access{Public: true}, Streams: true},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = engine.Run(ctx) })
	all.Go(func() { _ = hub.Run(ctx) })
	s.stop = func() {
		cancel()
		all.Wait()
		if err := store.Close(); err != nil {
			s.t.Error(err)
		}
	}
	synctest.Wait()
}

// Stop ends the program; it may be called twice.
func (s *Stage) Stop() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// Streamer is a fake platform for Streams.
type Streamer interface {
	// Adapter is a new adapter for one start of the program.
	Adapter() channels.Adapter
	// Say lets a person speak where replies are streamed.
	Say(text string)
	// Shown is what stands there of the bot, oldest first.
	Shown() []string
	// Whole reports whether a message is the words of the model and nothing else, whatever the dialect.
	Whole(shown, words string) bool
}

// Streams carries a turn that is streamed, with a new process at every moment of it: each part of the reply
// stands there once, whole and without the mark of what is not all yet, and so does its prompt.
func Streams(t *testing.T, open func(t *testing.T) Streamer) {
	t.Parallel()
	var moments []time.Duration
	for at := 600 * time.Millisecond; at < 6*time.Second; at += 300 * time.Millisecond {
		moments = append(moments, at)
	}
	for _, at := range append(moments, time.Hour) {
		t.Run(at.String(), func(t *testing.T) {
			Bubble(t, func(t *testing.T) {
				p, s := open(t), NewStage(t)
				defer s.Stop() // before the platform ends
				restart := func() { s.Stop(); s.Start(p.Adapter()) }
				s.Start(p.Adapter())
				p.Say("go")
				for _, words := range []string{FirstWords, SecondWords} {
					After(min(at, 20*time.Second))
					for _, shown := range p.Shown() {
						if strings.Contains(shown, StageAsks) && !once(p, FirstWords) {
							t.Errorf("the prompt stands before its words do: %q", p.Shown())
						}
					}
					if at < time.Hour {
						restart()
					}
					After(30 * time.Second)
					if !once(p, words) {
						t.Errorf("cut off after %v, the chat shows %q", at, p.Shown())
					}
					if words == FirstWords {
						p.Say("2")
					}
				}
				all := strings.Join(p.Shown(), "\n--\n")
				if strings.Contains(all, "…") || strings.Count(all, "There are") != 1 || strings.Count(all, "So it is") != 1 || strings.Count(all, StageAsks) != 1 {
					t.Errorf("cut off after %v, the chat shows:\n%s", at, all)
				}
			})
		})
	}
}

// once reports whether exactly one message is these words.
func once(p Streamer, words string) bool {
	n := 0
	for _, shown := range p.Shown() {
		if p.Whole(shown, words) {
			n++
		}
	}
	return n == 1
}
