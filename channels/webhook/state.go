package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core"
)

// Memory keeps what must outlive the process.
type Memory interface {
	// Recall returns what is remembered under a key, while its time lasts.
	Recall(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Remember returns once it is durable. It replaces what was there.
	Remember(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// How long things are kept. A state is written anew long before its time ends; a body outlives its last
// try, and a dead letter is kept as long as its body.
const (
	keepState = 20 * 365 * 24 * time.Hour
	keepBody  = 90 * 24 * time.Hour
	keepNone  = time.Nanosecond
)

// maxDead is how many dead letters a hook keeps; the oldest go first.
const maxDead = 1000

// Letter is a message of a hook.
type Letter struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Sequence uint64       `json:"sequence"`
	Input    core.InputID `json:"input"`
	// Tries counts the attempts; NextAt is when the next is made, of a dead one when the last was.
	Tries  int       `json:"tries,omitempty"`
	NextAt time.Time `json:"nextAt,omitzero"`
	// Error says how the last attempt ended.
	Error string `json:"error,omitempty"`
}

// State is where a hook stands.
type State struct {
	// Cursor is the place in the log up to which all was taken in.
	Cursor  uint64   `json:"cursor"`
	Pending []Letter `json:"pending,omitempty"`
	Dead    []Letter `json:"dead,omitempty"`
	// Disabled says why nothing is sent any more, "" where that is not so.
	Disabled string `json:"disabled,omitempty"`
}

func stateKey(url string) string         { return "webhook/" + core.Digest(url) }
func bodyKey(url, id string) string      { return "webhook/" + core.Digest(url) + "/" + id }
func errState(url string, e error) error { return fmt.Errorf("state of webhook %s: %w", shown(url), e) }

// Look reads where the hook of an address stands; the zero State with known false if the store has not seen it.
func Look(ctx context.Context, m Memory, url string) (s State, known bool, err error) {
	raw, known, err := m.Recall(ctx, stateKey(url))
	if err == nil && known {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return State{}, false, errState(url, err)
	}
	return s, known, nil
}

func (s State) save(ctx context.Context, m Memory, url string) error {
	raw, err := json.Marshal(s)
	if err == nil {
		err = m.Remember(ctx, stateKey(url), raw, keepState)
	}
	if err != nil {
		return errState(url, err)
	}
	return nil
}

// ErrUnknown says that the store knows no such hook or dead letter.
var ErrUnknown = errors.New("not known")

// Revive lets a hook that was disabled go on, and tries its dead letters of the given ids again, all of them
// where none is given. No program may run the hook meanwhile. It returns how many letters are tried again.
func Revive(ctx context.Context, m Memory, url string, ids ...string) (int, error) {
	s, known, err := Look(ctx, m, url)
	if err != nil {
		return 0, err
	}
	if !known {
		return 0, errState(url, ErrUnknown)
	}
	for _, id := range ids {
		if !slices.ContainsFunc(s.Dead, func(l Letter) bool { return l.ID == id }) {
			return 0, fmt.Errorf("dead letter %s of webhook %s: %w", id, shown(url), ErrUnknown)
		}
	}
	s.Disabled = ""
	var left []Letter
	n := 0
	for _, l := range s.Dead {
		if len(ids) > 0 && !slices.Contains(ids, l.ID) {
			left = append(left, l)
			continue
		}
		n++
		s.Pending = append(s.Pending, Letter{ID: l.ID, Type: l.Type, Sequence: l.Sequence, Input: l.Input})
	}
	s.Dead = left
	return n, s.save(ctx, m, url)
}

// bury moves a pending letter to the dead; what no longer fits is returned for its body to go.
func (s *State) bury(l Letter) (gone []Letter) {
	s.drop(l.ID)
	s.Dead = append(s.Dead, l)
	if n := len(s.Dead) - maxDead; n > 0 {
		gone = slices.Clone(s.Dead[:n])
		s.Dead = slices.Delete(s.Dead, 0, n)
	}
	return gone
}

func (s *State) drop(id string) {
	s.Pending = slices.DeleteFunc(s.Pending, func(l Letter) bool { return l.ID == id })
}

func (s *State) replace(l Letter) {
	if i := slices.IndexFunc(s.Pending, func(o Letter) bool { return o.ID == l.ID }); i >= 0 {
		s.Pending[i] = l
	}
}

// due is the oldest letter whose time has come, or how long until the next one's does: 0 for never.
func (s *State) due(now time.Time) (*Letter, time.Duration) {
	var found *Letter
	var wait time.Duration
	for i := range s.Pending {
		l := &s.Pending[i]
		left := l.NextAt.Sub(now)
		switch {
		case left <= 0 && (found == nil || l.Sequence < found.Sequence):
			found = l
		case left > 0 && (wait == 0 || left < wait):
			wait = left
		}
	}
	if found == nil {
		return nil, wait
	}
	l := *found
	return &l, 0
}
