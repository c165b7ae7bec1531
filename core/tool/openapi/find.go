package openapi

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"parley/core"
	"parley/core/tool"
)

// The tools that stand for many operations.
const (
	nameFind = "find_operations"
	nameCall = "call_operation"
)

// index finds operations by words.
type index struct {
	entries []entry
	tags    []string
}

type entry struct {
	op                    *operation
	name, summary, detail map[string]bool
}

func newIndex(ops []*operation) func() *index {
	return sync.OnceValue(func() *index {
		x := &index{}
		tags := map[string]bool{}
		for _, o := range ops {
			e := entry{op: o, name: map[string]bool{}, summary: map[string]bool{}, detail: map[string]bool{}}
			words(e.name, o.name, o.id, o.path, o.method, strings.Join(o.tags, " "))
			words(e.summary, o.summary)
			words(e.detail, cut(o.description, maxText))
			for _, t := range o.tags {
				tags[t] = true
			}
			x.entries = append(x.entries, e)
		}
		x.tags = slices.Sorted(maps.Keys(tags))
		return x
	})
}

// idle are words that say nothing about an operation.
var idle = map[string]bool{"a": true, "an": true, "the": true, "of": true, "to": true, "for": true, "in": true, "and": true, "or": true, "with": true, "by": true, "on": true, "all": true}

// words splits texts into lower-case words, also where an upper-case letter follows a lower-case one.
func words(into map[string]bool, texts ...string) {
	for _, text := range texts {
		var b strings.Builder
		lower := false
		for _, r := range text {
			if lower && unicode.IsUpper(r) {
				b.WriteByte(' ')
			}
			lower = unicode.IsLower(r)
			b.WriteRune(unicode.ToLower(r))
		}
		for w := range strings.FieldsFuncSeq(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if !idle[w] {
				into[stem(w)] = true
			}
		}
	}
}

// stem takes a plural for its singular.
func stem(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

// find returns the operations that match a query, best first.
func (x *index) find(query string) []*operation {
	asked := map[string]bool{}
	words(asked, query)
	query = strings.TrimSpace(query)
	scores := map[*operation]int{}
	var out []*operation
	for _, e := range x.entries {
		if n := e.score(asked, query); n > 0 {
			scores[e.op] = n
			out = append(out, e.op)
		}
	}
	slices.SortStableFunc(out, func(a, b *operation) int { return scores[b] - scores[a] })
	return out
}

func (e entry) score(asked map[string]bool, query string) int {
	if query == e.op.name || query != "" && query == e.op.id || strings.EqualFold(query, e.op.call()) {
		return math.MaxInt
	}
	total, matched, common := 0, 0, 0
	for w := range asked {
		n := max(6*has(e.summary, w), 4*has(e.name, w), has(e.detail, w))
		if total += n; n > 0 {
			matched++
		}
		if e.summary[w] {
			common++
		}
	}
	// Of operations with the same words, the one that is about nothing else comes first.
	alike := 1 + 4*float64(common)/float64(max(1, len(e.summary)+len(asked)-common))
	return int(100 * alike * float64(total*matched*matched))
}

// has is 2 for a word, 1 for the beginning of one.
func has(in map[string]bool, w string) int {
	if in[w] {
		return 2
	}
	if len(w) > 2 {
		for k := range in {
			if strings.HasPrefix(k, w) {
				return 1
			}
		}
	}
	return 0
}

// The bounds of one search's result.
const (
	maxFound      = 10
	maxFoundBytes = 20_000
)

type foundOperation struct {
	Operation string          `json:"operation"`
	Call      string          `json:"call"`
	Summary   string          `json:"summary,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

type findTool struct{ source *Source }

var findSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"Words to search for, or the exact name of an operation."}},"required":["query"],"additionalProperties":false}`)

// Spec is the search as a tool.
func (t *findTool) Spec() tool.Spec {
	s := t.source
	spec := tool.Spec{
		Source: s.name, Name: nameFind, Schema: findSchema, Type: core.ToolRead, Idempotent: true,
		Description: "Search the operations of the API " + s.name + " by words. The result lists their names, what they do and the JSON Schema of their arguments; call one with " + s.name + "__" + nameCall + ".",
	}
	if _, ok := s.approval.Tools[nameFind]; ok {
		spec.Policy = tool.PolicyFor(s.approval, tool.Traits{Kind: tool.SourceOpenAPI, Tool: nameFind, Method: "GET"})
	}
	return spec
}

// Call searches. It sends nothing.
func (t *findTool) Call(_ *tool.Context, arguments json.RawMessage) (string, error) {
	var in struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return "", err
	}
	x := t.source.index()
	found := x.find(in.Query)
	out := struct {
		Operations []foundOperation `json:"operations"`
		More       int              `json:"more,omitempty"`
		Tags       []string         `json:"tags,omitempty"`
		Note       string           `json:"note,omitempty"`
	}{Operations: []foundOperation{}}
	if len(found) == 0 {
		out.Note = "Nothing matches. Search with other words; tags are what the API sorts its operations by."
		out.Tags = x.tags[:min(len(x.tags), 100)]
		return compact(out), nil
	}
	if len(found) > maxFound {
		out.More = len(found) - maxFound
		found = found[:maxFound]
	}
	room := maxFoundBytes
	for i, o := range found {
		f := foundOperation{Operation: o.name, Call: o.call(), Summary: o.summary}
		if f.Summary == "" {
			f.Summary = cut(o.description, 200)
		}
		if s := o.schema(); i == 0 || len(s) <= room {
			f.Arguments = s
			room -= len(s)
		} else {
			out.Note = "Where arguments are left out, search for the exact name of the operation to see them."
		}
		out.Operations = append(out.Operations, f)
	}
	return compact(out), nil
}

