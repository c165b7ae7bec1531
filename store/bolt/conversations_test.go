package bolt

import (
	"path/filepath"
	"slices"
	"testing"

	"parley/core"
	"parley/core/turn"
)

// TestConversations: those of one channel whatever the agent, chats with one person first, then the newest; a row
// that cannot be read hides no other.
func TestConversations(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "p.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []core.Conversation{
		{ID: "ops|work|1", Last: "r1"}, {ID: "ops|work|2", Last: "r3", Shared: true}, {ID: "old|work|3", Last: "r2"},
		{ID: "ops|work|4"}, {ID: "ops|workshop|5", Last: "r9"}, {ID: "ops|work|6", Last: "r4", Shared: true},
	} {
		err := s.Update(t.Context(), turn.Scope{Conversation: c.ID}, func(tx turn.Tx) error { return tx.PutConversation(c) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.submit(t.Context(), turn.Scope{}, func(t *tx) error {
		return t.put(bConversation, key(nil).id("ops|work|7"), []byte{99})
	}); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int][]core.ConversationID{
		0: {"old|work|3", "ops|work|1", "ops|work|4", "ops|work|6", "ops|work|2"}, 2: {"old|work|3", "ops|work|1"},
	} {
		list, err := s.Conversations(t.Context(), "work", limit)
		var got []core.ConversationID
		for _, c := range list {
			got = append(got, c.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("at most %d: %q, %v; want %q", limit, got, err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Conversations(t.Context(), "work", 0); err == nil {
		t.Error("a closed store lists conversations")
	}
}
