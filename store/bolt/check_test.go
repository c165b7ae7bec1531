package bolt

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"parley/core"
	"parley/core/turn"
	"parley/store/storetest"
)

// whole fills a store with one row and index entry of every kind: turn 1 waits, turn 2 has ended.
func whole(t *testing.T, s *Store) (waiting, ended storetest.Rows) {
	t.Helper()
	waiting, ended = storetest.Waiting(1, s.Now()), storetest.Sample(2)
	for _, r := range []storetest.Rows{waiting, ended} {
		err := s.Update(t.Context(), turn.Scope{Conversation: r.Run.Conversation}, func(tx turn.Tx) error {
			_, err := tx.Enqueue(r.Message)
			_, err2 := tx.AddOut(core.Out{Run: r.Run.ID, Input: r.Input.ID, CreatedAt: tx.Now()})
			_, err3 := tx.AddOut(core.Out{Run: r.Run.ID, CreatedAt: tx.Now()})
			return errors.Join(storetest.Put(tx, r), err, err2, err3, tx.MarkSeen("m"), tx.AddEvent(r.Event), tx.WakeAt(tx.Now()))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if c, err := s.Claim(t.Context(), 1); c == nil || err != nil {
		t.Fatal(c, err)
	}
	return waiting, ended
}

// byHand is a change that no closure can make, and how the finding about it begins.
type byHand struct {
	damage func(*tx) error
	want   string
}

func row(b *bucket, k []byte, v any) func(*tx) error {
	return func(t *tx) error {
		raw, err := encode(v)
		return errors.Join(err, t.put(b, k, raw))
	}
}

func gone(b *bucket, k []byte) func(*tx) error { return func(t *tx) error { return t.del(b, k) } }

func stray(b *bucket, k, v []byte) func(*tx) error {
	return func(t *tx) error { return t.put(b, k, v) }
}

func first(b *bucket) func(*tx) error {
	return func(t *tx) error {
		k, _ := t.at(b).Cursor().First()
		return t.del(b, k)
	}
}

func id(s string) key { return key(nil).id(s) }

// brokenRules are rows that say what must not be.
func brokenRules(waiting, ended storetest.Rows) map[string]byHand {
	conv, run, call, in := waiting.Conversation, waiting.Run, ended.Call, waiting.Input
	in2, accepted := ended.Input, ended.Input
	noOpen, endedRun, noResult, by := conv, run, call, *accepted.Settled
	noOpen.Open = ""
	endedRun.Status = core.RunCompleted
	noResult.Result = nil
	in2.Settled = nil
	by.By = ""
	accepted.Settled = &by
	orphan, parent, childWaits := run, run, ended.Run
	orphan.Parent, parent.Children, childWaits.Children = "r0", []core.RunID{"r0"}, []core.RunID{run.ID}
	lost := run
	lost.Conversation = "no|such|place"
	again := core.Step{Name: waiting.Steps[0].Name}
	return map[string]byHand{
		"open run unknown to its conversation": {row(bConversation, id(string(conv.ID)), noOpen), "I1: run"},
		"open run that has ended":              {row(bRun, id(string(run.ID)), endedRun), "I1: conversation"},
		"ended run with a pending input":       {row(bRun, id(string(run.ID)), endedRun), "I2: run"},
		"waiting run without an input":         {gone(bInputRun, key(nil).str(string(run.ID)).seq(1)), "I2: run"},
		"settled input without an ending":      {row(bInput, id(string(in2.ID)), in2), "I3: input"},
		"accepted by nobody":                   {row(bInput, id(string(in2.ID)), accepted), "I6: input"},
		"call of an ended run without result":  {row(bCall, callKey(call.Run, call.ID), noResult), "I4: call"},
		"journal with a hole":                  {gone(bJournal, key(nil).str(string(run.ID)).seq(0)), "I7: run"},
		"step name twice":                      {row(bJournal, key(nil).str(string(run.ID)).seq(2), again), "I7: run"},
		"steps of no run":                      {row(bJournal, key(nil).str("r0").seq(0), core.Step{}), "reference: journal"},
		"child of no run":                      {row(bRun, id(string(run.ID)), orphan), "reference: run"},
		"child gone":                           {row(bRun, id(string(run.ID)), parent), "reference: run"},
		"ended run whose child waits":          {row(bRun, id(string(childWaits.ID)), childWaits), "I2: run"},
		"open run gone":                        {gone(bRun, id(string(run.ID))), "reference: conversation"},
		"call of no run":                       {gone(bRun, id(string(call.Run))), "reference: call"},
		"input of no call":                     {gone(bCall, callKey(in.Run, in.Call)), "reference: input"},
		"approval of no input":                 {gone(bInput, id(string(in2.ID))), "reference: call"},
		"conversation gone":                    {gone(bConversation, id(string(conv.ID))), "reference: queue"},
		"unsent row of no conversation":        {gone(bConversation, id(string(conv.ID))), "reference: out"},
		"unsent row of no run":                 {gone(bRun, id(string(run.ID))), "reference: out"},
		"event of no run":                      {gone(bRun, id(string(run.ID))), "reference: event"},
		"run of no conversation":               {row(bRun, id(string(run.ID)), lost), "reference: run"},
	}
}

// brokenFiles are rows that cannot be read and indexes out of step.
func brokenFiles(waiting, ended storetest.Rows) map[string]byHand {
	run, in := waiting.Run, waiting.Input
	place := func(b *bucket) []byte {
		for _, e := range inputEntries(in) {
			if e.b == b {
				return e.k
			}
		}
		return nil
	}
	return map[string]byHand{
		"row under another key":            {row(bRun, id("r9"), run), "row: run"},
		"row cut short":                    {stray(bCall, callKey("r", "c"), []byte("\x01{")), "row: call"},
		"row of a later version":           {stray(bOut, key(nil).str("c").seq(1), []byte("\x02{}")), "row: out"},
		"missing from the list by state":   {gone(bInputState, place(bInputState)), "index: input"},
		"missing from the list by person":  {gone(bInputWho, place(bInputWho)), "index: input"},
		"missing from the deadlines":       {gone(bInputDue, place(bInputDue)), "index: input"},
		"missing from its run":             {gone(bInputRun, key(nil).str(string(in.Run)).seq(1)), "index: input"},
		"missing prompt":                   {gone(bPrompt, place(bPrompt)), "index: input"},
		"missing from the ended":           {gone(bEnded, runEntries(ended.Run)[0].k), "index: run"},
		"missing from the due":             {first(bDue), "index: claim"},
		"missing head of an outbox":        {first(bOutHead), "index: out"},
		"missing age of a seen key":        {first(bSeenAge), "index: seen"},
		"missing from its run's log":       {first(bEventRun), "index: event"},
		"stray entry by agent":             {stray(bInputAgent, key(nil).str("ops").raw([]byte("p")).nano(5).id("i7"), nil), "index: input.agent"},
		"entry of a settled input":         {stray(bInputDue, key(nil).time(ended.Input.ExpiresAt).id(string(ended.Input.ID)), nil), "index: input.due"},
		"entry with another value":         {stray(bPrompt, place(bPrompt), []byte("i7")), "index: prompt"},
		"stray key of another form":        {stray(bHeld, []byte("x"), nil), "index: held"},
		"input twice in its run":           {stray(bInputRun, key(nil).str(string(in.Run)).seq(2), id(string(in.ID))), "index: input"},
		"input in the list of another run": {stray(bInputRun, key(nil).str("r0").seq(1), id(string(in.ID))), "index: input.run"},
		"number that will be given twice": {func(t *tx) error {
			return t.at(bQueue).SetSequence(0)
		}, "index: queue"},
		"bucket gone": {func(t *tx) error { return t.btx.DeleteBucket(bInputWho.name) }, `file: bucket "input.who" is gone`},
	}
}

func TestCheckFindsEachDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	s := openTest(t, good, migrations)
	waiting, ended := whole(t, s)
	if report, err := s.Check(t.Context()); err != nil || !report.OK() {
		t.Fatalf("a whole store: %v\n%v", err, report)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Check(good); err != nil || !report.OK() || !strings.HasPrefix(report.String(), "ok: ") {
		t.Fatalf("a whole file: %v\n%v", err, report)
	}
	all := brokenRules(waiting, ended)
	maps.Copy(all, brokenFiles(waiting, ended))
	for what, c := range all {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			bad := filepath.Join(t.TempDir(), "bad.db")
			if err := Backup(good, bad); err != nil {
				t.Fatal(err)
			}
			damageFile(t, bad, c.damage)
			report, err := Check(bad)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				if strings.HasPrefix(f.String(), c.want) {
					return
				}
			}
			t.Errorf("want a finding %q in:\n%v", c.want, report)
		})
	}
}

func damageFile(t *testing.T, path string, damage func(*tx) error) {
	t.Helper()
	s, err := Open(path, Options{Clock: storetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	err = s.db.Update(func(btx *bbolt.Tx) error { return damage(&tx{s: s, btx: btx}) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	s := openTest(t, filepath.Join(t.TempDir(), "parley.db"), migrations)
	err := s.db.Update(func(btx *bbolt.Tx) error {
		hand := &tx{s: s, btx: btx}
		for i := range uint64(maxFindings + 7) {
			if err := hand.put(bHeld, key(nil).seq(i), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Check(context.Background())
	if err != nil || len(report.Findings) != maxFindings || report.More != 7 || !strings.Contains(report.String(), "and 7 more") {
		t.Errorf("%d findings and %d more, %v", len(report.Findings), report.More, err)
	}
}
