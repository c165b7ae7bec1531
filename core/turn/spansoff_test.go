package turn

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"parley/core"
	"parley/core/model"
)

// untold goes through everything that a traced turn adds to one that is not.
func untold(ctx context.Context, d *driver, a *act, s *state, in core.Input) {
	d.traced(ctx)
	_, m := d.modelSpan(ctx, 1)
	endModel(m, model.Response{}, nil)
	_, t := d.toolSpan(s)
	endTool(t, ran{}, nil)
	_ = a.traceEnd(in) // it does nothing
	a.committed()
	d.untraced(core.RunCompleted, nil)
}

func nobodyLooks() (*driver, *act, *state, core.Input) {
	e := &Engine{}
	d := &driver{e: e, agent: &Agent{ID: "ops"}}
	d.root = d
	return d, &act{e: e}, &state{row: &core.Call{ID: "c1_1"}}, core.Input{Settled: &core.Settled{}}
}

func TestNoTracerCostsNothing(t *testing.T) {
	d, a, s, in := nobodyLooks()
	if n := testing.AllocsPerRun(100, func() { untold(t.Context(), d, a, s, in) }); n > 0 {
		t.Errorf("%v allocations without a tracer, want none", n)
	}
	if d.run.Trace != "" || d.ctx != t.Context() {
		t.Errorf("something was traced: %+v", d.run)
	}
}

func BenchmarkNoTracer(b *testing.B) {
	d, a, s, in := nobodyLooks()
	b.ReportAllocs()
	for b.Loop() {
		untold(b.Context(), d, a, s, in)
	}
}

func TestTraceparent(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
	} {
		c := spanContext(s)
		if !c.IsValid() || !c.IsRemote() || traceparent(c) != s {
			t.Errorf("%s reads as %v, %s", s, c, traceparent(c))
		}
	}
	for _, s := range []string{
		"", "00", "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
	} {
		if c := spanContext(s); c.IsValid() || len(linksTo(s)) != 0 {
			t.Errorf("%q reads as %v", s, c)
		}
	}
	if got := traceparent(trace.SpanContext{}); got != "" {
		t.Errorf("no span stands at %q", got)
	}
}
