package bolt

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	now := time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)
	open := func() *Store {
		s, err := Open(path, Options{Clock: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	remember := func(key, value string) {
		t.Helper()
		if err := s.Remember(t.Context(), key, []byte(value), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	is := func(key, want string) {
		t.Helper()
		v, ok, err := s.Recall(t.Context(), key)
		if err != nil || string(v) != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, %v; want %q", key, v, ok, err, want)
		}
	}
	is("a", "")
	remember("a", "one")
	remember("b", "two")
	now = now.Add(30 * time.Minute)
	remember("a", "three") // its time begins again
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	is("a", "three")
	now = now.Add(30 * time.Minute)
	is("a", "three")
	is("b", "")
	for i := range 10 { // what is over is removed on the way
		remember(fmt.Sprint(i), "x")
	}
	is("a", "three")
	report, err := s.Check(t.Context())
	if err != nil || !report.OK() || report.Entries["memory"] != 2*11 {
		t.Errorf("%v, %v", report, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Remember(t.Context(), "c", nil, time.Hour); err == nil {
		t.Error("a closed store remembers")
	}
}
