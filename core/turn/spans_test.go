package turn_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/turn"
)

// inTraces runs f in a world that is traced.
func inTraces(t *testing.T, f func(t *testing.T, w *world, r *tracetest.SpanRecorder)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		r := tracetest.NewSpanRecorder()
		w.tracer = sdk.NewTracerProvider(sdk.WithSpanProcessor(r)).Tracer("parley")
		w.agent.ModelName = "fake-1"
		f(t, w, r)
	})
}

func attr(s sdk.ReadOnlySpan, key string) string {
	for _, kv := range s.Attributes() {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// label names a span in few words.
func label(s sdk.ReadOnlySpan) string {
	what := map[string]string{"run": "parley.status", "model": "gen_ai.request.model", "tool": "parley.outcome", "input": "parley.verdict"}[s.Name()]
	l := s.Name() + " " + attr(s, what)
	if s.Name() == "tool" {
		l = "tool " + attr(s, "gen_ai.tool.name") + " " + attr(s, what)
	}
	if class := attr(s, "error.type"); class != "" {
		l += " !" + class
	}
	return l
}

// outlineOf draws the ended spans by the order in which they began: those below others are indented, links
// are named by the number of the span they lead to.
func outlineOf(r *tracetest.SpanRecorder) []string {
	spans := r.Ended()
	slices.SortStableFunc(spans, func(a, b sdk.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	number := map[trace.SpanID]int{}
	for _, s := range r.Started() { // a tie of times is broken by this order
		number[s.SpanContext().SpanID()] = len(number)
	}
	slices.SortStableFunc(spans, func(a, b sdk.ReadOnlySpan) int {
		return number[a.SpanContext().SpanID()] - number[b.SpanContext().SpanID()]
	})
	depth, place := map[trace.SpanID]int{}, map[trace.SpanID]int{}
	var out []string
	for i, s := range spans {
		id := s.SpanContext().SpanID()
		place[id] = i
		if p := s.Parent(); p.IsValid() {
			depth[id] = depth[p.SpanID()] + 1
		}
		line := fmt.Sprintf("%d%s %s", i, strings.Repeat("  ", depth[id]), label(s))
		for _, l := range s.Links() {
			line += fmt.Sprintf(" ->%d", place[l.SpanContext.SpanID()])
		}
		out = append(out, line)
	}
	return out
}

func wantSpans(t *testing.T, r *tracetest.SpanRecorder, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := outlineOf(r); !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, s := range r.Started() {
		if s.EndTime().IsZero() {
			t.Errorf("%s has not ended", label(s))
		}
	}
}

// A trace is followed over days and another process by its links.
func TestSpansOfATurn(t *testing.T) {
	inTraces(t, func(t *testing.T, w *world, r *tracetest.SpanRecorder) {
		w.model = script(calls("", `db__read {}`, `db__drop {"n":1}`, `db__drop {"n":2}`))
		w.start()
		w.say(ana, "go")
		w.restart()
		w.pass(50 * time.Hour)
		w.say(ana, "yes")
		w.say(ana, "no")
		wantSpans(t, r,
			"0 run input_required",
			"1   model fake-1",
			"2   tool db__read ok",
			"3 input accepted ->0",
			"4 input declined ->0",
			"5 run completed ->0 ->3 ->4",
			"6   tool db__drop ok",
			"7   model fake-1",
		)
		input := r.Ended()[3]
		for key, want := range map[string]string{"parley.kind": "approval", "parley.via": "chat", "parley.by": "local:ana", "parley.waited": "180000", "gen_ai.tool.call.id": "c1_2"} {
			if got := attr(input, key); got != want {
				t.Errorf("%s of the input is %q, want %q", key, got, want)
			}
		}
	})
}

// Where spans stand is kept by commits that are made anyway.
func TestSpansCostNoCommit(t *testing.T) {
	inTraces(t, func(t *testing.T, w *world, _ *tracetest.SpanRecorder) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.pass(time.Minute)
		before := commits(w)
		w.say(ana, "go")
		w.pass(time.Minute)
		w.say(ana, "yes")
		w.pass(time.Minute)
		if got := commits(w) - before; got > 7 {
			t.Errorf("%d commits, want at most 7", got)
		}
	})
}

func TestSpansSayNothingPrivate(t *testing.T) {
	inTraces(t, func(t *testing.T, w *world, r *tracetest.SpanRecorder) {
		const private = "tell-nobody"
		w.tools["db__read"].run = func(*tool.Context, json.RawMessage) (string, error) { return "", fmt.Errorf("wrong: %s", private) }
		w.tools["db__drop"].run = func(*tool.Context, json.RawMessage) (string, error) { return private, nil }
		w.model = func(req model.Request) (model.Response, error) {
			if len(req.Messages) > 3 {
				return model.Response{}, &model.Error{Sentence: private}
			}
			return script(calls(private, `db__read {"a":"`+private+`"}`, `db__drop {"a":"`+private+`"}`))(req)
		}
		w.start()
		w.say(ana, "go "+private)
		in := w.waiting()[0]
		_, err := w.e.Settle(t.Context(), turn.Settlement{Input: in.ID, From: ana, Via: "rest", Submission: core.Submission{Action: core.ActionDecline, Reason: private}})
		if err != nil {
			t.Fatal(err)
		}
		w.idle()
		for _, s := range r.Ended() {
			all := s.Name() + s.Status().Description + fmt.Sprint(s.Attributes())
			if strings.Contains(all, private) || len(s.Events()) != 0 {
				t.Errorf("%s tells %s, %v", s.Name(), all, s.Events())
			}
		}
		wantSpans(t, r,
			"0 run input_required",
			"1   model fake-1",
			"2   tool db__read error !tool_error",
			"3 input declined ->0",
			"4 run failed !failed ->0 ->3",
			"5   model fake-1 !error",
		)
	})
}

func TestSpansOfAChildRun(t *testing.T) {
	inTraces(t, func(t *testing.T, w *world, r *tracetest.SpanRecorder) {
		withResearcher(w).ModelName = "fake-2"
		w.model = script(calls("", `agent__researcher {"message":"x"}`))
		w.start()
		w.say(ana, "go")
		w.say(ana, "yes")
		wantSpans(t, r,
			"0 run input_required",
			"1   model fake-1",
			"2   tool agent__researcher waits",
			"3     run input_required",
			"4       model fake-2",
			"5 input accepted ->3",
			"6 run completed ->0",
			"7   tool agent__researcher ok",
			"8     run completed ->3 ->5",
			"9       tool db__drop ok",
			"10       model fake-2",
			"11   model fake-1",
		)
		if a, b := attr(r.Started()[3], "parley.parent"), attr(r.Started()[0], "parley.run"); a != b || a == "" {
			t.Errorf("the child's parent is %q, want %q", a, b)
		}
	})
}

func TestSpansOfOtherEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(w *world)
		want []string
	}{
		"superseded": {func(w *world) { w.say(ana, "something else") }, []string{
			"0 run input_required", "1   model fake-1", "2 input superseded ->0", "3 run input_required", "4   model fake-1"}},
		"cancelled": {func(w *world) { w.say(ana, "cancel") }, []string{
			"0 run input_required", "1   model fake-1", "2 input cancelled ->0"}},
		"expired": {func(w *world) { w.pass(8 * 24 * time.Hour); w.idle() }, []string{
			"0 run input_required", "1   model fake-1", "2 input expired ->0"}},
		"cut": {func(w *world) {
			slow(w.tools["db__drop"], time.Hour)
			w.send(w.message(ana, "yes"))
			synctest.Wait()
			w.restart()
			w.idle()
		}, []string{
			"0 run input_required", "1   model fake-1", "2 input accepted ->0",
			"3 run running !stopped ->0 ->2", "4   tool db__drop stopped !stopped", "5 run input_required ->0 ->2"}}, // what stored nothing is known to nobody
		"aborted in a call": {func(w *world) {
			slow(w.tools["db__drop"], time.Minute)
			w.send(w.message(ana, "yes"))
			w.pass(time.Second)
			w.say(ana, "cancel")
		}, []string{
			"0 run input_required", "1   model fake-1", "2 input accepted ->0",
			"3 run cancelled ->0 ->2", "4   tool db__drop ok"}},
		"refused together": {func(w *world) {
			one := settlement(w.waiting()[0], ana, core.ActionAccept)
			two := one
			two.From = ben
			if _, err := w.e.SettleAll(w.t.Context(), []turn.Settlement{one, two}); err == nil {
				w.t.Error("settled by someone who may not")
			}
		}, []string{"0 run input_required", "1   model fake-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			inTraces(t, func(t *testing.T, w *world, r *tracetest.SpanRecorder) {
				w.model = script(calls("", `db__drop {}`))
				w.start()
				w.say(ana, "go")
				tc.do(w)
				synctest.Wait()
				if got := outlineOf(r); !slices.Equal(got, tc.want) {
					t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
				}
			})
		})
	}
}

// The answer that comes with a trace of its own is told within it.
func TestSpansOfACaller(t *testing.T) {
	inTraces(t, func(t *testing.T, w *world, r *tracetest.SpanRecorder) {
		w.model = script(calls("", `db__drop {}`))
		w.start()
		w.say(ana, "go")
		ctx, request := w.tracer.Start(t.Context(), "request", trace.WithAttributes(attribute.Bool("caller", true)))
		if _, err := w.e.Settle(ctx, settlement(w.waiting()[0], ana, core.ActionAccept)); err != nil {
			t.Fatal(err)
		}
		request.End()
		w.idle()
		for _, s := range r.Ended() {
			below := s.SpanContext().TraceID() == request.SpanContext().TraceID()
			if want := s.Name() == "input" || s.Name() == "request"; below != want {
				t.Errorf("%s in the caller's trace: %v", label(s), below)
			}
		}
	})
}
