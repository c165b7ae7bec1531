package bolt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	bbolt "go.etcd.io/bbolt"
)

// compactBytes is how much one transaction of a compaction writes at most.
const compactBytes = 4 << 20

func joinClose(err error, c io.Closer) error { return errors.Join(err, c.Close()) }

// Backup writes a copy of the open store to the new file dst (mode 0600), as of one moment, while the store
// goes on. The file appears whole or not at all; an existing one is refused.
func (s *Store) Backup(ctx context.Context, dst string) error {
	err := replace(dst, false, func(f *os.File) error {
		return s.read(ctx, "", func(t *tx) error {
			_, err := t.btx.WriteTo(f)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("store: back up %s to %s: %w", s.path, dst, err)
	}
	return nil
}

// Backup copies the store file src, which no program may have open to write, to the new file dst.
func Backup(src, dst string) error {
	s, err := openRaw(src)
	if err != nil {
		return fmt.Errorf("store: back up %s: %w", src, err)
	}
	return joinClose(s.Backup(context.Background(), dst), s)
}

// Compact writes the store file src anew without its free space to dst, mode 0600. With dst "" or src
// itself the new file takes the old one's place in one step. No program may have src open.
func Compact(src, dst string) error {
	in := dst == "" || dst == src
	if in {
		dst = src
	}
	if target, err := filepath.EvalSymlinks(dst); err == nil && in {
		dst = target // the link stays a link
	}
	if _, err := os.Stat(src); err != nil { // else a new one would be made
		return fmt.Errorf("store: compact %s: %w: check the path", src, bare(err))
	}
	s, err := open(src, Options{}, migrations)
	if err != nil {
		return fmt.Errorf("store: compact %s: %w", src, err)
	}
	err = replace(dst, in, func(f *os.File) error {
		db, err := bbolt.Open(f.Name(), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
		if err != nil {
			return err
		}
		return joinClose(bbolt.Compact(db, s.db, compactBytes), db)
	})
	if err = joinClose(err, s); err != nil {
		return fmt.Errorf("store: compact %s to %s: %w", src, dst, err)
	}
	return nil
}

// replace has write fill a file beside dst and gives it that name once it is durable.
func replace(dst string, over bool, write func(*os.File) error) (err error) {
	if _, err := os.Lstat(dst); !over && err == nil {
		return fmt.Errorf("%w: name a new file, or remove that one first", fs.ErrExist)
	}
	part := filepath.Join(filepath.Dir(dst), "."+filepath.Base(dst)+"."+rand.Text()+".new")
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return inFolder(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, dst); err != nil {
		return bare(err)
	}
	return syncDir(filepath.Dir(dst))
}
