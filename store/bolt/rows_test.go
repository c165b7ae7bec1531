package bolt

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
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

var update = flag.Bool("update", false, "write the fixtures of this version; never after it was released")

func openTest(t testing.TB, path string, steps []migration) *Store {
	t.Helper()
	s, err := open(path, Options{Clock: storetest.NewClock().Now}, steps)
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

// rowKinds are a row of every kind in version 1, and what it is decoded into.
func rowKinds() map[string][2]any {
	r := storetest.Sample(1)
	r.Out.Seq, r.Event.Seq = 5, 7
	return map[string][2]any{
		"conversation": {r.Conversation, new(core.Conversation)},
		"run":          {r.Run, new(core.Run)},
		"step":         {r.Steps[0], new(core.Step)},
		"call":         {r.Call, new(core.Call)},
		"input":        {r.Input, new(core.Input)},
		"queued":       {core.Queued{Seq: 3, Message: r.Message, Held: true}, new(core.Queued)},
		"out":          {r.Out, new(core.Out)},
		"event":        {r.Event, new(core.Event)},
		"claim":        {claimRow{Due: 1, Token: "t", Epoch: 2, Instance: "i", Until: 3, Woken: 4}, new(claimRow)},
	}
}

// TestRowsOfEveryVersion reads the fixtures of all versions so far: nothing in them may get lost.
func TestRowsOfEveryVersion(t *testing.T) {
	t.Parallel()
	for kind, v := range rowKinds() {
		raw, err := encode(v[0])
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "rows", "v1", kind)
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, raw, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(old, v[1]); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		again, err := encode(v[1])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(jsonOf(t, old), jsonOf(t, again)); diff != "" {
			t.Errorf("%s reads otherwise than it was written (-written +read):\n%s", kind, diff)
		}
	}
}

func jsonOf(t *testing.T, row []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(row[1:], &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFileOfVersion1 opens a whole file that was written when version 1 was new.
func TestFileOfVersion1(t *testing.T) {
	t.Parallel()
	fixture, path := filepath.Join("testdata", "v1.db.gz"), filepath.Join(t.TempDir(), "v1.db")
	want := storetest.Waiting(1, storetest.NewClock().Now())
	if *update {
		writeFixture(t, path, fixture, want)
	}
	f, err := os.Open(fixture)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if report, err := Check(path); err != nil || !report.OK() {
		t.Fatalf("%v\n%v", err, report)
	}
	s := openTest(t, path, migrations)
	page, _, err := s.Inputs(t.Context(), turn.InputFilter{Responder: "telegram:43"})
	if diff := cmp.Diff([]core.Input{want.Input}, page); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	rows, _, err := s.Outbox(t.Context(), "tg", 0)
	if len(rows) != 1 || err != nil {
		t.Errorf("outbox %v, %v", rows, err)
	}
	c, err := s.Claim(t.Context(), time.Minute)
	if err != nil || c == nil || c.Epoch != 2 {
		t.Errorf("the claim of a holder long dead: %+v, %v", c, err)
	}
}

func writeFixture(t *testing.T, path, fixture string, want storetest.Rows) {
	t.Helper()
	s, err := Open(path, Options{Clock: storetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), turn.Scope{Conversation: storetest.Conv(1)}, func(tx turn.Tx) error {
		_, err := tx.Enqueue(want.Message)
		_, err2 := tx.AddOut(core.Out{Run: want.Run.ID, CreatedAt: tx.Now()})
		_, err3 := tx.TakeClaim(time.Minute)
		return errors.Join(storetest.Put(tx, want), err, err2, err3, tx.MarkSeen("m"), tx.AddEvent(want.Event))
	})
	if err := errors.Join(err, s.Close(), Compact(path, "")); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err = z.Write(raw)
	if err := errors.Join(err, z.Close(), os.WriteFile(fixture, buf.Bytes(), 0o644), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedRowIsNamed(t *testing.T) {
	t.Parallel()
	s := openTest(t, filepath.Join(t.TempDir(), "parley.db"), migrations)
	for what, raw := range map[string][]byte{"empty": {}, "of a later version": {9, '{', '}'}, "cut": []byte("\x01{\"id\":"), "of another type": []byte("\x01[]")} {
		if err := s.db.Update(func(btx *bbolt.Tx) error { return btx.Bucket(bRun.name).Put([]byte("r7"), raw) }); err != nil {
			t.Fatal(err)
		}
		_, err := s.Run(t.Context(), "r7")
		if !errors.Is(err, turn.ErrDamaged) || !strings.Contains(err.Error(), "bucket run") || !strings.Contains(err.Error(), "r7") {
			t.Errorf("a row that is %s: %v", what, err)
		}
	}
}

func FuzzDecodeRow(f *testing.F) {
	for _, v := range rowKinds() {
		raw, err := encode(v[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for kind, v := range rowKinds() {
			err := decode(raw, v[1])
			if err != nil {
				if !errors.Is(err, turn.ErrDamaged) {
					t.Fatalf("%s: %v is not ErrDamaged", kind, err)
				}
				continue
			}
			first, err := encode(v[1])
			if err != nil {
				continue // a time of a year beyond four digits is read but not written
			}
			again := rowKinds()[kind][1]
			if err := decode(first, again); err != nil {
				t.Fatalf("%s: %q does not read back: %v", kind, first, err)
			}
			if second, err := encode(again); err != nil || !bytes.Equal(first, second) {
				t.Fatalf("%s: %q became %q, %v", kind, first, second, err)
			}
		}
	})
}
