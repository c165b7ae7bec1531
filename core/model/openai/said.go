package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// said is what a server says about a failure, in whichever shape it does. The message never leaves this
// package but for the debug log: it may quote the key or the conversation.
type said struct {
	code, kind, param, message string
}

// parseSaid reads the body of a failure: {"error": {…}}, {"error": "…"}, {"message": "…"}, {"detail": "…"},
// a list of such, or no JSON at all.
func parseSaid(body []byte) said {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if s, ok := errorIn(body); ok {
		return s
	}
	var flat struct{ Code, Type, Message, Detail json.RawMessage }
	if json.Unmarshal(body, &flat) != nil {
		return said{}
	}
	s := said{code: textOf(flat.Code), kind: textOf(flat.Type), message: textOf(flat.Message)}
	if s.message == "" {
		s.message = textOf(flat.Detail)
	}
	return s
}

// errorIn finds the error of an answer that may have come with status 200; ok is false if there is none.
func errorIn(body []byte) (s said, ok bool) {
	var answer struct {
		Error   json.RawMessage   `json:"error"`
		Choices []json.RawMessage `json:"choices"`
	}
	if !isObject(body) || json.Unmarshal(body, &answer) != nil || isNull(answer.Error) || len(answer.Choices) > 0 {
		return said{}, false
	}
	if !isObject(answer.Error) {
		s.message = textOf(answer.Error)
		return s, s.message != "" // an empty string or false is no error
	}
	var e struct{ Code, Type, Status, Param, Message json.RawMessage }
	if json.Unmarshal(answer.Error, &e) != nil {
		return said{}, true
	}
	s = said{code: textOf(e.Code), kind: textOf(e.Type), param: textOf(e.Param), message: textOf(e.Message)}
	if s.kind == "" {
		s.kind = textOf(e.Status)
	}
	return s, true
}

// codeWord is what may be quoted of a failure: a word that a program wrote.
var codeWord = regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,60}$`)

// words returns the failure's code words for the log.
func (s said) words() string {
	var out []string
	for _, w := range []string{s.kind, s.code, s.param} {
		if codeWord.MatchString(w) {
			out = append(out, w)
		}
	}
	return strings.Join(out, ", ")
}

// status is the HTTP status that an error in an answer of 200 stands for.
func (s said) status() int {
	if n, err := strconv.Atoi(s.code); err == nil && 400 <= n && n < 600 {
		return n
	}
	words := strings.ToLower(s.code + " " + s.kind)
	for _, w := range []struct {
		word   string
		status int
	}{
		{"rate_limit", http.StatusTooManyRequests}, {"resource_exhausted", http.StatusTooManyRequests}, {"too_many", http.StatusTooManyRequests},
		{"api_key", http.StatusUnauthorized}, {"authentication", http.StatusUnauthorized}, {"unauthenticated", http.StatusUnauthorized},
		{"permission", http.StatusForbidden}, {"not_found", http.StatusNotFound}, {"context_length", http.StatusBadRequest},
		{"invalid", http.StatusBadRequest}, {"bad_request", http.StatusBadRequest},
	} {
		if strings.Contains(words, w.word) {
			return w.status
		}
	}
	return http.StatusInternalServerError
}

// has reports whether any part of the failure contains one of the phrases.
func (s said) has(phrases ...string) bool {
	all := strings.ToLower(s.code + " " + s.kind + " " + s.message)
	for _, p := range phrases {
		if strings.Contains(all, p) {
			return true
		}
	}
	return false
}

func (s said) outOfCredit() bool {
	return s.code == "insufficient_quota" || s.kind == "insufficient_quota" || s.code == "billing_hard_limit_reached" || s.code == "credit_balance_too_low"
}

func (s said) badKey() bool { return s.has("api key not valid", "invalid_api_key", "api_key_invalid") }

func (s said) tooLong() bool {
	return s.has("context_length_exceeded", "maximum context length", "context window", "exceeds the available context", "prompt is too long")
}

// otherTokenLimit reports whether the server refused the name under which the token limit was sent.
func (s said) otherTokenLimit(status int) bool {
	named := s.param == "max_tokens" || s.param == "max_completion_tokens" || s.has("max_completion_tokens")
	return named && (status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) &&
		s.has("unsupported", "not supported", "unknown", "unrecognized", "extra inputs", "extra fields", "unexpected")
}

func looksHTML(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\ufeff"), []byte("<"))
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
