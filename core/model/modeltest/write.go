package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"parley/core/model"
)

// write sends the reply to a request.
func (r Reply) write(w http.ResponseWriter, hr *http.Request, s *Server, req Request) {
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-hr.Context().Done():
			return
		case <-s.closed:
			return
		}
	}
	r = r.inDialect(s)
	w.Header().Set("Content-Type", "application/json")
	if r.message == nil {
		r.writeBody(w)
		return
	}
	s.remember(r.message, req.Stream, r.finish == "pause_turn")
	if req.Stream {
		r.writeStream(w, s.Dialect, req)
		return
	}
	r.body = wholeBody(s.Dialect, r.message, r.finish)
	r.writeBody(w)
}

// inDialect puts a reply that every dialect knows into that of the server.
func (r Reply) inDialect(s *Server) Reply {
	switch {
	case r.failure != nil:
		r.body = r.failure.body(s.Dialect, r.status)
	case r.spoken == nil:
	case s.Dialect == Messages:
		r.message, r.finish = r.spoken.blocks()
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		r.message, r.finish = r.spoken.chat(s)
	}
	return r
}

// chat is the reply as an assistant message of Chat Completions. Google's models sign the first call, and
// end with "stop" where they call.
func (r spoken) chat(s *Server) (json.RawMessage, string) {
	m := map[string]any{"role": "assistant", "content": r.text, "refusal": nil}
	finish := "stop"
	switch {
	case len(r.calls) > 0:
		var calls []any
		for i, c := range r.calls {
			call := map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}}
			if s.Dialect == Gemini && i == 0 {
				call["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": s.thoughts.sign()}}
			}
			calls = append(calls, call)
		}
		m["tool_calls"] = calls
		if r.text == "" {
			m["content"] = nil
		}
		if s.Dialect != Gemini {
			finish = "tool_calls"
		}
	case r.stop == model.StopRefuse:
		m["content"], m["refusal"] = nil, r.text
	}
	if r.stop == model.StopLength {
		finish = "length"
	}
	return json.RawMessage(encode(m)), finish
}

// blocks is the reply as an assistant message of Messages.
func (r spoken) blocks() (json.RawMessage, string) {
	content := []any{}
	if r.text != "" {
		content = append(content, map[string]any{"type": "text", "text": r.text, "citations": nil})
	}
	for _, c := range r.calls {
		content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
	}
	finish := map[model.Stop]string{model.StopEnd: "end_turn", model.StopTools: "tool_use", model.StopLength: "max_tokens", model.StopRefuse: "refusal"}[r.stop]
	return json.RawMessage(encode(map[string]any{"role": "assistant", "content": content})), finish
}

// wholeBody is the body of an answer that is no stream.
func wholeBody(d Dialect, message json.RawMessage, finish string) string {
	if d == Messages {
		var m struct {
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(message, &m); err != nil {
			panic(err) // a test gave blocks that are no JSON
		}
		return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"fake","content":%s,"stop_reason":%s,"stop_sequence":null,`+
			`"usage":{"input_tokens":4,"cache_creation_input_tokens":5,"cache_read_input_tokens":2,"output_tokens":7}}`, m.Content, orNull(finish))
	}
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"fake",`+
		`"choices":[{"index":0,"message":%s,"finish_reason":%s}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`, message, orNull(finish))
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return encode(s)
}

// writeBody sends an answer that is no stream.
func (r Reply) writeBody(w http.ResponseWriter) {
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
		flush(w)
		panic(http.ErrAbortHandler)
	}
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// writeStream sends an answer in pieces.
func (r Reply) writeStream(w http.ResponseWriter, d Dialect, req Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for k, v := range r.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(r.status)
	events := chatEvents(r.message, r.finish, req.usage)
	if d == Messages {
		events = messagesEvents(r.message, r.finish)
	}
	half := len(events) / 2
	for i, e := range events {
		if i == half && (r.cut || r.early || r.midway != "") {
			break
		}
		if _, err := w.Write([]byte(e)); err != nil {
			return // the client went away
		}
		flush(w)
	}
	switch {
	case r.cut:
		panic(http.ErrAbortHandler)
	case r.midway != "":
		f := failure{kind: r.midway, message: "in the middle, " + Key}
		e := "data: " + Failure(f.message, f.kind, "", "") + "\n\n"
		if d == Messages {
			e = "event: error\ndata: " + f.body(d, 0) + "\n\n"
		}
		if _, err := w.Write([]byte(e)); err != nil {
			return
		}
	}
}
