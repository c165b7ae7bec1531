package bolt

import (
	"bytes"
	"path/filepath"
	"testing"

	"parley/core"
	"parley/core/turn"
)

// TestFullDisk has commits fail for want of room: nothing of them is left, and the store goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := openTest(t, filepath.Join(t.TempDir(), "parley.db"), migrations)
	scope := turn.Scope{Conversation: "c"}
	big := []byte(`"` + string(bytes.Repeat([]byte("x"), 1<<20)) + `"`)
	add := func(at int, data []byte) error {
		return s.Update(t.Context(), scope, func(tx turn.Tx) error { return tx.Append("r", at, core.Step{Name: "x", Data: data}) })
	}
	if err := add(0, nil); err != nil {
		t.Fatal(err)
	}
	s.db.MaxSize = 1 << 18
	for range 3 {
		if err := add(1, big); err == nil {
			t.Fatal("a commit beyond the room there is")
		}
		if err := s.View(t.Context(), "c", func(rd turn.Reader) error {
			steps, err := rd.Journal("r")
			if len(steps) != 1 {
				t.Errorf("%d steps after a failed commit", len(steps))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	s.db.MaxSize = 0
	if err := add(1, big); err != nil {
		t.Errorf("a commit once there is room: %v", err)
	}
	if report, err := s.Check(t.Context()); err != nil || report.Entries["journal"] != 2 {
		t.Errorf("%v\n%v", err, report)
	}
}
