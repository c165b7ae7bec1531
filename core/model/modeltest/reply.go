package modeltest

import (
	"encoding/json"
	"net/http"

	"parley/core/model"
)

// Reply is what the server answers. The functions of this file make one.
type Reply struct {
	status int
	header map[string]string
	body   string

	spoken  *spoken         // put into the server's dialect when it is sent
	failure *failure        // likewise
	message json.RawMessage // an assistant message, byte for byte
	finish  string          // why it ended, in the dialect's words

	cut, early bool   // the answer breaks off, the stream ends without its end marker
	midway     string // the type of an error in the middle of the stream
	hold       <-chan struct{}
}

// spoken is a reply that every dialect knows.
type spoken struct {
	text  string
	calls []Call
	stop  model.Stop
}

// failure is a refusal that every dialect knows.
type failure struct {
	kind, message, code string
}

// Say answers with text.
func Say(text string) Reply { return Stop(text, model.StopEnd) }

// Stop answers with text that ended for a reason.
func Stop(text string, stop model.Stop, calls ...Call) Reply {
	return Reply{status: http.StatusOK, spoken: &spoken{text: text, calls: calls, stop: stop}}
}

// CallTools answers with tool calls and, if it is not "", text. Their arguments must be JSON objects, but
// in Chat Completions.
func CallTools(text string, calls ...Call) Reply { return Stop(text, model.StopTools, calls...) }

// Refuse answers with a refusal.
func Refuse(text string) Reply { return Stop(text, model.StopRefuse) }

// Answer answers with an assistant message of Chat Completions and a reason why it ended.
func Answer(message map[string]any, finish string) Reply { return Raw(encode(message), finish) }

// Raw answers with an assistant message of Chat Completions given as JSON, byte for byte, and a reason why
// it ended.
func Raw(message, finish string) Reply {
	return Reply{status: http.StatusOK, message: json.RawMessage(message), finish: finish}
}

// Blocks answers with content blocks of Messages given as JSON, and the reason why the reply ended.
func Blocks(stop string, blocks ...string) Reply {
	content := make([]json.RawMessage, 0, len(blocks))
	for _, b := range blocks {
		content = append(content, json.RawMessage(b))
	}
	return Raw(encode(map[string]any{"role": "assistant", "content": content}), stop)
}

// Body answers 200 with any body, as JSON by its content type, also where a stream was asked for.
func Body(body string) Reply { return Reply{status: http.StatusOK, body: body} }

// Status answers with a status, headers and a body.
func Status(status int, header map[string]string, body string) Reply {
	return Reply{status: status, header: header, body: body}
}

// Fails answers with a status of failure, in the server's dialect.
func Fails(status int, kind, message string) Reply {
	return Reply{status: status, failure: &failure{kind: kind, message: message}}
}

func (r Reply) withCode(code string) Reply {
	r.failure.code = code
	return r
}

// With adds a header.
func (r Reply) With(header, value string) Reply {
	h := map[string]string{header: value}
	for k, v := range r.header {
		h[k] = v
	}
	r.header = h
	return r
}

// RateLimited answers 429 with a Retry-After header, unless after is "".
func RateLimited(after string) Reply {
	r := Fails(http.StatusTooManyRequests, "rate_limit_error", "Rate limit reached for requests").withCode("rate_limit_exceeded")
	if after != "" {
		r = r.With("Retry-After", after)
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

// Early ends the stream of another reply properly, but before its end marker. It does nothing to an answer
// that is no stream.
func Early(r Reply) Reply {
	r.early = true
	return r
}

// Midway puts an error of the given type in the middle of the stream of another reply, which ends with it.
// It does nothing to an answer that is no stream.
func Midway(kind string, r Reply) Reply {
	r.midway = kind
	return r
}

// Hold sends another reply once the channel is closed, and nothing if the client goes away before.
func Hold(until <-chan struct{}, r Reply) Reply {
	r.hold = until
	return r
}

// Failure is the body of a failure in the style of Chat Completions. Empty param and code are null.
func Failure(message, kind, param, code string) string {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": null(param), "code": null(code)}})
}

// body is a failure in the dialect's words.
func (f failure) body(d Dialect, status int) string {
	switch d {
	case Messages:
		return encode(map[string]any{"type": "error", "request_id": "req_1", "error": map[string]any{"type": f.kind, "message": f.message}})
	case Gemini:
		return encode([]any{map[string]any{"error": map[string]any{"code": status, "message": f.message, "status": f.kind}}})
	}
	return Failure(f.message, f.kind, "", f.code)
}

// kindOf is the type of a failure that goes with a status.
func kindOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusNotFound:
		return "not_found_error"
	}
	return "invalid_request_error"
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values of this package always encode
	}
	return string(b)
}
