package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Reply is what the server answers. The functions of this file make one.
type Reply struct {
	status  int
	header  map[string]string
	body    string
	message json.RawMessage // the assistant message within body, if there is one
	cut     bool
	hold    <-chan struct{}
}

// Say answers with text.
func Say(text string) Reply {
	return Answer(map[string]any{"role": "assistant", "content": text, "refusal": nil}, "stop")
}

// CallTools answers with tool calls and, if it is not "", text.
func CallTools(text string, calls ...Call) Reply {
	m := map[string]any{"role": "assistant", "content": nil, "tool_calls": wire(calls)}
	if text != "" {
		m["content"] = text
	}
	return Answer(m, "tool_calls")
}

// Refuse answers with a refusal.
func Refuse(text string) Reply {
	return Answer(map[string]any{"role": "assistant", "content": nil, "refusal": text}, "stop")
}

// Answer answers with an assistant message and a reason why it ended.
func Answer(message map[string]any, finish string) Reply { return Raw(encode(message), finish) }

// Raw answers with an assistant message given as JSON, byte for byte, and a reason why it ended.
func Raw(message, finish string) Reply {
	reason := encode(finish)
	if finish == "" {
		reason = "null"
	}
	return Reply{
		status:  http.StatusOK,
		message: json.RawMessage(message),
		body: fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"fake",`+
			`"choices":[{"index":0,"message":%s,"finish_reason":%s}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`, message, reason),
	}
}

// Body answers 200 with any body, as JSON by its content type.
func Body(body string) Reply { return Reply{status: http.StatusOK, body: body} }

// Status answers with a status, headers and a body.
func Status(status int, header map[string]string, body string) Reply {
	return Reply{status: status, header: header, body: body}
}

// RateLimited answers 429 with a Retry-After header, unless after is "".
func RateLimited(after string) Reply {
	r := Status(http.StatusTooManyRequests, nil, Failure("Rate limit reached for requests", "requests", "", "rate_limit_exceeded"))
	if after != "" {
		r.header = map[string]string{"Retry-After": after}
	}
	return r
}

// HTML answers with a page, as proxies do.
func HTML(status int) Reply {
	return Status(status, map[string]string{"Content-Type": "text/html"}, "<!DOCTYPE html>\n<html><body><h1>Bad gateway</h1></body></html>")
}

// Cut sends half of another reply and breaks the connection.
func Cut(r Reply) Reply {
	r.cut = true
	return r
}

// Hold sends another reply once the channel is closed, and nothing if the client goes away before.
func Hold(until <-chan struct{}, r Reply) Reply {
	r.hold = until
	return r
}

// Failure is the body of a failure in the style of the service. Empty param and code are null.
func Failure(message, kind, param, code string) string {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": null(param), "code": null(code)}})
}

func wire(calls []Call) []any {
	var out []any
	for _, c := range calls {
		out = append(out, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	return out
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values of this package always encode
	}
	return string(b)
}

// write sends the reply.
func (r Reply) write(w http.ResponseWriter, req *http.Request, s *Server) {
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-req.Context().Done():
			return
		case <-s.closed:
			return
		}
	}
	if r.message != nil {
		s.remember(r.message)
	}
	w.Header().Set("Content-Type", "application/json")
	for k, v := range r.header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	w.WriteHeader(r.status)
	body := r.body
	if r.cut {
		body = body[:len(body)/2]
	}
	if _, err := w.Write([]byte(body)); err != nil {
		return // the client went away
	}
	if r.cut {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}
