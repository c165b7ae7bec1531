package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
)

// The names of the asking tools, which no other tool may have.
const (
	NameAsk     = "ask"
	NameAskUser = "ask_user"
)

// fullName is what models take as the name of a tool.
var fullName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Registry holds tools by their full name. It is safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	tools map[string]Tool
}

// NewRegistry returns a registry of tools. The error is Add's.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: map[string]Tool{}}
	for _, t := range tools {
		if err := r.Add(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Add registers a tool. It refuses names that are taken, reserved or that a model would not take, and
// schemas that are no JSON object.
func (r *Registry) Add(t Tool) error {
	spec := t.Spec()
	name := spec.FullName()
	var schema map[string]json.RawMessage
	switch {
	case spec.Name == "":
		return fmt.Errorf("register a tool of source %q: it has no name", spec.Source)
	case !fullName.MatchString(name):
		return fmt.Errorf("register tool %q: want 1 to 64 letters, digits, _ or - for source and name together", name)
	case name == NameAsk, name == NameAskUser:
		return fmt.Errorf("register tool %q: the name is reserved, choose another", name)
	case json.Unmarshal(spec.Schema, &schema) != nil || schema == nil:
		return fmt.Errorf("register tool %q: its schema is no JSON object", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.tools[name]; taken {
		return fmt.Errorf("register tool %q: there is one of that name already", name)
	}
	r.tools[name] = t
	return nil
}

// List returns the specs of all tools, sorted by full name.
func (r *Registry) List() []Spec {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]Spec, 0, len(r.tools))
	for _, name := range slices.Sorted(maps.Keys(r.tools)) {
		out = append(out, r.tools[name].Spec())
	}
	return out
}

// Lookup finds a tool by its full name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.tools[name]
	return t, ok
}
