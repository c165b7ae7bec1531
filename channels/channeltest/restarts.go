package channeltest

import (
	"context"
	"strings"
	"time"

	"parley/channels"
	"parley/core"
	"parley/core/turn"
)

// process is what a start of the program does; between two of them a conversation comes one step further.
type process struct {
	drives   bool // runs go on
	delivers bool // what the bot says is sent
}

// silent is an engine whose outbox is not looked at.
type silent struct{ channels.Turns }

func (silent) Outbox(context.Context, string, int) (rows []core.Out, next time.Time, err error) {
	return nil, time.Time{}, nil
}
func (silent) Glances(string) []core.Out                       { return nil }
func (silent) Partials(context.Context, string) []turn.Partial { return nil }

// restartAs stops the program and starts it again as another process.
func (w *World) restartAs(p process) {
	w.t.Helper()
	w.process = p
	w.Restart()
}

// replies counts the messages of the bot that tell the results of its calls.
func (w *World) replies(room Room) int { return strings.Count(texts(w.Shown(room)), "Results:") }

// prompts counts the messages of the bot that ask about staging, or asked.
func (w *World) prompts(room Room) (n int) {
	for _, s := range w.Shown(room) {
		if Asks(s.Text) && !strings.Contains(s.Text, "Results:") {
			n++
		}
	}
	return n
}

// tally fails the test unless a room shows so many prompts and replies, and the tools did so much.
func (w *World) tally(after string, prompts, effects, replies int) {
	w.t.Helper()
	if p, e, r := w.prompts(Direct), len(w.Effects.Done()), w.replies(Direct); p != prompts || e != effects || r != replies {
		w.t.Errorf("after %s: %d prompts, %d effects, %d replies, want %d, %d, %d\n%s", after, p, e, r, prompts, effects, replies, texts(w.Shown(Direct)))
	}
}

// restartsBetweenAllSteps carries one approval with a new process for each step. answer gives it.
func restartsBetweenAllSteps(w *World, answer func(in core.Input)) {
	w.restartAs(process{})
	w.alice("drop staging")
	w.Quiet(w.t)
	w.tally("the message", 0, 0, 0)

	w.restartAs(process{drives: true})
	w.Until("the turn waits", func() bool { return w.Waiting(Direct) == 1 })
	w.tally("the turn has stopped", 0, 0, 0)

	w.restartAs(process{delivers: true})
	in := w.Asked(Direct, 0)
	w.Still(Direct)
	w.tally("the prompt", 1, 0, 0)

	w.restartAs(process{})
	answer(in)
	w.Until("it is settled", func() bool { return w.Input(in.ID).State == core.InputAccepted })
	w.Quiet(w.t)
	w.tally("the answer", 1, 0, 0)

	w.restartAs(process{drives: true})
	w.Until("the call has run", func() bool { return len(w.Effects.Done()) > 0 })
	w.Until("the turn has ended", func() bool { return w.runOf(in).Status == core.RunCompleted })
	w.tally("the effect", 1, 1, 0)

	w.restartAs(process{delivers: true})
	w.Says(Direct, "Results:")
	w.Still(Direct)
	w.tally("the reply", 1, 1, 1)

	w.restartAs(process{drives: true, delivers: true})
	w.Still(Direct)
	w.alice("good morning")
	w.Says(Direct, "Heard: good morning")
	w.Still(Direct)
	w.tally("all of it", 1, 1, 1)
	w.did("drop staging")
	w.ended(in, core.InputAccepted)
}

// runOf reads the run of an input as it stands.
func (w *World) runOf(in core.Input) core.Run {
	w.t.Helper()
	run, err := w.store.Run(context.Background(), in.Run)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}
