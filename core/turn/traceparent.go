package turn

import (
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// traceparent is where a span stands, in the form of W3C Trace Context; "" where it stands nowhere.
func traceparent(c trace.SpanContext) string {
	if !c.IsValid() {
		return ""
	}
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// spanContext reads a traceparent. What is none is not valid.
func spanContext(s string) trace.SpanContext {
	parts := strings.Split(s, "-")
	if len(parts) != 4 || parts[0] != "00" {
		return trace.SpanContext{}
	}
	id, err := trace.TraceIDFromHex(parts[1])
	if err != nil {
		return trace.SpanContext{}
	}
	span, err := trace.SpanIDFromHex(parts[2])
	if err != nil {
		return trace.SpanContext{}
	}
	c := trace.SpanContextConfig{TraceID: id, SpanID: span, Remote: true}
	if parts[3] == "01" {
		c.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(c)
}

// linksTo makes a link to each of the traceparents that is one.
func linksTo(all ...string) []trace.Link {
	var out []trace.Link
	for _, s := range all {
		if c := spanContext(s); c.IsValid() {
			out = append(out, trace.Link{SpanContext: c})
		}
	}
	return out
}
