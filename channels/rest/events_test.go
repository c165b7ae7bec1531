package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"parley/core"
)

type frame struct {
	id    uint64
	event string
	data  struct {
		RunID, ID, InputID, ToolName, Text, Status, Parent string
		Input                                              json.RawMessage
		Masked                                             []string
		Request                                            *input
		Settled                                            *struct{ State string }
	}
	raw string
}

// listener reads a stream.
type listener struct {
	t      testing.TB
	resp   *http.Response
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func (w *world) listen(token, path, last string) *listener {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", w.server.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token+"-secret")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := w.server.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	l := &listener{t: w.t, resp: resp, lines: bufio.NewScanner(resp.Body), cancel: cancel}
	l.lines.Buffer(nil, 1<<20)
	w.t.Cleanup(l.close)
	return l
}

func (l *listener) close() { l.cancel(); l.resp.Body.Close() }

// next is the next frame; ok is false at the end of the stream.
func (l *listener) next() (f frame, ok bool) {
	l.t.Helper()
	for l.lines.Scan() {
		line := l.lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "id":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				l.t.Fatalf("%q: %v", line, err)
			}
			f.id = n
		case name == "event":
			f.event = value
		case name == "data":
			f.raw = value
			if err := json.Unmarshal([]byte(value), &f.data); err != nil {
				l.t.Fatalf("%q: %v", line, err)
			}
			checkSchema(l.t, "/components/schemas/Frame", []byte(value))
		case line == "" && f.event != "":
			return f, true
		}
	}
	return f, false
}

// rest reads to the end of the stream.
func (l *listener) rest() (all []frame) {
	l.t.Helper()
	for {
		f, ok := l.next()
		if !ok {
			return all
		}
		all = append(all, f)
	}
}

func events(all []frame) (out []string) {
	for _, f := range all {
		out = append(out, f.event)
	}
	return out
}

// TestEventsOfARun are all there whether followed live or read later, and a stream of it ends with it.
func TestEventsOfARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(`call db__drop {"name":"x","password":"hunter22"}`)
	live := w.listen("mute", "/v1/runs/"+r.ID+"/events", "")
	var before []frame
	for range 5 {
		f, _ := live.next()
		before = append(before, f)
	}
	w.want(w.answer("gate", r.Inputs[0], accept(cleo, true)), 403) // the audit's alone
	w.want(w.answer("gate", r.Inputs[0], accept(ana, true)), 202)
	all := append(before, live.rest()...)
	want := []string{"run_started", "text", "tool_call", "approval", "input_required", "input_resolved", "text", "run_finished"}
	if got := events(all); !slices.Equal(got, want) {
		t.Fatalf("events %q", got)
	}
	approval := all[3].data
	if approval.RunID != r.ID || approval.ID != r.Inputs[0].CallID || approval.ToolName != "db__drop" || approval.InputID != r.Inputs[0].ID ||
		!slices.Equal(approval.Masked, []string{"/password"}) || strings.Contains(all[2].raw+all[3].raw, "hunter22") {
		t.Errorf("approval %s", all[3].raw)
	}
	if all[1].data.Text != "Let me see." || all[5].data.Settled.State != "accepted" || all[7].data.Status != "completed" {
		t.Errorf("%s %s %s", all[1].raw, all[5].raw, all[7].raw)
	}
	later := w.listen("mute", "/v1/runs/"+r.ID+"/events", "").rest()
	if !slices.Equal(events(later), want) || later[7].id != all[7].id {
		t.Errorf("later %q", events(later))
	}
	for i, f := range all { // from everywhere: neither missed nor doubled
		rest := w.listen("mute", "/v1/runs/"+r.ID+"/events", strconv.FormatUint(f.id, 10))
		if got := events(rest.rest()); !slices.Equal(got, want[i+1:]) {
			t.Errorf("after %d: %q", f.id, got)
		}
		if last := i == len(all)-1; (rest.resp.StatusCode == http.StatusNoContent) != last {
			t.Errorf("after %d: status %d", f.id, rest.resp.StatusCode)
		}
	}
	for _, last := range []string{"x", "-1", "99999999"} {
		if l := w.listen("mute", "/v1/runs/"+r.ID+"/events", last); l.resp.StatusCode != 400 {
			t.Errorf("Last-Event-ID %q: %d", last, l.resp.StatusCode)
		}
	}
}

