package bolt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"parley/core/turn"
)

// Options say how to open a file; the zero value opens it to write, by the wall clock.
type Options struct {
	// Clock judges every stored time; nil is time.Now.
	Clock func() time.Time
	// LockTimeout is how long to wait for another program to let go; 0 is 1.5 s.
	LockTimeout time.Duration
	// ReadOnly opens an existing file beside other readers; every write is ErrReadOnly.
	ReadOnly bool
}

// Open opens the store in the file at path, and makes it if there is none. It reads a handful of keys,
// however much waits in it. A file that is in use (ErrLocked), not a store (ErrFormat), newer than this
// program (ErrVersion) or damaged (turn.ErrDamaged) is refused and left as it is.
func Open(path string, o Options) (*Store, error) {
	s, err := open(path, o, migrations)
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	return s, nil
}

func (o Options) filled() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 1500 * time.Millisecond
	}
	return o
}

func open(path string, o Options, steps []migration) (*Store, error) {
	o = o.filled()
	if err := prepare(path, o.ReadOnly, steps); err != nil {
		return nil, err
	}
	file, db, err := openDB(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{
		db: db, path: path, file: file, clock: o.Clock, readOnly: o.ReadOnly,
		instance: rand.Text(), wake: make(chan struct{}, 1),
	}
	if err := s.upgrade(steps); err != nil {
		return nil, joinClose(err, s)
	}
	s.hint()
	return s, nil
}

// prepare makes a file that is not there and refuses what cannot be a store.
func prepare(path string, readOnly bool, steps []migration) error {
	if err := checkFileSystem(filepath.Dir(path)); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !readOnly {
		if _, err := os.Lstat(path); err == nil {
			return errors.New("it is a symbolic link to nothing: remove it, or make its target's directory available")
		}
		if err := makeFile(path, len(steps)); err != nil {
			return err
		}
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: check the path, or start the program once to make the file", fs.ErrNotExist)
	case err != nil:
		return denied(err, readOnly)
	case info.IsDir():
		return fmt.Errorf("it is a directory: name a file in it, such as %s", filepath.Join(path, "parley.db"))
	case !info.Mode().IsRegular():
		return of(ErrFormat, "it is not a regular file (%s): name another path", info.Mode().Type())
	}
	return nil
}

// makeFile makes a new file whole before it gets its name, so that a file of that name is never half made.
func makeFile(path string, version int) error {
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("its folder: %w: make the folder first, or name another place", bare(err))
	}
	part := filepath.Join(dir, "."+filepath.Base(path)+"."+rand.Text()+".new")
	defer func() { _ = os.Remove(part) }()
	db, err := bbolt.Open(part, 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return inFolder(err)
	}
	err = db.Update(func(btx *bbolt.Tx) error {
		if err := create(btx); err != nil {
			return err
		}
		return errors.Join(
			btx.Bucket(bMeta.name).Put([]byte("format"), []byte(format)),
			setVersion(btx, version))
	})
	if err := joinClose(err, db); err != nil {
		return err
	}
	// A link, unlike a rename, leaves a file alone that another program made meanwhile.
	if err := os.Link(part, path); err != nil && !errors.Is(err, fs.ErrExist) {
		if err := os.Rename(part, path); err != nil {
			return bare(err)
		}
	}
	return syncDir(dir)
}

// syncDir makes a new name in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	// Not every system can sync a directory; those that cannot need not.
	_ = d.Sync()
	return d.Close()
}

// openDB locks and examines the file before bbolt maps it, and hands bbolt that very file.
func openDB(path string, o Options) (_ os.FileInfo, db *bbolt.DB, err error) {
	flag := os.O_RDWR
	if o.ReadOnly {
		flag = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, nil, denied(err, o.ReadOnly)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, joinClose(err, f)
	}
	if err := enter(path, info, o.ReadOnly); err != nil {
		return nil, nil, joinClose(err, f)
	}
	defer func() {
		if err != nil {
			leave(info)
			unlock(f)
			_ = f.Close() // bbolt closes it itself where it got that far
		}
	}()
	if err := lock(f, !o.ReadOnly, o.LockTimeout); err != nil {
		return nil, nil, err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(now, info) {
		return nil, nil, errors.New("the file was replaced while it was being opened: try again")
	}
	if err := preflight(f); err != nil {
		return nil, nil, err
	}
	db, err = mapFile(path, f, o)
	return info, db, err
}

// mapFile opens f with bbolt; what bbolt panics about is an error.
func mapFile(path string, f *os.File, o Options) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = of(turn.ErrDamaged, "it is damaged: a page that every start needs is unreadable (%v): restore a backup; the file was not changed", r)
		}
	}()
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: o.LockTimeout, ReadOnly: o.ReadOnly, FreelistType: bbolt.FreelistMapType,
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return f, nil },
	})
	if errors.Is(err, berrors.ErrTimeout) {
		err = locked(f)
	}
	if err == nil {
		err = db.View(func(btx *bbolt.Tx) error { return checkFormat(btx) })
		if err != nil {
			err = joinClose(err, db)
		}
	}
	return db, err
}

// format names what the file holds, in its meta bucket.
const format = "parley"

// checkFormat refuses a file of another program and one that lost what waits.
func checkFormat(btx *bbolt.Tx) error {
	meta := btx.Bucket(bMeta.name)
	if meta == nil || string(meta.Get([]byte("format"))) != format {
		return of(ErrFormat, "it is not a store of Parley but a bbolt file of another program: name another path")
	}
	for _, b := range buckets {
		if b.vital && btx.Bucket(b.name) == nil {
			return of(turn.ErrDamaged, "it is damaged: its bucket %q is gone, and what waited in it: restore a backup", b)
		}
	}
	return nil
}

// upgrade brings the file to this program's version and makes missing buckets again.
func (s *Store) upgrade(steps []migration) error {
	version, missing := 0, []*bucket(nil)
	err := s.read(context.Background(), "", func(t *tx) (err error) {
		version, err = getVersion(t)
		for _, b := range buckets {
			if _, ok := t.exists(b); !ok {
				missing = append(missing, b)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if version > len(steps) {
		return tooNew(version, len(steps))
	}
	if version == len(steps) && len(missing) == 0 {
		return nil
	}
	if s.readOnly {
		return fmt.Errorf("the file has store version %d of %d and needs to be opened to write once: %w", version, len(steps), ErrReadOnly)
	}
	return s.update(func(btx *bbolt.Tx) error {
		if err := create(btx); err != nil {
			return err
		}
		for n := version; n < len(steps); n++ {
			if err := steps[n].up(btx); err != nil {
				return fmt.Errorf("bring store version %d to %d (%s): %w", n, n+1, steps[n].name, err)
			}
		}
		if err := setVersion(btx, len(steps)); err != nil {
			return err
		}
		return (&tx{s: s, btx: btx, now: s.clock()}).rebuild(missing)
	})
}
