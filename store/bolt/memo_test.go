package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"parley/core"
	"parley/core/turn"
	"parley/store/storetest"
)

// TestReadsShareNothing has one reader spoil what it was given, and looks what the next one gets.
func TestReadsShareNothing(t *testing.T) {
	t.Parallel()
	s := openTest(t, filepath.Join(t.TempDir(), "parley.db"), migrations)
	r := storetest.Waiting(1, s.Now())
	scope := turn.Scope{Conversation: r.Run.Conversation}
	if err := s.Update(t.Context(), scope, func(tx turn.Tx) error { return storetest.Put(tx, r) }); err != nil {
		t.Fatal(err)
	}
	read := func(spoil bool) (in core.Input, calls []core.Call) {
		t.Helper()
		err := s.View(t.Context(), scope.Conversation, func(r turn.Reader) (err error) {
			if in, err = r.Input("i00000001"); err == nil {
				calls, err = r.Calls("r00000001")
			}
			return err
		})
		if err != nil || len(calls) != 1 {
			t.Fatal(calls, err)
		}
		if spoil {
			in.Prompts[0].Messages[0], in.Responders.Audience[0], in.Arguments[2] = "x", "test:mallory", 'X'
			calls[0].Arguments[2] = 'X'
		}
		return in, calls
	}
	read(true)
	read(true)
	in, calls := read(false)
	if !reflect.DeepEqual(in, r.Input) || !reflect.DeepEqual(calls[0], r.Call) {
		t.Errorf("got %+v\n%+v", in, calls)
	}
}

// TestMemoOfUndoneWrites reads a row between a change and its undoing.
func TestMemoOfUndoneWrites(t *testing.T) {
	t.Parallel()
	s := openTest(t, filepath.Join(t.TempDir(), "parley.db"), migrations)
	r := storetest.Waiting(1, s.Now())
	scope := turn.Scope{Conversation: r.Run.Conversation}
	if err := s.Update(t.Context(), scope, func(tx turn.Tx) error { return storetest.Put(tx, r) }); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	err := s.Update(t.Context(), scope, func(tx turn.Tx) error {
		in := r.Input
		in.State = core.InputAccepted
		if err := tx.PutInput(in); err != nil {
			return err
		}
		if in, err := tx.Input(in.ID); err != nil || in.State != core.InputAccepted {
			t.Errorf("within: %s, %v", in.State, err)
		}
		return no
	})
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	if in, err := s.Input(t.Context(), r.Input.ID); err != nil || in.State != core.InputPending {
		t.Errorf("after: %s, %v", in.State, err)
	}
}

func TestMemoIsBounded(t *testing.T) {
	t.Parallel()
	var m memo
	raw := func(n int) []byte { return fmt.Appendf(bytes.Repeat([]byte("."), 1000), "%09d", n) }
	m.put(raw(0), new(int))
	for n := range 10_000 {
		if m.get(raw(0)) == nil { // used all the time, so it stays
			t.Fatalf("gone after %d others", n)
		}
		m.put(raw(n+1), new(int))
		if held := len(m.young) + len(m.old); held > 2*memoBytes/1000 {
			t.Fatalf("%d rows are held", held)
		}
	}
	if m.get(raw(1)) != nil {
		t.Error("a row not used since is still there")
	}
	m.put(make([]byte, memoRow+1), new(int))
	if m.get(make([]byte, memoRow+1)) != nil {
		t.Error("a very long row is remembered")
	}
}
