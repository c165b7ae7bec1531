package bolt_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"parley/core/turn"
	"parley/store/bolt"
	"parley/store/storetest"
)

var files atomic.Int64

// openNew opens a new file in a directory that the whole test shares.
func openNew(dir string) storetest.Open {
	return func(t *testing.T, clock *storetest.Clock) turn.Store {
		return mustOpen(t, filepath.Join(dir, fmt.Sprint(files.Add(1), ".db")), clock)
	}
}

func mustOpen(t testing.TB, path string, clock *storetest.Clock) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(path, bolt.Options{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openNew(t.TempDir()))
}
