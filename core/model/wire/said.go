package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Said is what a server says about a failure, in whichever shape it does. The message never leaves this
// package but for the debug log: it may quote the key or the conversation.
type Said struct {
	code, kind, param, message string
	wait                       time.Duration // asked for in the body
}

// ParseSaid reads the body of a failure: {"error": {…}}, {"error": "…"}, {"message": "…"}, {"detail": "…"},
// a list of such, or no JSON at all.
func ParseSaid(body []byte) Said {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if s, ok := ErrorIn(body); ok {
		return s
	}
	var flat struct{ Code, Type, Message, Detail json.RawMessage }
	if json.Unmarshal(body, &flat) != nil {
		return Said{}
	}
	s := Said{code: Text(flat.Code), kind: Text(flat.Type), message: Text(flat.Message)}
	if s.message == "" {
		s.message = Text(flat.Detail)
	}
	return s
}

// ErrorIn finds the error of an answer that may have come with status 200; ok is false if there is none.
func ErrorIn(body []byte) (s Said, ok bool) {
	var answer struct {
		Error   json.RawMessage   `json:"error"`
		Choices []json.RawMessage `json:"choices"`
	}
	if !IsObject(body) || json.Unmarshal(body, &answer) != nil || IsNull(answer.Error) || len(answer.Choices) > 0 {
		return Said{}, false
	}
	if !IsObject(answer.Error) {
		s.message = Text(answer.Error)
		return s, s.message != "" // an empty string or false is no error
	}
	var e struct{ Code, Type, Status, Param, Message, Details json.RawMessage }
	if json.Unmarshal(answer.Error, &e) != nil {
		return Said{}, true
	}
	s = Said{code: Text(e.Code), kind: Text(e.Type), param: Text(e.Param), message: Text(e.Message)}
	if s.kind == "" {
		s.kind = Text(e.Status)
	}
	s.readDetails(e.Details)
	return s, true
}

// readDetails takes from the details of an error what two services put nowhere else: a code, or how long to wait.
func (s *Said) readDetails(raw json.RawMessage) {
	var one struct {
		Code json.RawMessage `json:"error_code"`
	}
	if IsObject(raw) && json.Unmarshal(raw, &one) == nil && s.code == "" {
		s.code = Text(one.Code)
	}
	var list []struct {
		Wait json.RawMessage `json:"retryDelay"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, d := range list {
		if wait, err := time.ParseDuration(Text(d.Wait)); err == nil && wait > 0 {
			s.wait = min(wait, maxAfter)
		}
	}
}

// codeWord is what may be quoted of a failure: a word that a program wrote.
var codeWord = regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,60}$`)

// words returns the failure's code words for the log. A word that shares a good part with a secret is left
// out: servers quote keys, with pieces cut off or put on.
func (s Said) words(secrets []string) string {
	var out []string
	for _, w := range []string{s.kind, s.code, s.param} {
		if codeWord.MatchString(w) && !slices.ContainsFunc(secrets, func(secret string) bool { return shares(w, secret) }) {
			out = append(out, w)
		}
	}
	return strings.Join(out, ", ")
}

// shares reports whether a word holds a piece of a secret: eight characters of it, or all of a shorter one.
func shares(word, secret string) bool {
	n := min(8, len(secret))
	for i := 0; n > 0 && i+n <= len(secret); i++ {
		if strings.Contains(word, secret[i:i+n]) {
			return true
		}
	}
	return false
}

// Status is the HTTP status that an error in an answer of 200 stands for.
func (s Said) Status() int {
	if n, err := strconv.Atoi(s.code); err == nil && 400 <= n && n < 600 {
		return n
	}
	words := strings.ToLower(s.code + " " + s.kind)
	for _, w := range []struct {
		word   string
		status int
	}{
		{"spend_limit", http.StatusPaymentRequired}, {"billing", http.StatusPaymentRequired}, {"timeout_error", http.StatusRequestTimeout},
		{"too_large", http.StatusRequestEntityTooLarge}, {"rate_limit", http.StatusTooManyRequests}, {"resource_exhausted", http.StatusTooManyRequests}, {"too_many", http.StatusTooManyRequests},
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
func (s Said) has(phrases ...string) bool {
	all := strings.ToLower(s.code + " " + s.kind + " " + s.message)
	for _, p := range phrases {
		if strings.Contains(all, p) {
			return true
		}
	}
	return false
}

func (s Said) outOfCredit() bool {
	words := s.code + " " + s.kind
	for _, w := range []string{"insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low", "spend_limit", "billing_error"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return s.has("credit balance is too low")
}

func (s Said) badKey() bool { return s.has("api key not valid", "invalid_api_key", "api_key_invalid") }

func (s Said) tooLong() bool {
	return s.has("context_length_exceeded", "maximum context length", "context window", "exceeds the available context", "prompt is too long",
		"exceed context limit", "input token count")
}

// Refuses reports whether the server refused one of the named parameters, with the status of a wrong request.
func (s Said) Refuses(status int, names ...string) bool {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return false
	}
	named := false
	for _, n := range names {
		named = named || s.param == n || strings.Contains(strings.ToLower(s.code+" "+s.kind+" "+s.message), n)
	}
	return named && s.has("unsupported", "not supported", "unknown", "unrecognized", "extra inputs", "extra fields", "unexpected")
}

// LooksHTML reports whether a body is a page.
func LooksHTML(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\ufeff"), []byte("<"))
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