// TestEventsOfAChild come through its ancestor's stream with the run to answer.
func TestEventsOfAChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(`call agent__child {"message":"` + `call ask_user {\"questions\":[{\"prompt\":\"Name?\",\"freeText\":true}]}` + `"}`)
	live := w.listen("gate", "/v1/runs/"+r.ID+"/events", "")
	asked := frame{}
	for asked.event != "elicitation" {
		var ok bool
		if asked, ok = live.next(); !ok {
			t.Fatal("the stream ended")
		}
	}
	in := r.Inputs[0]
	if asked.data.RunID == r.ID || asked.data.RunID != in.RunID || asked.data.ID != in.CallID || asked.data.Request == nil || asked.data.Request.ID != in.ID {
		t.Errorf("elicitation %s", asked.raw)
	}
	w.want(w.do("gate", "POST", "/agent/tool-call/answer", map[string]any{"runId": asked.data.RunID, "toolCallId": asked.data.ID, "answers": "Bob", "from": ana}), 202)
	got := live.rest()
	if n := len(got); n == 0 || got[n-1].data.RunID != r.ID || got[n-1].event != "run_finished" {
		t.Errorf("%q", events(got))
	}
	below := w.listen("gate", "/v1/runs/"+in.RunID+"/events", "").rest()
	for _, f := range below {
		if f.data.RunID != in.RunID {
			t.Errorf("the child's stream has %s", f.raw)
		}
	}
	if e := events(below); !slices.Contains(e, "elicitation") || e[len(e)-1] != "run_finished" {
		t.Errorf("the child's stream: %q", e)
	}
}

// TestEventsOfAnAgent begin now; many listeners that come and go miss nothing and get nothing twice while
// many runs go on.
func TestEventsOfAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin("early")
	first := w.listen("gate", "/v1/agents/ops/events", "")
	start, listeners, runs := uint64(0), 8, 40
	w.begin("mark")
	if f, ok := first.next(); !ok || f.event != "run_started" {
		t.Fatalf("%+v", f)
	} else {
		start = f.id
	}
	var all sync.WaitGroup
	got := make([][]uint64, listeners)
	for i := range listeners {
		all.Go(func() {
			last, finished := start, 0
			for n := 1; finished < runs+1; n++ { // +1: the mark's
				l := w.listen("gate", "/v1/agents/ops/events", strconv.FormatUint(last, 10))
				for range 5 + i*n { // then it hangs up and comes back
					f, ok := l.next()
					if !ok {
						t.Error("the stream ended")
						return
					}
					if last = f.id; f.event == "run_finished" {
						finished++
					}
					if got[i] = append(got[i], f.id); finished == runs+1 {
						break
					}
				}
				l.close()
			}
		})
	}
	for range runs {
		w.begin("call log__write {}")
		w.want(w.do("far", "POST", "/v1/agents/other/runs", map[string]any{"text": "elsewhere", "from": ana}), 202)
	}
	all.Wait()
	for i := range got {
		if !slices.IsSorted(got[i]) || len(slices.Compact(slices.Clone(got[i]))) != len(got[i]) || len(got[i]) != len(got[0]) {
			t.Errorf("listener %d got %d frames, the first %d", i, len(got[i]), len(got[0]))
		}
	}
	if want := runs*5 + 2; len(got[0]) != want { // started, text, tool_call, text, finished
		t.Errorf("%d frames, want %d", len(got[0]), want)
	}
}

// TestStreamEndsWithTheServer and comes back after a restart.
func TestStreamEndsWithTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.begin(drop)
	l := w.listen("gate", "/v1/runs/"+r.ID+"/events", "")
	f, _ := l.next()
	for f.event != "input_required" {
		f, _ = l.next()
	}
	w.restart()
	if more := l.rest(); len(more) > 0 {
		t.Errorf("%q", events(more))
	}
	l = w.listen("gate", "/v1/runs/"+r.ID+"/events", strconv.FormatUint(f.id, 10))
	w.want(w.answer("gate", r.Inputs[0], accept(core.PersonID("test:ana"), true)), 202)
	if got := events(l.rest()); !slices.Equal(got, []string{"input_resolved", "text", "run_finished"}) {
		t.Errorf("%q", got)
	}
}
