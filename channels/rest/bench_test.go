package rest_test

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels/rest"
	"parley/core"
	"parley/core/turn"
	"parley/store/storetest"
)

var waitingInputs = flag.Int("waiting", 20_000, "how many waiting inputs the benchmark of a page stores")

func p50(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds())
}

// BenchmarkAnswer answers an approval by REST until the resumed run is told. It is held against the same
// answer by a call of the engine, and against the store's own commit of the rows that an answer writes, all
// three in turn. The ratios are those of the medians.
func BenchmarkAnswer(b *testing.B) {
	w := newWorldWith(b, func(c *rest.Config) { c.Log = nil })
	const body = `{"action":"accept","from":"test:ana"}`
	timed := func(all *[]time.Duration, f func() error) {
		began := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		*all = append(*all, time.Since(began))
	}
	var commits, settles, answers, gets []time.Duration
	for b.Loop() {
		timed(&commits, w.settleRows(w.begin(drop).Inputs[0]))
		in := w.begin(drop).Inputs[0]
		timed(&settles, func() error {
			s := turn.Settlement{Input: core.InputID(in.ID), From: ana, Via: "go", Submission: core.Submission{Action: core.ActionAccept}, Step: -1}
			done, err := w.engine.SettleAll(b.Context(), []turn.Settlement{s})
			if err == nil && done[0].Resumed == "" {
				err = errors.New("no run is resumed")
			}
			return err
		})
		w.run(in.RunID)
		in = w.begin(drop).Inputs[0]
		timed(&gets, func() error { w.send("gate", "GET", "/v1/inputs/"+in.ID, nil); return nil })
		timed(&answers, func() error {
			if a := w.send("gate", "POST", "/v1/agents/ops/inputs/"+in.ID, body); !strings.Contains(string(a.body), `"request":{"id"`) {
				return fmt.Errorf("%d %s", a.status, a.body)
			}
			return nil
		})
		w.run(in.RunID)
	}
	commit, settle, answer := p50(commits), p50(settles), p50(answers)
	b.ReportMetric(answer, "answer-p50-µs")
	b.ReportMetric(p50(gets), "get-p50-µs")
	b.ReportMetric(settle, "settle-p50-µs")
	b.ReportMetric(commit, "commit-p50-µs")
	b.ReportMetric(answer/commit, "answer/commit")
	b.ReportMetric(settle/commit, "settle/commit")
}

// settleRows returns a commit of the rows that the answer to an input writes: nothing is decided, and the
// engine is not told.
func (w *world) settleRows(in input) func() error {
	row, err := w.store.Input(w.t.Context(), core.InputID(in.ID))
	if err != nil {
		w.t.Fatal(err)
	}
	scope := turn.Scope{Conversation: row.Conversation}
	var conv core.Conversation
	var run core.Run
	var calls []core.Call
	err = w.store.View(w.t.Context(), scope.Conversation, func(r turn.Reader) error {
		var errs [3]error
		conv, errs[0] = r.Conversation()
		run, errs[1] = r.Run(row.Run)
		calls, errs[2] = r.Calls(row.Run)
		return errors.Join(errs[:]...)
	})
	if err != nil || len(calls) != 1 {
		w.t.Fatal(calls, err)
	}
	call, at := calls[0], w.now()
	conv.Closed, run.Status, call.Status, row.State = row.ID, core.RunRunning, core.CallExecuting, core.InputAccepted
	call.Approval = &core.Approval{Input: row.ID, By: ana, At: at}
	row.Settled = &core.Settled{By: ana, Via: "go", Role: "asker", At: at, Answer: &core.Answer{Action: core.ActionAccept}}
	event := core.Event{Type: core.EventInputResolved, Run: run.ID, Call: call.ID, Input: row.ID, By: ana, Via: "go", At: at}
	return func() error {
		return w.store.Update(w.t.Context(), scope, func(tx turn.Tx) error {
			claim, err := tx.TakeClaim(time.Minute)
			call.Claim = claim.Token
			return errors.Join(err, tx.PutInput(row), tx.PutConversation(conv), tx.AddEvent(event), tx.PutRun(run), tx.PutCall(call))
		})
	}
}

// BenchmarkPage reads a page of 50 of many waiting inputs.
func BenchmarkPage(b *testing.B) {
	w := newWorld(b)
	at := w.now()
	for n := 0; n < *waitingInputs; {
		var batch sync.WaitGroup
		for range 1024 {
			r := storetest.Waiting(n, at.Add(time.Duration(n)))
			n++
			conv := core.NewConversation("ops", "chat", core.Place(fmt.Sprint(n)))
			r.Conversation.ID, r.Run.Conversation, r.Run.Message.Conversation, r.Event.Conversation, r.Input.Conversation, r.Input.Agent = conv, conv, conv, conv, conv, "ops"
			for i := range r.Input.Prompts {
				r.Input.Prompts[i].Conversation = conv
			}
			batch.Go(func() {
				err := w.store.Update(b.Context(), turn.Scope{Conversation: conv}, func(tx turn.Tx) error { return errors.Join(storetest.Put(tx, r)) })
				if err != nil {
					b.Error(err)
				}
			})
		}
		batch.Wait()
	}
	for _, token := range []string{"root", "mute", "gate"} { // all, one agent, several
		b.Run(token, func(b *testing.B) {
			w.t = b
			var pages []time.Duration
			cursor := ""
			for b.Loop() {
				var page struct {
					Inputs []struct{ ID string }
					Next   string
				}
				began := time.Now()
				a := w.send(token, "GET", "/v1/inputs?limit=50&cursor="+cursor, nil)
				pages = append(pages, time.Since(began))
				if a.into(b, &page); len(page.Inputs) == 0 {
					b.Fatalf("%d %s", a.status, a.body)
				}
				cursor = page.Next
			}
			b.ReportMetric(p50(pages), "page-p50-µs")
		})
	}
	w.t = b
}

// BenchmarkListeners has 1,000 streams hear of one turn: from the message until the last has its end.
func BenchmarkListeners(b *testing.B) {
	const n = 1000
	w := newWorldWith(b, func(c *rest.Config) { c.KeepAlive = time.Hour })
	ended := make(chan struct{}, n)
	for range n {
		l := w.listen("gate", "/v1/agents/ops/events", "")
		go func() {
			for l.lines.Scan() {
				if l.lines.Text() == "event: run_finished" {
					ended <- struct{}{}
				}
			}
		}()
	}
	var turns []time.Duration
	for b.Loop() {
		began := time.Now()
		w.begin("call log__write {}")
		for range n {
			<-ended
		}
		turns = append(turns, time.Since(began))
	}
	b.ReportMetric(p50(turns), "turn-to-all-p50-µs")
}
