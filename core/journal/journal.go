// Package journal replays a run. The loop of a turn is ordinary code in which every side effect is a named
// step: the first time its value is recorded, afterwards it is returned. Resume after a wait and recovery
// after a crash are therefore one path.
//
// A value as replayed equals the value as first seen, since it is encoded and decoded on the live path too.
// A name occurs once in a run. A replay that meets another name than the recorded one stops with
// *DivergedError: the caller sets the run aside and never recomputes.
//
// The journal holds steps in memory until the caller commits them, so that several steps between which
// nothing outside happened share one transaction.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"

	"parley/core"
)

// DivergedError says that the code of today asks for another step than the one recorded.
type DivergedError struct {
	At         int
	Want, Have string
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("step %d of the journal is %q, but this build asks for %q", e.At, e.Have, e.Want)
}

// ErrDoubled says that a step name was used twice in a run.
var ErrDoubled = errors.New("step name used twice in a run")

// Journal is the history of one run with a position in it.
type Journal struct {
	steps     []core.Step
	pos       int // the next step to replay
	committed int // steps that are durable
	names     map[string]bool
}

// New returns a journal at the start of recorded steps.
func New(recorded []core.Step) *Journal {
	return &Journal{steps: recorded, committed: len(recorded), names: make(map[string]bool, len(recorded)+8)}
}

// Replaying reports whether a recorded step is next.
func (j *Journal) Replaying() bool { return j.pos < len(j.steps) }

// Next is the name of the recorded step that is next, "" at the live end.
func (j *Journal) Next() string {
	if !j.Replaying() {
		return ""
	}
	return j.steps[j.pos].Name
}

// Pending returns the steps that are not durable and the number of those that are.
func (j *Journal) Pending() (at int, steps []core.Step) {
	return j.committed, j.steps[j.committed:]
}

// Committed says that all steps are durable.
func (j *Journal) Committed() { j.committed = len(j.steps) }

// Len is the number of steps, durable or not.
func (j *Journal) Len() int { return len(j.steps) }

// Do returns the value recorded under name, or runs f and records what it returned. An error of f records
// nothing.
func Do[T any](j *Journal, name string, f func() (T, error)) (T, error) {
	var v T
	if j.names[name] {
		return v, fmt.Errorf("%w: %s", ErrDoubled, name)
	}
	if !j.Replaying() {
		fresh, err := f()
		if err != nil {
			return v, err
		}
		data, err := json.Marshal(fresh)
		if err != nil {
			return v, fmt.Errorf("record step %s: %w", name, err)
		}
		j.steps = append(j.steps, core.Step{Name: name, Data: data})
	}
	step := j.steps[j.pos]
	if step.Name != name {
		return v, &DivergedError{At: j.pos, Want: name, Have: step.Name}
	}
	if err := json.Unmarshal(step.Data, &v); err != nil {
		return v, fmt.Errorf("read step %s: %w", name, err)
	}
	j.pos++
	j.names[name] = true
	return v, nil
}

// Mark records a step without a value, or replays it.
func Mark(j *Journal, name string) error {
	_, err := Do(j, name, func() (struct{}, error) { return struct{}{}, nil })
	return err
}

// Patched tells whether a run follows a change of the code that adds steps: true in runs that reach this
// point live, with a marker recorded, false while replaying a history recorded before the change, which
// spends nothing.
func Patched(j *Journal, id string) (bool, error) {
	name := "patched:" + id
	if j.names[name] {
		return true, nil
	}
	if j.Replaying() && j.Next() != name {
		return false, nil
	}
	return true, Mark(j, name)
}
