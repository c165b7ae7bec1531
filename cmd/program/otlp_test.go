package program

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	api "go.opentelemetry.io/otel/trace"
)

// collector takes OTLP as one that is strict about the form would.
type collector struct {
	*httptest.Server
	got chan otlpExport
}

func newCollector(t *testing.T, status int) *collector {
	t.Helper()
	c := &collector{got: make(chan otlpExport, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Key") != "k1" {
			t.Errorf("%s %s %v: %v", r.Method, r.URL, r.Header, err)
		}
		var in otlpExport
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		w.WriteHeader(status)
		c.got <- in
	}))
	t.Cleanup(c.Close)
	return c
}

func TestSpansReachTheCollector(t *testing.T) {
	t.Parallel()
	c := newCollector(t, http.StatusOK)
	p := newTraces(TracingConfig{Endpoint: c.URL + "/", Headers: map[string]Secret{"X-Key": "k1"}}, c.Client(), slog.New(slog.DiscardHandler))
	tracer := p.Tracer("parley")
	ctx, parent := tracer.Start(context.Background(), "run", api.WithAttributes(attribute.String("agent", "ops"), attribute.Int("n", 3), attribute.Bool("b", true)))
	_, child := tracer.Start(ctx, "tool", api.WithLinks(api.Link{SpanContext: parent.SpanContext()}))
	child.SetStatus(codes.Error, "failed")
	child.AddEvent("said", api.WithAttributes(attribute.Float64("f", 0.5)))
	child.End()
	parent.End()
	must(t, p.Shutdown(t.Context()))
	in := <-c.got
	if len(in.ResourceSpans) != 1 || len(in.ResourceSpans[0].ScopeSpans) != 1 || len(in.ResourceSpans[0].ScopeSpans[0].Spans) != 2 {
		t.Fatalf("%+v", in)
	}
	spans := in.ResourceSpans[0].ScopeSpans[0].Spans
	tool, run := spans[0], spans[1]
	ids := parent.SpanContext()
	switch {
	case run.TraceID != ids.TraceID().String() || run.SpanID != ids.SpanID().String() || run.Parent != "" || run.Status != nil || run.Kind != 1:
		t.Errorf("run: %+v", run)
	case tool.Parent != run.SpanID || tool.TraceID != run.TraceID || len(tool.Links) != 1 || tool.Links[0].SpanID != run.SpanID:
		t.Errorf("tool: %+v", tool)
	case tool.Status == nil || tool.Status.Code != 2 || tool.Status.Message != "failed" || tool.Events[0].Attributes[0].Value["doubleValue"] != 0.5:
		t.Errorf("tool: %+v", tool)
	case run.Attributes[0].Value["stringValue"] != "ops" || run.Attributes[1].Value["intValue"] != "3" || run.Attributes[2].Value["boolValue"] != true:
		t.Errorf("attributes: %+v", run.Attributes)
	case len(run.Start) != 19 || len(run.End) != 19:
		t.Errorf("times: %+v", run)
	}
	if text := in.ResourceSpans[0].Resource.Attributes[0]; text.Key != "service.name" || text.Value["stringValue"] != "parley" {
		t.Errorf("resource: %+v", text)
	}
}

func TestCollectorThatRefuses(t *testing.T) {
	t.Parallel()
	c := newCollector(t, http.StatusServiceUnavailable)
	var log bytes.Buffer
	p := newTraces(TracingConfig{Endpoint: c.URL, Headers: map[string]Secret{"X-Key": "k1"}}, c.Client(), slog.New(slog.NewTextHandler(&log, nil)))
	_, span := p.Tracer("parley").Start(context.Background(), "run")
	span.End()
	must(t, p.Shutdown(t.Context()))
	if line := log.String(); !strings.Contains(line, "spans were lost") || !strings.Contains(line, "503") || strings.Contains(line, "k1") {
		t.Errorf("log %q", line)
	}
	if newTraces(TracingConfig{}, nil, nil) != nil {
		t.Error("a provider without a collector")
	}
}

// TestATurnIsTracedOverARestart: the stretch after the wait is linked to the one before, the call that was
// approved stands below it, and nothing of what was said or done is told.
func TestATurnIsTracedOverARestart(t *testing.T) {
	t.Parallel()
	c := newCollector(t, http.StatusOK)
	b := newBench(t, map[string]any{"ops": map[string]any{"model": "main", "builtins": []string{"demo"}}}, map[string]any{
		"models":  map[string]any{"main": map[string]any{"provider": "scripted"}},
		"tracing": map[string]any{"endpoint": c.URL, "headers": map[string]any{"X-Key": "k1"}},
	})
	p := b.start()
	p.say(deleteIt)
	p.until("ask:", "Run db__drop?")
	if code := p.end(); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, p.story())
	}
	p = b.start()
	p.until("ask:", "Run db__drop?")
	p.say("yes")
	p.until("say:", "Done")
	p.end()
	c.Close()
	close(c.got)
	byName := map[string][]otlpSpan{}
	for in := range c.got {
		for _, s := range in.ResourceSpans[0].ScopeSpans[0].Spans {
			byName[s.Name] = append(byName[s.Name], s)
		}
		if text, err := json.Marshal(in); err != nil || bytes.Contains(text, []byte("staging")) || bytes.Contains(text, []byte("Done")) {
			t.Errorf("a span tells what was said: %s, %v", text, err)
		}
	}
	runs, tools := byName["run"], byName["tool"]
	if len(runs) != 2 || len(tools) != 1 || len(byName["model"]) != 2 || len(byName["input"]) != 1 {
		t.Fatalf("spans: %+v", byName)
	}
	if tools[0].Parent != runs[1].SpanID || runs[1].TraceID == runs[0].TraceID {
		t.Errorf("the call stands below %s, the second stretch is %s", tools[0].Parent, runs[1].SpanID)
	}
	if !slices.ContainsFunc(runs[1].Links, func(l otlpLink) bool { return l.TraceID == runs[0].TraceID && l.SpanID == runs[0].SpanID }) {
		t.Errorf("the second stretch is linked to %+v, not to the first, %s", runs[1].Links, runs[0].SpanID)
	}
}
