package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// otlp sends spans to a collector: OTLP over HTTP in its JSON form. The library's exporter would bring gRPC
// into the binary (docs/adr/0013-traces.md).
type otlp struct {
	client  *http.Client
	url     string
	headers map[string]string
	log     *slog.Logger
}

const otlpTimeout = 10 * time.Second

// ExportSpans sends one batch. What a collector does not take is lost, and logged: a trace is a view, not a
// record.
func (o *otlp) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	if err := o.send(ctx, spans); err != nil {
		o.log.Warn("spans were lost", "err", err)
	}
	return nil
}

func (o *otlp) send(ctx context.Context, spans []trace.ReadOnlySpan) error {
	body, err := json.Marshal(exportOf(spans))
	if err != nil {
		return fmt.Errorf("export %d spans: %w", len(spans), err)
	}
	ctx, cancel := context.WithTimeout(ctx, otlpTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("export %d spans: %w", len(spans), err)
	}
	for k, v := range o.headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := o.client.Do(req)
	if err != nil {
		return fmt.Errorf("export %d spans: %w", len(spans), err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection is used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("export %d spans: the collector answered %s", len(spans), res.Status)
	}
	return nil
}

// Shutdown has nothing to end: the processor before it sends what is left.
func (o *otlp) Shutdown(context.Context) error { return nil }

// The wire form: opentelemetry/proto/collector/trace/v1 in JSON, with ids in hexadecimal and 64-bit numbers
// as strings.
type (
	otlpExport struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpScopeSpans struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Events     []otlpEvent     `json:"events,omitempty"`
		Links      []otlpLink      `json:"links,omitempty"`
		Status     *otlpStatus     `json:"status,omitempty"`
	}
	otlpEvent struct {
		Time       string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpLink struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpStatus struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"` // 1 ok, 2 error
	}
	otlpAttribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// exportOf puts spans of one resource under their scopes.
func exportOf(spans []trace.ReadOnlySpan) otlpExport {
	var out otlpResourceSpans
	if res := spans[0].Resource(); res != nil {
		out.Resource.Attributes = attributesOf(res.Attributes())
	}
	at := map[string]int{}
	for _, s := range spans {
		scope := s.InstrumentationScope()
		i, ok := at[scope.Name]
		if !ok {
			i = len(out.ScopeSpans)
			at[scope.Name] = i
			out.ScopeSpans = append(out.ScopeSpans, otlpScopeSpans{})
			out.ScopeSpans[i].Scope.Name, out.ScopeSpans[i].Scope.Version = scope.Name, scope.Version
		}
		out.ScopeSpans[i].Spans = append(out.ScopeSpans[i].Spans, spanOf(s))
	}
	return otlpExport{ResourceSpans: []otlpResourceSpans{out}}
}

func spanOf(s trace.ReadOnlySpan) otlpSpan {
	out := otlpSpan{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(),
		Name: s.Name(), Kind: max(int(s.SpanKind()), int(api.SpanKindInternal)),
		Start: nanos(s.StartTime()), End: nanos(s.EndTime()), Attributes: attributesOf(s.Attributes()),
	}
	if s.Parent().SpanID().IsValid() {
		out.Parent = s.Parent().SpanID().String()
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, otlpEvent{nanos(e.Time), e.Name, attributesOf(e.Attributes)})
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, otlpLink{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String(), attributesOf(l.Attributes)})
	}
	switch s.Status().Code {
	case codes.Ok:
		out.Status = &otlpStatus{Code: 1}
	case codes.Error:
		out.Status = &otlpStatus{Message: s.Status().Description, Code: 2}
	case codes.Unset:
	}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributesOf(list []attribute.KeyValue) []otlpAttribute {
	var out []otlpAttribute
	for _, kv := range list {
		v := map[string]any{}
		switch kv.Value.Type() {
		case attribute.BOOL:
			v["boolValue"] = kv.Value.AsBool()
		case attribute.INT64:
			v["intValue"] = strconv.FormatInt(kv.Value.AsInt64(), 10)
		case attribute.FLOAT64:
			v["doubleValue"] = kv.Value.AsFloat64()
		default:
			v["stringValue"] = kv.Value.String()
		}
		out = append(out, otlpAttribute{string(kv.Key), v})
	}
	return out
}

// tracer opens spans; nil where they go nowhere.
func (a *app) tracer() api.Tracer {
	// A redirect would take the headers elsewhere.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if a.traces = newTraces(a.cfg.Tracing, client, a.log); a.traces == nil {
		return nil
	}
	return a.traces.Tracer("parley")
}

// newTraces makes the provider of a configuration; nil where it names no collector. The caller shuts it down.
func newTraces(cfg TracingConfig, client *http.Client, log *slog.Logger) *trace.TracerProvider {
	if cfg.Endpoint == "" {
		return nil
	}
	return trace.NewTracerProvider(
		trace.WithBatcher(&otlp{client: client, url: cfg.traces(), headers: reveal(cfg.Headers), log: log}),
		trace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "parley"), attribute.String("service.version", versionText()))),
	)
}
