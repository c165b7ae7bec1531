package tool

import "slices"

// Source is where tools come from: what it offers may change while the program runs.
type Source interface {
	// List are the tools offered now.
	List() []Spec
	// Lookup finds a tool by its full name. It does not block.
	Lookup(name string) (Tool, bool)
}

// Set joins sources. Full names begin with their source, so that no two share one.
type Set []Source

// List are the tools of all sources, in their order.
func (s Set) List() []Spec {
	var out []Spec
	for _, source := range s {
		out = slices.Concat(out, source.List())
	}
	return out
}

// Lookup asks the sources in their order.
func (s Set) Lookup(name string) (Tool, bool) {
	for _, source := range s {
		if t, ok := source.Lookup(name); ok {
			return t, true
		}
	}
	return nil, false
}
