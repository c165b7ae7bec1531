package turn

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"parley/core"
	"parley/core/model"
)

// A run is told by spans: one for each stretch in which it is advanced, with one below it for each request of
// the model and each call of a tool, and one for each end of an input. A wait holds no span: the next stretch
// is the root of another trace, linked to the stretch before it and to what settled its inputs since; where
// those stand is kept in the run's row. A run that a call delegated to stands below that call.
//
// No span holds a text, an argument, an answer or a result. Without a tracer nothing of this happens.

// The names of spans.
const (
	spanRun   = "run"
	spanModel = "model"
	spanTool  = "tool"
	spanInput = "input"
)

// traced opens the span of a stretch in which the run is advanced, below parent where it is a child.
func (d *driver) traced(parent context.Context) {
	d.ctx = parent
	if d.e.tracer == nil {
		return
	}
	opts := []trace.SpanStartOption{trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.agent.id", string(d.agent.ID)),
		attribute.String("gen_ai.conversation.id", string(d.run.Conversation)),
		attribute.String("parley.run", string(d.run.ID)),
		attribute.String("parley.asker", string(d.run.Asker())),
	), trace.WithLinks(linksTo(append([]string{d.run.Trace}, d.run.TraceSettled...)...)...)}
	if d == d.root {
		opts = append(opts, trace.WithNewRoot())
	} else {
		opts = append(opts, trace.WithAttributes(attribute.String("parley.parent", string(d.run.Parent))))
	}
	d.ctx, d.span = d.e.tracer.Start(parent, spanRun, opts...)
	d.run.Trace, d.run.TraceSettled = traceparent(d.span.SpanContext()), nil
}

// untraced ends the span of a stretch. err is why it ended early.
func (d *driver) untraced(status core.RunStatus, err error) {
	if d.span == nil {
		return
	}
	if status == "" {
		status = core.RunRunning // it goes on another time
	}
	d.span.SetAttributes(attribute.String("parley.status", string(status)))
	switch {
	case err != nil:
		failSpan(d.span, class(err))
	case status == core.RunFailed:
		failSpan(d.span, "failed")
	}
	d.span.End()
}

// nowIs is the status of a run that was closed from outside, for its span.
func (d *driver) nowIs() core.RunStatus {
	if d.span == nil {
		return ""
	}
	run, err := d.e.store.Run(d.hard, d.run.ID)
	if err != nil {
		return ""
	}
	return run.Status
}

// class names the kind of an error in one word, without its text.
func class(err error) string {
	switch {
	case errors.Is(err, errStopping), errors.Is(err, context.Canceled):
		return "stopped"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, errAborted):
		return "aborted"
	case errors.Is(err, ErrFenced):
		return "fenced"
	case errors.Is(err, errUnsure):
		return "unknown_outcome"
	case errors.Is(err, ErrDamaged):
		return "damaged"
	}
	return "error"
}

func failSpan(s trace.Span, class string) {
	s.SetAttributes(attribute.String("error.type", class))
	s.SetStatus(codes.Error, class)
}

// modelSpan opens the span of a request of the model, nil where nothing is traced.
func (d *driver) modelSpan(ctx context.Context, step int) (context.Context, trace.Span) {
	if d.span == nil {
		return ctx, nil
	}
	return d.e.tracer.Start(trace.ContextWithSpan(ctx, d.span), spanModel, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.request.model", d.agent.ModelName),
		attribute.Int("parley.step", step),
	))
}

func endModel(s trace.Span, r model.Response, err error) {
	if s == nil {
		return
	}
	if err != nil {
		failSpan(s, class(err))
	} else {
		provider, _, _ := strings.Cut(r.Provider, " ") // its model and address may follow
		s.SetAttributes(
			attribute.String("gen_ai.provider.name", provider),
			attribute.Int("gen_ai.usage.input_tokens", r.Usage.Input),
			attribute.Int("gen_ai.usage.output_tokens", r.Usage.Output),
			attribute.String("parley.stop", string(r.Stop)),
			attribute.Int("parley.calls", len(r.Calls)),
		)
	}
	s.End()
}

// toolSpan opens the span of one attempt of a call, nil where nothing is traced.
func (d *driver) toolSpan(s *state) (context.Context, trace.Span) {
	if d.span == nil {
		return d.ctx, nil
	}
	return d.e.tracer.Start(d.ctx, spanTool, trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", s.row.Tool),
		attribute.String("gen_ai.tool.call.id", string(s.row.ID)),
		attribute.String("parley.source", s.row.Source),
		attribute.String("parley.tool_type", string(s.row.Type)),
		attribute.Bool("parley.approved", s.approval != nil),
	))
}

func endTool(s trace.Span, r ran, err error) {
	if s == nil {
		return
	}
	outcome := ""
	switch {
	case errors.Is(err, errSuspended):
		outcome = "waits"
	case err != nil:
		outcome = class(err)
		failSpan(s, outcome)
	case r.Ask != nil:
		outcome = "asks"
	case r.Result != nil:
		outcome = string(r.Result.Outcome)
		if r.Failed && r.Result.Outcome == core.OutcomeError {
			failSpan(s, "tool_error")
		}
	}
	s.SetAttributes(attribute.String("parley.outcome", outcome))
	s.End()
}

// traceEnd opens the span of an input that this transaction ends. It is linked to the last stretch of its run
// and known to the next one; it ends with the commit, and never where nothing is committed.
func (a *act) traceEnd(in core.Input) error {
	if a.e.tracer == nil || in.Settled == nil {
		return nil
	}
	run := a.run
	if run == nil || run.ID != in.Run {
		below, err := a.tx.Run(in.Run)
		if err != nil {
			return err
		}
		run = &below
	}
	ctx := a.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	_, s := a.e.tracer.Start(ctx, spanInput, trace.WithLinks(linksTo(run.Trace)...), trace.WithAttributes(
		attribute.String("gen_ai.conversation.id", string(in.Conversation)),
		attribute.String("parley.run", string(in.Run)),
		attribute.String("parley.input", string(in.ID)),
		attribute.String("gen_ai.tool.call.id", string(in.Call)),
		attribute.String("parley.kind", string(in.Kind)),
		attribute.String("parley.via", in.Settled.Via),
		attribute.String("parley.verdict", string(in.State)),
		attribute.String("parley.by", string(in.Settled.By)),
		attribute.Float64("parley.waited", in.Settled.At.Sub(in.CreatedAt).Seconds()),
	))
	a.spans = append(a.spans, s)
	run.TraceSettled = append(run.TraceSettled, traceparent(s.SpanContext()))
	return a.tx.PutRun(*run)
}

// committed ends the spans of what a transaction did.
func (a *act) committed() {
	for _, s := range a.spans {
		s.End()
	}
}
