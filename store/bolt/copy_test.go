package bolt_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"parley/core/turn"
	"parley/store/bolt"
	"parley/store/storetest"
)

// waitingIn opens the file and counts what waits in it.
func waitingIn(t *testing.T, path string) int {
	t.Helper()
	if report, err := bolt.Check(path); err != nil || !report.OK() {
		t.Errorf("%s: %v\n%v", path, err, report)
	}
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	page, _, err := s.Inputs(t.Context(), turn.InputFilter{Limit: 10_000})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return len(page)
}

func TestBackupOfAnOpenStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := mustOpen(t, filepath.Join(dir, "parley.db"), storetest.NewClock())
	fillWaiting(t, s, 5)
	dst := filepath.Join(dir, "backup.db")
	err := s.Backup(t.Context(), dst)
	err2 := s.Update(t.Context(), turn.Scope{Conversation: "c"}, func(tx turn.Tx) error { return tx.MarkSeen("after") })
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if got := waitingIn(t, dst); got != 5 {
		t.Errorf("%d inputs in the backup, want 5", got)
	}
	if err := s.Backup(t.Context(), dst); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup over another file: %v", err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "no", "b.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a backup into no directory: %v", err)
	}
}

func TestBackupOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "parley.db"), filepath.Join(dir, "backup.db")
	s := mustOpen(t, src, storetest.NewClock())
	fillWaiting(t, s, 3)
	if err := bolt.Backup(src, dst); !errors.Is(err, bolt.ErrLocked) {
		t.Errorf("a backup of a file in use: %v", err)
	}
	if err := errors.Join(s.Close(), bolt.Backup(src, dst)); err != nil {
		t.Fatal(err)
	}
	if got := waitingIn(t, dst); got != 3 {
		t.Errorf("%d inputs in the backup, want 3", got)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link, other := filepath.Join(dir, "parley.db"), filepath.Join(dir, "link.db"), filepath.Join(dir, "other.db")
	clock := storetest.NewClock()
	s := mustOpen(t, path, clock)
	fillFast(t, s, 600)
	for i := range 10 {
		r := storetest.Sample(i)
		err := s.Update(t.Context(), turn.Scope{Conversation: r.Run.Conversation}, func(tx turn.Tx) error {
			return errors.Join(tx.PutRun(r.Run), tx.PutCall(r.Call), tx.PutInput(r.Input), tx.PutConversation(r.Conversation))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := bolt.Compact(path, ""); !errors.Is(err, bolt.ErrLocked) {
		t.Errorf("a compaction of a file in use: %v", err)
	}
	if _, err := s.Prune(t.Context(), clock.Now(), 1000); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err := errors.Join(err, s.Close(), os.Symlink("parley.db", link), bolt.Compact(path, other)); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Compact(path, other); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a compaction over another file: %v", err)
	}
	if err := bolt.Compact(link, ""); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, other} {
		after, err := os.Stat(p)
		if err != nil || after.Size() >= before.Size() || after.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes of %d, mode %v, %v", p, after.Size(), before.Size(), after.Mode(), err)
		}
		if got := waitingIn(t, p); got != 590 {
			t.Errorf("%d inputs in %s, want 590", got, p)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}
