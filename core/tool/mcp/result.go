package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core"
)

// textOf is a result as the model reads it: its texts, its structured content unless a text says the same,
// and everything else by name and size.
func textOf(res *sdk.CallToolResult) string {
	structured := structuredOf(res)
	var parts []string
	for _, block := range res.Content {
		part := blockText(block)
		if structured != nil && core.SameJSON(json.RawMessage(part), structured) {
			structured = nil
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	if structured != nil {
		parts = append(parts, string(structured))
	}
	if len(parts) == 0 {
		return "[no content]"
	}
	return core.BoundResult(strings.Join(parts, "\n"))
}

func structuredOf(res *sdk.CallToolResult) json.RawMessage {
	if raw := metaText(res.Meta, metaResult); raw != nil && string(raw) != "null" {
		return raw
	}
	if res.StructuredContent == nil {
		return nil
	}
	return encoded(res.StructuredContent, nil)
}

func blockText(block sdk.Content) string {
	switch b := block.(type) {
	case *sdk.TextContent:
		return b.Text
	case *sdk.ImageContent:
		return named("image", len(b.Data), b.MIMEType)
	case *sdk.AudioContent:
		return named("audio", len(b.Data), b.MIMEType)
	case *sdk.ResourceLink:
		size := -1
		if b.Size != nil {
			size = int(*b.Size)
		}
		return named("link", size, b.URI, b.Name, b.Title, b.Description, b.MIMEType)
	case *sdk.EmbeddedResource:
		return resourceText(b.Resource)
	default:
		return fmt.Sprintf("[%T]", block)
	}
}

func resourceText(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return "[resource]"
	case r.Blob != nil:
		return named("resource", len(r.Blob), r.URI, r.MIMEType)
	}
	return named("resource", -1, r.URI, r.MIMEType) + "\n" + r.Text
}

// named stands for what is no text.
func named(kind string, size int, about ...string) string {
	var b strings.Builder
	b.WriteString("[" + kind)
	for _, a := range about {
		if a = strings.Join(strings.Fields(shortened(a, 300)), " "); a != "" {
			b.WriteString(" " + a)
		}
	}
	if size >= 0 {
		fmt.Fprintf(&b, ", %d bytes", size)
	}
	b.WriteString("]")
	return b.String()
}
