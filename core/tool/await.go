package tool

import "context"

// Awaiter is a Source whose tools may not be there yet, such as a server that is still being connected to.
// A Tools of an agent may be one too.
type Awaiter interface {
	// Await finds a tool like Lookup. Where it is not there and may still come, it waits for it until ctx ends;
	// false is returned at once where it is known not to come: it is another source's, or its source tells
	// what it has and this is not among it.
	Await(ctx context.Context, fullName string) (Tool, bool)
}

// Await finds a tool, and waits for it where its source may still bring it.
func (s Set) Await(ctx context.Context, fullName string) (Tool, bool) {
	if t, ok := s.Lookup(fullName); ok {
		return t, true
	}
	for _, source := range s {
		if a, ok := source.(Awaiter); ok {
			if t, ok := a.Await(ctx, fullName); ok {
				return t, true
			}
		}
	}
	return nil, false
}
