package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Approval is what a configuration says about the calls of one source. An entry of Tools beats Methods,
// and Methods beat Default.
type Approval struct {
	// Default is never, always or destructive; "" is destructive for MCP and OpenAPI and never for Go tools.
	Default string `json:"default,omitempty"`
	// Tools are never, always or destructive by the tool's name without its source.
	Tools map[string]string `json:"tools,omitempty"`
	// Methods are the HTTP methods whose operations need approval.
	Methods []string `json:"methods,omitempty"`
	// Responders is "approvers" to leave the asker out, "asker+approvers" or "".
	Responders string `json:"responders,omitempty"`
}

// The words of an Approval.
const (
	Never       = "never"
	Always      = "always"
	Destructive = "destructive"

	RespondersAll       = "asker+approvers"
	RespondersApprovers = "approvers"
)

// SourceKind is the kind of source a tool comes from.
type SourceKind string

// The kinds of source.
const (
	SourceMCP     SourceKind = "mcp"
	SourceOpenAPI SourceKind = "openapi"
	SourceGo      SourceKind = "go"
)

// Traits are what a policy knows about a tool.
type Traits struct {
	Kind SourceKind
	Tool string // without its source
	// Method is the HTTP method of an OpenAPI operation.
	Method string
	// ReadOnly and Destructive are a tool's own annotations; nil where it has none.
	ReadOnly, Destructive *bool
}

// ApproversOnly reports whether the asker is left out of those who may answer.
func (a Approval) ApproversOnly() bool { return a.Responders == RespondersApprovers }

// Check refuses words that mean nothing. The error lists them all, one a line, each with its path.
func (a Approval) Check() error {
	var errs []error
	word := func(path, w string) {
		if w != Never && w != Always && w != Destructive {
			errs = append(errs, fmt.Errorf("%s: %q is not never, always or destructive", path, w))
		}
	}
	if a.Default != "" {
		word("default", a.Default)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Tools)) {
		word("tools."+name, a.Tools[name])
	}
	for i, m := range a.Methods {
		if !slices.Contains(methods, strings.ToUpper(m)) {
			errs = append(errs, fmt.Errorf("methods[%d]: %q is no HTTP method, want one of %s", i, m, strings.Join(methods, ", ")))
		}
	}
	if r := a.Responders; r != "" && r != RespondersAll && r != RespondersApprovers {
		errs = append(errs, fmt.Errorf("responders: %q is not %s or %s", r, RespondersApprovers, RespondersAll))
	}
	return errors.Join(errs...)
}

var methods = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE"}

// Judge says whether calls of a tool need approval. A word that Check refuses means that they do.
func Judge(a Approval, t Traits) Verdict {
	if w, ok := a.Tools[t.Tool]; ok {
		return judge("tools."+t.Tool, w, t)
	}
	if t.Method != "" && slices.ContainsFunc(a.Methods, func(m string) bool { return strings.EqualFold(m, t.Method) }) {
		return Verdict{Need: true, Rule: "methods: " + strings.ToUpper(t.Method)}
	}
	w := a.Default
	if w == "" {
		w = Destructive
		if t.Kind == SourceGo {
			w = Never
		}
	}
	return judge("default", w, t)
}

func judge(path, word string, t Traits) Verdict {
	if word == Never || word == Destructive && !t.destructive() {
		return Verdict{}
	}
	return Verdict{Need: true, Rule: path + ": " + word}
}

// destructive reports whether a call may destroy something: so it is unless the source says otherwise.
func (t Traits) destructive() bool {
	if t.Kind == SourceOpenAPI {
		return !slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, strings.ToUpper(t.Method))
	}
	readOnly := t.ReadOnly != nil && *t.ReadOnly
	harmless := t.Destructive != nil && !*t.Destructive
	return !readOnly && !harmless
}

// PolicyFor is the policy of a tool under a configuration.
func PolicyFor(a Approval, t Traits) Policy {
	v := Judge(a, t)
	return func(json.RawMessage) (Verdict, error) { return v, nil }
}

// Unmatched lists the rules that match none of a source's tools, by their path, sorted. They are a
// warning: they apply as soon as such a tool exists.
func Unmatched(a Approval, have []Traits) []string {
	var out []string
	for name := range a.Tools {
		if !slices.ContainsFunc(have, func(t Traits) bool { return t.Tool == name }) {
			out = append(out, "tools."+name)
		}
	}
	for _, m := range a.Methods {
		if !slices.ContainsFunc(have, func(t Traits) bool { return strings.EqualFold(t.Method, m) }) {
			out = append(out, "methods: "+strings.ToUpper(m))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// policyTimeout is how long a policy function may take to judge one call.
const policyTimeout = 5 * time.Second

// Decide asks a policy about one call, and never fails: a policy that returns an error, panics, ends its
// goroutine or takes longer than five seconds means that approval is needed, and the rule says so.
func Decide(p Policy, arguments json.RawMessage) Verdict {
	if p == nil {
		return Verdict{}
	}
	judged := make(chan Verdict, 1) // the goroutine never blocks on it, however late it is
	go func() {
		v := Verdict{Need: true, Rule: "the approval policy failed"}
		defer func() {
			if recover() != nil {
				v = Verdict{Need: true, Rule: "the approval policy panicked"}
			}
			judged <- v
		}()
		got, err := p(slices.Clone(arguments))
		if err == nil {
			v = got
		}
	}()
	late := time.NewTimer(policyTimeout)
	defer late.Stop()
	select {
	case v := <-judged:
		return v
	case <-late.C:
		return Verdict{Need: true, Rule: "the approval policy took too long"}
	}
}
