package bolt

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bbolt "go.etcd.io/bbolt"

	"parley/core"
	"parley/core/turn"
	"parley/store/storetest"
)

func TestMigrations(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	if err := openTest(t, path, migrations).Close(); err != nil {
		t.Fatal(err)
	}
	var ran []string
	step := func(name string, err error) migration {
		return migration{name: name, up: func(btx *bbolt.Tx) error {
			ran = append(ran, name)
			return errors.Join(btx.Bucket(bMeta.name).Put([]byte(name), []byte("done")), err)
		}}
	}
	next := append(migrations[:len(migrations):len(migrations)], step("second", nil), step("third", errors.New("no room")))
	if _, err := open(path, Options{}, next); err == nil || !strings.Contains(err.Error(), "third") {
		t.Fatalf("a migration that fails: %v", err)
	}
	if _, err := open(path, Options{ReadOnly: true}, next); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a migration of a file open to read: %v", err)
	}
	s := openTest(t, path, migrations) // the failure left the file as it was
	if s.db.View(func(btx *bbolt.Tx) error {
		if btx.Bucket(bMeta.name).Get([]byte("second")) != nil {
			t.Error("a migration that failed left a trace")
		}
		return nil
	}) != nil || s.Close() != nil {
		t.Fatal("close")
	}
	ran, next[2] = nil, step("third", nil)
	for range 2 {
		if err := openTest(t, path, next).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"second", "third"}, ran); diff != "" {
		t.Errorf("migrations run (-want +got):\n%s", diff)
	}
	_, err := Open(path, Options{})
	if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("a newer file: %v", err)
	}
	if _, err := Check(path); !errors.Is(err, ErrVersion) {
		t.Errorf("check of a newer file: %v", err)
	}
}

func TestMissingBuckets(t *testing.T) {
	t.Parallel()
	for _, b := range buckets {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "parley.db")
			s := openTest(t, path, migrations)
			r := storetest.Waiting(1, s.Now())
			err := s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(1)}, func(tx turn.Tx) error {
				_, err := tx.AddOut(core.Out{Run: r.Run.ID})
				return errors.Join(storetest.Put(tx, r), err, tx.MarkSeen("m"), tx.AddEvent(r.Event), tx.WakeAt(tx.Now()))
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.db.Update(func(btx *bbolt.Tx) error { return btx.DeleteBucket(b.name) }); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Prune(t.Context(), s.Now().Add(time.Hour), 10); err != nil {
				t.Errorf("prune without the bucket: %v", err)
			}
			if err := s.db.Update(func(btx *bbolt.Tx) error { return errors.Join(create(btx), btx.DeleteBucket(b.name)) }); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := open(path, Options{Clock: s.clock}, migrations)
			if b.vital {
				if !errors.Is(err, turn.ErrDamaged) {
					t.Errorf("a file that lost %s was opened: %v", b, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			report, err := again.Check(t.Context())
			if err := errors.Join(err, again.Close()); err != nil || !b.rows && !report.OK() {
				t.Errorf("once it was made again: %v\n%v", err, report)
			}
		})
	}
}
