package bolt_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"parley/core"
	"parley/core/turn"
	"parley/store/bolt"
	"parley/store/storetest"
)

var soakInputs = flag.Int("soak", 20_000, "how many inputs TestDU19SoakLevelsOff creates and settles")

// TestDU19SoakLevelsOff creates and settles short-lived inputs with a retention of one minute, and takes a
// bucket away half-way: the file stops growing, and nothing of what ended is left.
func TestDU19SoakLevelsOff(t *testing.T) {
	t.Parallel()
	const each = 500
	rounds := *soakInputs / each
	path, clock := filepath.Join(t.TempDir(), "parley.db"), storetest.NewClock()
	s := mustOpen(t, path, clock)
	pruned, half := 0, int64(0)
	for round := range rounds {
		soak(t, s, round*each, each)
		clock.Advance(30 * time.Second)
		if round == rounds/2 {
			half = size(t, path)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			loseBucket(t, path, "seen")
			s = mustOpen(t, path, clock)
		}
		pruned += prune(t, s, clock.Now().Add(-time.Minute))
	}
	if now := size(t, path); now > half+half/10 {
		t.Errorf("the file grew from %d to %d bytes in the second half", half, now)
	}
	clock.Advance(time.Hour)
	if pruned += prune(t, s, clock.Now()); pruned != rounds*each {
		t.Errorf("%d runs went of %d", pruned, rounds*each)
	}
	report, err := s.Check(t.Context())
	if err != nil || !report.OK() {
		t.Errorf("%v\n%v", err, report)
	}
	for bucket, n := range report.Entries {
		if n > 0 {
			t.Errorf("%d entries left in %s", n, bucket)
		}
	}
}

// soak stores runs that ended, all of one conversation so that they share a commit.
func soak(t *testing.T, s *bolt.Store, from, n int) {
	t.Helper()
	conv := storetest.Conv(0)
	err := s.Update(t.Context(), turn.Scope{Conversation: conv}, func(tx turn.Tx) error {
		for i := from; i < from+n; i++ {
			run, at := core.RunID(fmt.Sprintf("r%08d", i)), tx.Now()
			in := core.Input{
				ID: core.InputID(fmt.Sprintf("i%08d", i)), Conversation: conv, Run: run, Call: "c1", State: core.InputPending,
				Responders: core.Responders{Audience: []core.PersonID{"local:a"}}, CreatedAt: at, ExpiresAt: at.Add(time.Hour),
			}
			if err := tx.PutInput(in); err != nil {
				return err
			}
			in.State, in.Settled = core.InputDeclined, &core.Settled{By: "local:a", At: at}
			call := core.Call{Run: run, ID: "c1", Status: core.CallRejected, Result: &core.Result{Outcome: core.OutcomeDeclined}}
			err := errors.Join(
				tx.PutInput(in), tx.PutCall(call),
				tx.PutRun(core.Run{ID: run, Conversation: conv, Status: core.RunCompleted, CreatedAt: at, EndedAt: at}),
				tx.MarkSeen(fmt.Sprint(i)), tx.AddEvent(core.Event{Type: core.EventRunFinished, At: at, Run: run}))
			if err != nil {
				return err
			}
		}
		return tx.PutConversation(core.Conversation{ID: conv, Last: core.RunID(fmt.Sprintf("r%08d", from+n-1))})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func prune(t *testing.T, s *bolt.Store, before time.Time) (total int) {
	t.Helper()
	for {
		n, err := s.Prune(t.Context(), before, 250)
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n == 0 {
			return total
		}
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func loseBucket(t *testing.T, path, name string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(btx *bbolt.Tx) error { return btx.DeleteBucket([]byte(name)) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
