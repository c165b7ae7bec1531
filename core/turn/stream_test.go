package turn_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/turn"
)

// writing is a model that writes a word a second, and replies as the world's model does.
type writing struct {
	w     *world
	words []string // each the whole text so far
}

func (m *writing) Generate(_ context.Context, r model.Request) (model.Response, error) {
	return m.w.generate(r)
}

func (m *writing) Stream(ctx context.Context, r model.Request, text func(string)) (model.Response, error) {
	for _, soFar := range m.words {
		text(soFar)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return model.Response{}, ctx.Err()
		}
	}
	return m.w.generate(r)
}

// inStream runs f in a world whose chat streams, with a model that writes these words before each reply.
func inStream(t *testing.T, f func(t *testing.T, w *world), words ...string) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		w.streams = true
		w.agent.Model = &writing{w, words}
		w.model = script()
		f(t, w)
	})
}

// written are the texts that are being written in the chat.
func (w *world) written() (out []string) {
	for _, p := range w.e.Partials(w.t.Context(), home) {
		out = append(out, p.Text)
	}
	return out
}

func (w *world) wantWritten(want ...string) {
	w.t.Helper()
	synctest.Wait()
	if got := w.written(); !slices.Equal(got, want) {
		w.t.Errorf("written so far %q, want %q", got, want)
	}
}

func TestPartialsOfAReply(t *testing.T) {
	inStream(t, func(t *testing.T, w *world) {
		w.start()
		w.wantWritten()
		acc := w.send(w.message(ana, "go"))
		w.wantWritten("a")
		if got := w.e.Partials(t.Context(), home); len(got) != 1 || got[0] != (turn.Partial{Conversation: conv(), Run: acc.Run, Text: "a"}) {
			t.Errorf("partials %+v", got)
		}
		w.pass(time.Second)
		w.wantWritten("a b")
		w.pass(time.Second)
		w.wantWritten("") // taken back
		if got := w.e.Partials(t.Context(), "elsewhere"); len(got) != 0 {
			t.Errorf("another channel has %+v", got)
		}
		w.idle()
		w.wantWritten()
		w.wantLines("say end")
	}, "a", "a b", "")
}

func TestNoPartialsWhereNothingStreams(t *testing.T) {
	inStream(t, func(t *testing.T, w *world) {
		w.streams = false
		w.start()
		w.send(w.message(ana, "go"))
		w.wantWritten()
		w.idle()
		w.wantLines("say end")
	}, "a")
}

// The words before a call stand while the call runs, and not beside a prompt.
func TestPartialsEndWithTheStop(t *testing.T) {
	inStream(t, func(t *testing.T, w *world) {
		slow(w.tools["db__read"], 30*time.Second)
		w.model = script(calls("a", `db__read {}`), calls("a", `db__drop {}`))
		w.start()
		w.send(w.message(ana, "go"))
		w.pass(10 * time.Second)
		w.wantWritten("a")
		w.idle()
		w.wantWritten()
		w.wantLines("say a | ask approval drop #0")
		w.send(w.message(ana, "yes"))
		w.wantWritten("a")
		w.idle()
		w.wantWritten()
	}, "a")
}

func TestPartialsStandBackForRows(t *testing.T) {
	inStream(t, func(t *testing.T, w *world) {
		w.hold = true
		w.start()
		w.send(w.message(ana, "go"))
		w.wantWritten("a")
		w.send(w.message(ana, "and then"))
		w.pass(1500 * time.Millisecond) // the reply to the first waits to be sent
		w.wantWritten()
		w.mu.Lock()
		w.hold = false
		w.mu.Unlock()
		for w.deliverSome(t.Context()) {
		}
		w.wantWritten("a")
		w.idle()
		w.wantLines("say end", "say end")
	}, "a")
}

func TestPartialsOfAnAbortedRun(t *testing.T) {
	inStream(t, func(t *testing.T, w *world) {
		w.start()
		w.send(w.message(ana, "go"))
		w.pass(1500 * time.Millisecond)
		w.wantWritten("a b")
		w.send(w.message(ana, "cancel"))
		w.idle()
		w.wantWritten()
		w.wantLines("note aborted")
	}, "a", "a b", "a b c")
}

// A call that goes on while it asks: what was written before stands above the prompt and grows no more.
func TestPartialsEndWithThePromptOfACall(t *testing.T) {
	inStream(t, func(t *testing.T, w *world) {
		w.add("mcp__live", core.ToolAction, nil).run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			_, err := ctx.Wait(tool.Asked{Kind: core.KindForm, Message: "Sure?"})
			return "done", err
		}
		w.model = script(calls("a", `mcp__live {}`))
		w.start()
		w.send(w.message(ana, "go"))
		w.pass(10 * time.Second)
		w.wantLines("ask form live #0")
		w.wantWritten()
		w.send(w.message(ana, "yes"))
		w.wantWritten("a")
		w.idle()
	}, "a")
}

// What a child writes is for its parent.
func TestChildrenDoNotStream(t *testing.T) {
	inStream(t, func(t *testing.T, w *world) {
		withResearcher(w)
		w.agents["researcher"].Model = &writing{w, []string{"of the child"}}
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		w.send(w.message(ana, "go"))
		for range 8 {
			for _, text := range w.written() {
				if text != "a" {
					t.Errorf("written %q", text)
				}
			}
			w.pass(500 * time.Millisecond)
		}
		w.idle()
	}, "a")
}

func TestWakeOncePerLook(t *testing.T) {
	inStream(t, func(t *testing.T, w *world) {
		w.hold = true
		w.start()
		w.send(w.message(ana, "go"))
		w.wantWritten("a")
		wake, end := w.e.Wake(home)
		defer end()
		synctest.Wait()
		<-wake
		for _, want := range []int{1, 0, 1, 0} { // after each hint nobody looks for a second
			w.pass(time.Second)
			synctest.Wait()
			if n := len(wake); n != want {
				t.Errorf("%d hints, want %d", n, want)
			}
			for range len(wake) {
				<-wake
			}
			if want == 0 {
				w.written()
			}
		}
	}, "a", "b", "c", "d", "e", "f", "g")
}
