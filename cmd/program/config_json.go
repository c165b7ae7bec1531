package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Path names a value of the configuration: agents.ops.humanInput.approvers[1].
type Path string

func (p Path) key(k string) Path {
	if !plainKey.MatchString(k) {
		return p + Path("["+strconv.Quote(k)+"]")
	}
	if p == "" {
		return Path(k)
	}
	return p + "." + Path(k)
}

func (p Path) index(i int) Path { return p + Path("["+strconv.Itoa(i)+"]") }

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

// Problem is one thing wrong with the configuration.
type Problem struct {
	Path Path
	Text string
}

// ConfigError lists all problems of a configuration at once, in the order of their paths.
type ConfigError struct {
	File     string
	Problems []Problem
}

func (e *ConfigError) Error() string {
	var b strings.Builder
	if len(e.Problems) == 1 {
		fmt.Fprintf(&b, "the configuration %s has a problem:", e.File)
	} else {
		fmt.Fprintf(&b, "the configuration %s has %d problems:", e.File, len(e.Problems))
	}
	for _, p := range e.Problems {
		b.WriteString("\n  ")
		if p.Path != "" {
			b.WriteString(string(p.Path) + ": ")
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// problems collects what is wrong. Several checks may meet the same value: the first word on a path stands.
type problems struct{ list []Problem }

func (ps *problems) add(at Path, format string, args ...any) {
	ps.list = append(ps.list, Problem{Path: at, Text: fmt.Sprintf(format, args...)})
}

// has reports whether something is wrong at the path or directly below it.
func (ps *problems) has(at Path) bool {
	return slices.ContainsFunc(ps.list, func(p Problem) bool {
		rest, ok := strings.CutPrefix(string(p.Path), string(at))
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

func (ps *problems) sorted() []Problem {
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		if c := strings.Compare(string(a.Path), string(b.Path)); c != 0 {
			return c
		}
		return strings.Compare(a.Text, b.Text)
	})
	return slices.Compact(ps.list)
}

// parseJSON reads one JSON value. It reports what encoding/json lets pass: keys that stand twice, bytes
// after the value, text that is not UTF-8, numbers beyond any use. Whole numbers become int64, others
// float64. ok is false where the text is no JSON at all.
func parseJSON(data []byte, ps *problems) (value any, ok bool) {
	if i := invalidUTF8(data); i >= 0 {
		ps.add("", "%s: not UTF-8 text", position(data, i))
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		ps.add("", "%s", syntaxProblem(data, err))
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	w := jsonWalk{d: d, ps: ps}
	return w.value(""), true
}

func syntaxProblem(data []byte, err error) string {
	if s, is := err.(*json.SyntaxError); is {
		return fmt.Sprintf("%s: not JSON: %v", position(data, int(s.Offset)-1), s)
	}
	return "not JSON: " + err.Error()
}

func position(data []byte, offset int) string {
	offset = max(0, min(offset, len(data)))
	line := bytes.Count(data[:offset], []byte("\n")) + 1
	column := offset - bytes.LastIndexByte(data[:offset], '\n')
	return fmt.Sprintf("line %d, column %d", line, column)
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// jsonWalk builds a value token by token, since only the tokens still show a key that stands twice. The
// text is known to be JSON.
type jsonWalk struct {
	d  *json.Decoder
	ps *problems
}

func (w jsonWalk) token() json.Token {
	t, err := w.d.Token()
	if err != nil && err != io.EOF {
		w.ps.add("", "not JSON: %v", err)
	}
	return t
}

func (w jsonWalk) value(at Path) any {
	switch t := w.token().(type) {
	case json.Delim:
		if t == '{' {
			return w.object(at)
		}
		list := []any{}
		for w.d.More() {
			list = append(list, w.value(at.index(len(list))))
		}
		w.token()
		return list
	case json.Number:
		return w.number(at, t)
	default:
		return t
	}
}

func (w jsonWalk) object(at Path) map[string]any {
	out := map[string]any{}
	for w.d.More() {
		k, _ := w.token().(string)
		if _, twice := out[k]; twice {
			w.ps.add(at.key(k), "this key stands here twice: keep one")
		}
		out[k] = w.value(at.key(k))
	}
	w.token()
	return out
}

// number turns 86400.0 and 8.64e4 into the integer they are.
func (w jsonWalk) number(at Path, n json.Number) any {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		w.ps.add(at, "this number is out of range")
		return int64(0)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}
