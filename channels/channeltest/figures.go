package channeltest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/core"
	"parley/core/turn"
	"parley/store/bolt"
)

// Crowd is a Platform with as many people as are asked for, numbered from 0, each in a direct chat of their own.
type Crowd interface {
	Platform
	// Enter makes n people and their chats; it is called once.
	Enter(n int)
	// Chat is the conversation of person i.
	Chat(i int) core.ConversationID
	// Speak lets person i say something.
	Speak(i int, text string)
	// Prompts counts the messages of the bot in a chat for which Asks is true.
	Prompts(i int) int
}

// watch is an engine that is looked at: what each message cost, and when it was durable.
type watch struct {
	*turn.Engine
	store *bolt.Store

	mu    sync.Mutex
	took  map[core.ConversationID]time.Time // when the last message of a chat was durable
	spent map[core.ConversationID]int       // the commits that came with it
}

func (w *watch) Accept(ctx context.Context, m core.Message) (turn.Accepted, error) {
	before := w.store.Stats().Commits
	acc, err := w.Engine.Accept(ctx, m)
	if err == nil && !acc.Duplicate {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.took[m.Conversation] = time.Now()
		w.spent[m.Conversation] = int(w.store.Stats().Commits - before)
	}
	return acc, err
}

func (w *watch) durable(c core.ConversationID) (at time.Time, commits int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.took[c], w.spent[c]
}

// newWatched starts the program with its engine watched.
func newWatched(b *testing.B, p Platform) (*World, *watch) {
	seen := &watch{took: map[core.ConversationID]time.Time{}, spent: map[core.ConversationID]int{}}
	w := newWorld(b, p, core.DefaultHumanInput())
	w.around = func(e *turn.Engine) channels.Turns {
		seen.Engine, seen.store = e, w.store
		return seen
	}
	w.Start()
	return w, seen
}

// patient is how long a figure waits for what has to come: some platforms take few messages a second.
const patient = 10 * time.Minute

func (w *World) await(what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(patient); !ok(); <-tick.C {
		if time.Now().After(late) {
			w.t.Fatalf("this did not come: %s", what)
		}
	}
}

// FigureWaiting has so many chats wait for an approval, and then answers one a turn of the loop: "commits/answer"
// is the most that one took from its arrival until it was settled, "prompts/input" what the platform was sent.
func FigureWaiting(b *testing.B, p Crowd, chats int) {
	p.Enter(chats)
	w, seen := newWatched(b, p)
	for i := range chats {
		p.Speak(i, "drop staging")
	}
	prompted := func(i int) bool {
		all, err := w.engine.Waiting(context.Background(), p.Chat(i))
		if err != nil || len(all) != 1 {
			return false
		}
		_, ok := core.HomePrompt(all[0])
		return ok
	}
	next := 0
	w.await("every chat is asked", func() bool {
		for next < chats && prompted(next) {
			next++
		}
		return next == chats
	})
	prompts := 0
	for i := range chats {
		prompts += p.Prompts(i)
	}
	var took []time.Duration
	most, i := 0, 0
	for b.Loop() {
		if i == chats {
			b.Fatalf("only %d chats wait: give fewer rounds (-benchtime)", chats)
		}
		began := time.Now()
		p.Speak(i, "yes")
		w.await("the answer is settled", func() bool { at, _ := seen.durable(p.Chat(i)); return at.After(began) })
		at, commits := seen.durable(p.Chat(i))
		took, most = append(took, at.Sub(began)), max(most, commits)
		if err := w.engine.Idle(context.Background(), p.Chat(i)); err != nil {
			b.Fatal(err)
		}
		i++
	}
	if n := len(w.Effects.Done()); n != i {
		b.Errorf("%d calls ran for %d answers", n, i)
	}
	b.ReportMetric(float64(most), "commits/answer")
	b.ReportMetric(float64(prompts)/float64(chats), "prompts/input")
	b.ReportMetric(quantile(took, 50), "p50-settled-ms")
}

// FigureIntake has people say 500 messages a second for two seconds a turn of the loop: "p99-durable-ms" is how
// long after it was said a message is durable, which is when it is acknowledged; "lost" are those that never were.
func FigureIntake(b *testing.B, p Crowd) {
	const rate, people = 500, 1000
	p.Enter(people)
	w, seen := newWatched(b, p)
	p.Speak(0, "good morning")
	w.await("the program hears", func() bool { at, _ := seen.durable(p.Chat(0)); return !at.IsZero() })
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	var took []time.Duration
	said := 0
	for b.Loop() {
		began := make([]time.Time, people)
		for i := range people {
			<-tick.C
			began[i] = time.Now()
			p.Speak(i, "hello")
			said++
		}
		b.StopTimer()
		for i := range people {
			w.await("a message is durable", func() bool { at, _ := seen.durable(p.Chat(i)); return at.After(began[i]) })
			at, _ := seen.durable(p.Chat(i))
			took = append(took, at.Sub(began[i]))
		}
		b.StartTimer()
	}
	b.ReportMetric(quantile(took, 99), "p99-durable-ms")
	b.ReportMetric(float64(said-len(took)), "lost")
}

func quantile(all []time.Duration, percent int) float64 {
	slices.Sort(all)
	return float64(all[(len(all)-1)*percent/100].Microseconds()) / 1000
}

// Asks reports whether a message of the bot is a prompt of the figures, also once it was edited.
func Asks(text string) bool { return strings.Contains(text, "staging") }
