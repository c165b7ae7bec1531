package bolt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/core/turn"
)

// Every error of opening, checking and copying names its thing once, says what to do, shows no name of a file that is
// there for the time being, and does not end in the bare name of its kind.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, short, other, none := filepath.Join(dir, "good.db"), filepath.Join(dir, "short.db"), filepath.Join(dir, "other"), filepath.Join(dir, "none", "x.db")
	s, err := Open(good, Options{})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(good)
	if err = errors.Join(err, os.WriteFile(short, data[:9000], 0o600), os.WriteFile(other, []byte(strings.Repeat("text\n", 5000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	check := func(path string) error { _, err := Check(path); return err }
	for name, c := range map[string]struct {
		err  error
		kind error
		path string
		says string
	}{
		"compact nothing":          {Compact(none, ""), fs.ErrNotExist, none, "check the path"},
		"compact a file to be":     {Compact(filepath.Join(dir, "no.db"), ""), fs.ErrNotExist, filepath.Join(dir, "no.db"), "check the path"},
		"compact to no folder":     {Compact(good, none), fs.ErrNotExist, none, "make the folder first"},
		"backup to no folder":      {Backup(good, none), fs.ErrNotExist, none, "make the folder first"},
		"backup over a file":       {Backup(good, other), fs.ErrExist, other, "name a new file"},
		"open in no folder":        {second(Open(none, Options{})), fs.ErrNotExist, none, "make the folder first"},
		"check a file cut off":     {check(short), turn.ErrDamaged, short, "restore a backup"},
		"check another format":     {check(other), ErrFormat, other, "name another path"},
		"check nothing":            {check(none), fs.ErrNotExist, none, "check the path"},
		"not allowed":              {denied(&fs.PathError{Op: "open", Path: good, Err: fs.ErrPermission}, false), fs.ErrPermission, "", "let this user read and write it"},
		"a folder not allowed":     {inFolder(&fs.PathError{Op: "open", Path: dir + "/.x.new", Err: fs.ErrPermission}), fs.ErrPermission, "", "let this user write there"},
		"a link that is not moved": {bare(&os.LinkError{Op: "rename", Old: dir + "/.x.new", New: good, Err: fs.ErrInvalid}), fs.ErrInvalid, "", "invalid"},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%s: %v is not %v", name, c.err, c.kind)
			continue
		}
		text := c.err.Error()
		if strings.Count(text, c.path) != 1 && c.path != "" || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s", name, text)
		}
		if strings.Contains(text, ".new") || strings.HasSuffix(text, ": "+c.kind.Error()) && c.path != "" || strings.Contains(text, "stat ") || strings.Count(text, "open ") > 1 {
			t.Errorf("%s: %s", name, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "no.db")); err == nil {
		t.Error("a compaction made its source")
	}
}

func second(s *Store, err error) error {
	if s != nil {
		return errors.Join(err, s.Close())
	}
	return err
}
