package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"parley/core/turn"
	"parley/store/bolt"
	"parley/store/storetest"
)

// holdEnv names the file that a child process of the test is to hold open.
const holdEnv = "PARLEY_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		s, err := bolt.Open(path, bolt.Options{})
		if err != nil {
			fmt.Println("child:", err)
			os.Exit(1)
		}
		fmt.Println("open")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent lets go
		if err := s.Close(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hold has another process open the file and returns its id and what ends it.
func hold(t *testing.T, path string) (pid int, letGo func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), holdEnv+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	if n, err := out.Read(line); err != nil || string(line[:n]) != "open\n" {
		t.Fatalf("the child said %q, %v", line[:n], err)
	}
	return cmd.Process.Pid, func() { _, _ = in.Close(), cmd.Wait() }
}

func TestDU16SecondInstanceNamesFileAndLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	pid, letGo := hold(t, path)
	defer letGo()
	start := time.Now()
	_, err := bolt.Open(path, bolt.Options{LockTimeout: 200 * time.Millisecond})
	if !errors.Is(err, bolt.ErrLocked) {
		t.Fatalf("opened a file that another process holds: %v", err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, want := range []string{path, "lock"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
	if _, e := os.Stat("/proc/locks"); e == nil && !strings.Contains(err.Error(), fmt.Sprint("process ", pid)) {
		t.Errorf("%q does not name process %d", err, pid)
	}
	if _, err := bolt.Check(path); !errors.Is(err, bolt.ErrLocked) {
		t.Errorf("check of a file in use: %v", err)
	}
	letGo()
	mustOpen(t, path, storetest.NewClock())
}

func TestOpenWaitsForTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	_, letGo := hold(t, path)
	go letGo()
	s, err := bolt.Open(path, bolt.Options{LockTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestCF06SamePathTwiceAlsoThroughALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link, hard := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db"), filepath.Join(dir, "c.db")
	s := mustOpen(t, path, storetest.NewClock())
	if err := errors.Join(os.Symlink(path, link), os.Link(path, hard)); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link, hard, filepath.Join(dir, ".", "a.db")} {
		start := time.Now()
		_, err := bolt.Open(p, bolt.Options{LockTimeout: time.Minute})
		if !errors.Is(err, bolt.ErrLocked) || !strings.Contains(err.Error(), path) {
			t.Errorf("opened again as %s: %v", p, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %s to say so", took)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, link, storetest.NewClock())
}

// damages are files that no store is opened from.
func damages(t *testing.T, good []byte) map[string][]byte {
	t.Helper()
	page := os.Getpagesize()
	with := func(at int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[at:], b)
		return out
	}
	bothMetas := with(30, 0xff, 0xff)
	copy(bothMetas[page+30:], []byte{0xff, 0xff})
	return map[string][]byte{
		"empty":               {},
		"one byte":            {1},
		"text":                bytes.Repeat([]byte("this is a letter to my aunt\n"), 900),
		"another format":      append([]byte("SQLite format 3\x00"), make([]byte, 8000)...),
		"cut to a page":       good[:page],
		"cut to two pages":    good[:2*page],
		"cut by a third":      good[:len(good)/3/page*page],
		"cut inside a page":   good[:3*page+100],
		"both metas damaged":  bothMetas,
		"all pages but metas": append(bytes.Clone(good[:2*page]), bytes.Repeat([]byte{0xa5}, len(good)-2*page)...),
		"zeroed pages":        append(bytes.Clone(good[:2*page]), make([]byte, len(good)-2*page)...),
	}
}

func TestDU18DamagedFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "good.db")
	s := mustOpen(t, path, storetest.NewClock())
	fillWaiting(t, s, 40)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, raw := range damages(t, good) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			bad := filepath.Join(t.TempDir(), "bad.db")
			if err := os.WriteFile(bad, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, open := range []func() error{
				func() error { _, err := bolt.Open(bad, bolt.Options{}); return err },
				func() error { _, err := bolt.Open(bad, bolt.Options{ReadOnly: true}); return err },
				func() error { _, err := bolt.Check(bad); return err },
			} {
				err := open()
				if !errors.Is(err, turn.ErrDamaged) && !errors.Is(err, bolt.ErrFormat) {
					t.Fatalf("it was opened: %v", err)
				}
				if s := err.Error(); !strings.Contains(s, bad) || !strings.Contains(s, ": restore a backup") && !strings.Contains(s, "name another path") {
					t.Errorf("no file or no hint in %q", s)
				}
			}
			if now, err := os.ReadFile(bad); err != nil || !bytes.Equal(now, raw) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

// TestDU18EachPageDamaged damages every page in turn. Opening, reading and checking may fail and never
// panic, and never show an empty store.
func TestDU18EachPageDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "good.db")
	s := mustOpen(t, path, storetest.NewClock())
	fillWaiting(t, s, 40)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found, page := 0, os.Getpagesize()
	for at := 2 * page; at < len(good); at += page {
		bad := filepath.Join(dir, fmt.Sprint(at, ".db"))
		raw := bytes.Clone(good)
		copy(raw[at:], bytes.Repeat([]byte{0xa5}, page))
		if err := os.WriteFile(bad, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := bolt.Check(bad)
		if err != nil || !report.OK() {
			found++
		}
		readDamaged(t, bad)
	}
	if found < 10 {
		t.Errorf("%d damaged pages were found by Check", found)
	}
}

func readDamaged(t *testing.T, path string) {
	t.Helper()
	s, err := bolt.Open(path, bolt.Options{LockTimeout: time.Second})
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	page, _, err := s.Inputs(t.Context(), turn.InputFilter{Limit: 100})
	if err == nil && len(page) != 40 {
		t.Errorf("%s: %d inputs of 40, and no error", path, len(page))
	}
	err = s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(1)}, func(tx turn.Tx) error {
		return storetest.Put(tx, storetest.Waiting(900, s.Now()))
	})
	if err == nil {
		t.Errorf("%s: rows of another conversation were written", path)
	}
	_ = s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(900)}, func(tx turn.Tx) error {
		return storetest.Put(tx, storetest.Waiting(900, s.Now()))
	})
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dangling, foreign := filepath.Join(dir, "link"), filepath.Join(dir, "foreign.db")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(foreign, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
		o          bolt.Options
	}{
		{dir, "is a directory", bolt.Options{}},
		{"/dev/null", "not a regular file", bolt.Options{}},
		{dangling, "symbolic link to nothing", bolt.Options{}},
		{foreign, "another program", bolt.Options{}},
		{filepath.Join(dir, "no", "such.db"), "make the folder first", bolt.Options{}},
		{filepath.Join(dir, "none.db"), "check the path", bolt.Options{ReadOnly: true}},
	} {
		if _, err := bolt.Open(c.path, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("open %s: %v, want %q", c.path, err, c.want)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestNewFileIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "parley.db")
	s := mustOpen(t, path, storetest.NewClock())
	backup := filepath.Join(dir, "backup.db")
	if err := errors.Join(s.Backup(t.Context(), backup), s.Close(), bolt.Compact(path, "")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, backup} {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", p, info.Mode(), err)
		}
	}
	left, err := os.ReadDir(dir)
	if len(left) != 2 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestReadOnlyBesideReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := mustOpen(t, path, storetest.NewClock())
	fillWaiting(t, s, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := bolt.Open(path, bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	page, _, err := r.Inputs(t.Context(), turn.InputFilter{})
	if len(page) != 3 || err != nil {
		t.Errorf("%d inputs, %v", len(page), err)
	}
	err = r.Update(t.Context(), turn.Scope{Conversation: "c"}, func(turn.Tx) error { return nil })
	if !errors.Is(err, bolt.ErrReadOnly) {
		t.Errorf("update: %v", err)
	}
	if _, err := bolt.Open(filepath.Join(t.TempDir(), "none.db"), bolt.Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// fillWaiting stores n waiting turns.
func fillWaiting(t testing.TB, s *bolt.Store, n int) {
	t.Helper()
	for i := range n {
		err := s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(i)}, func(tx turn.Tx) error {
			return storetest.Put(tx, storetest.Waiting(i, tx.Now()))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
