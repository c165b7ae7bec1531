package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// wire is what was seen of one request on its way to the server and back. What the client library reports of
// a failure does not tell whether the request was sent.
type wire struct {
	method string
	token  string // of a call
	// sent says that the server may have the request, answered that a response to it came back.
	sent, answered atomic.Bool

	mu     sync.Mutex
	status int            // of the HTTP response, 0 for none
	rpc    *jsonrpc.Error // the error in a refusing HTTP response, nil for none
}

// again forgets what was seen, before the request is made once more.
func (w *wire) again() {
	w.sent.Store(false)
	w.answered.Store(false)
	w.refused(0, nil)
}

type wireKey struct{}

func withWire(ctx context.Context, w *wire) context.Context {
	return context.WithValue(ctx, wireKey{}, w)
}

func wireOf(ctx context.Context) *wire {
	w, _ := ctx.Value(wireKey{}).(*wire)
	return w
}

// refused keeps how the server answered instead of a response.
func (w *wire) refused(status int, rpc *jsonrpc.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status, w.rpc = status, rpc
}

func (w *wire) refusal() (int, *jsonrpc.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status, w.rpc
}

// What stands beside a message as it came, in its _meta: the client library reads objects into maps, and the
// order of a form's fields and of several asks would be lost.
const (
	metaOurs     = "parley/"
	metaCall     = metaOurs + "call"
	metaSchema   = metaOurs + "schema"
	metaRequests = metaOurs + "inputRequests"
	metaResult   = metaOurs + "structuredContent"
)

// The methods of requests that are looked at.
const (
	methodCall   = "tools/call"
	methodList   = "tools/list"
	methodListen = "subscriptions/listen"
	methodElicit = "elicitation/create"
)

// annotate puts the raw parts of a message beside it. token is the call on whose stream it came, "" where
// that is not known. Bytes that are no such message are returned as they are.
func annotate(raw []byte, token string) []byte {
	if !bytes.Contains(raw, []byte(methodElicit)) && !bytes.Contains(raw, []byte(`"result"`)) {
		return raw
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return raw
	}
	switch {
	case plainText(m["method"]) == methodElicit:
		m["params"] = annotateParams(m["params"], token)
	case m["result"] != nil:
		m["result"] = annotateResult(m["result"])
	default:
		return raw
	}
	return encoded(m, raw)
}

// annotateParams marks an elicitation with the call it came with and its schema as it was written.
func annotateParams(raw json.RawMessage, token string) json.RawMessage {
	var p map[string]json.RawMessage
	if json.Unmarshal(raw, &p) != nil || p == nil {
		return raw
	}
	ours := map[string]string{metaCall: token}
	if s, ok := p["requestedSchema"]; ok {
		ours[metaSchema] = string(s)
	}
	return withMeta(p, ours, raw)
}

// annotateResult keeps a call's asks and its structured content as they were written.
func annotateResult(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte("inputRequests")) && !bytes.Contains(raw, []byte("structuredContent")) {
		return raw
	}
	var r map[string]json.RawMessage
	if json.Unmarshal(raw, &r) != nil || r == nil {
		return raw
	}
	ours := map[string]string{}
	for key, name := range map[string]string{metaRequests: "inputRequests", metaResult: "structuredContent"} {
		if v, ok := r[name]; ok {
			ours[key] = string(v)
		}
	}
	return withMeta(r, ours, raw)
}

// withMeta adds to the _meta of an object. What the server wrote there under our names is dropped.
func withMeta(object map[string]json.RawMessage, ours map[string]string, raw json.RawMessage) json.RawMessage {
	meta := map[string]json.RawMessage{}
	if m := object["_meta"]; m != nil && (json.Unmarshal(m, &meta) != nil || meta == nil) {
		return raw
	}
	for k := range meta {
		if strings.HasPrefix(k, metaOurs) {
			delete(meta, k)
		}
	}
	for k, v := range ours {
		meta[k] = encoded(v, nil)
	}
	object["_meta"] = encoded(meta, raw)
	return encoded(object, raw)
}

// encoded is v as JSON, or otherwise where it has none.
func encoded(v any, otherwise json.RawMessage) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return otherwise
	}
	return b
}

func plainText(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // no string: none of those asked for
	return s
}

// metaText reads back what annotate wrote.
func metaText(meta map[string]any, key string) json.RawMessage {
	s, _ := meta[key].(string)
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// response reads a message as a response: ok says that it is one to the request of that id.
func response(raw []byte, id json.RawMessage) (rpc *jsonrpc.Error, ok bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  *jsonrpc.Error  `json:"error"`
	}
	if json.Unmarshal(raw, &m) != nil || m.Method != "" || m.Result == nil && m.Error == nil {
		return nil, false
	}
	return m.Error, id == nil || bytes.Equal(bytes.TrimSpace(m.ID), bytes.TrimSpace(id))
}