type callTool struct{ source *Source }

var callSchema = json.RawMessage(`{"type":"object","properties":{"operation":{"type":"string","minLength":1,"description":"The exact name of the operation, as found."},"arguments":{"type":"object","description":"The arguments by the operation's schema."}},"required":["operation","arguments"],"additionalProperties":false}`)

// Spec is the call of any operation as a tool. Its target names the document: where that changes while a
// call waits for approval, the call is asked for again.
func (t *callTool) Spec() tool.Spec {
	s := t.source
	return tool.Spec{
		Source: s.name, Name: nameCall, Schema: callSchema, Type: core.ToolAction,
		Description: "Call one operation of the API " + s.name + " by its exact name. Search for it with " + s.name + "__" + nameFind + " first.",
		Target:      s.base.String() + " (document " + s.digest + ")",
		Policy:      t.judge, ApproversOnly: s.approval.ApproversOnly(),
	}
}

// named is the operation that a call names, and its arguments.
func (t *callTool) named(arguments json.RawMessage) (o *operation, args json.RawMessage, problem string) {
	var in struct {
		Operation string          `json:"operation"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, nil, err.Error()
	}
	o = t.source.byName[in.Operation]
	if o == nil {
		return nil, nil, "there is no operation " + compact(cut(in.Operation, 100)) + ": search for it with " + t.source.name + "__" + nameFind
	}
	return o, in.Arguments, ""
}

// judge is the policy: it judges the operation that the arguments name. A call that names none goes
// nowhere, so nobody is asked about it.
func (t *callTool) judge(arguments json.RawMessage) (tool.Verdict, error) {
	o, args, problem := t.named(arguments)
	if problem != "" || !t.source.valid(o, args) {
		return tool.Verdict{}, nil
	}
	return t.source.judge(o), nil
}

// Call sends the request of the operation that the arguments name.
func (t *callTool) Call(ctx *tool.Context, arguments json.RawMessage) (string, error) {
	o, args, problem := t.named(arguments)
	if problem != "" {
		return "", errors.New("nothing was called: " + problem)
	}
	out, err := t.source.call(ctx, o, t.source.judge(o), args)
	return out, plainly(o, err)
}
