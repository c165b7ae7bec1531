package bolt

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"parley/core"
	"parley/core/turn"
	"parley/store/storetest"
)

var turns = flag.Int("turns", 100_000, "how many waiting turns the benchmarks of a large file store")

// BenchmarkUpdate commits one step an update, by 1, 64 and 256 writers on conversations of their own.
func BenchmarkUpdate(b *testing.B) {
	for _, writers := range []int{1, 64, 256} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			s := openTest(b, filepath.Join(b.TempDir(), "parley.db"), migrations)
			var next atomic.Int64
			done := make(chan error, writers)
			before := s.Stats().Commits
			b.ResetTimer()
			for w := range writers {
				go func() {
					for n := 0; ; n++ {
						if next.Add(1) > int64(b.N) {
							done <- nil
							return
						}
						err := s.Update(b.Context(), turn.Scope{Conversation: storetest.Conv(w)}, func(tx turn.Tx) error {
							return tx.Append(core.RunID(fmt.Sprint("r", w)), n, core.Step{Name: "step", Data: []byte(`{"text":"Done."}`)})
						})
						if err != nil {
							done <- err
							return
						}
					}
				}()
			}
			for range writers {
				if err := <-done; err != nil {
					b.Error(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
			b.ReportMetric(float64(b.N)/float64(max(s.Stats().Commits-before, 1)), "updates/commit")
		})
	}
}

// typical is a waiting turn as an agent makes it: one model reply, one call, one approval. Conversations
// come in no order, as chats do.
func typical(n int, at time.Time) storetest.Rows {
	r := storetest.Waiting(n, at)
	in, conv := &r.Input, storetest.Conv(n*7919%1_000_003)
	r.Conversation.ID, r.Run.Conversation, r.Run.Message.Conversation, r.Event.Conversation = conv, conv, conv, conv
	in.Conversation, in.Prompts[0].Conversation = conv, conv
	in.Questions, in.Schema, in.URL, in.Redact, in.Notes, in.Purpose = nil, nil, "", nil, nil, ""
	in.Prompts[0].Messages = in.Prompts[0].Messages[:1]
	r.Run.Message.Files, r.Run.Message.Command, r.Run.Message.ReplyTo, r.Run.Denied = nil, "", "", nil
	r.Steps[0].Data = []byte(`{"text":"I will delete it.","calls":[{"id":"call_abc","name":"db__drop","arguments":"{\"name\":\"staging\"}"}],"usage":{"input":912,"output":48}}`)
	return r
}

// large makes a file of many waiting turns, 64 to a commit, and returns how many bytes their rows have as JSON.
func large(b *testing.B, path string, n int) (bytes int64) {
	b.Helper()
	s := openTest(b, path, migrations)
	at := s.Now()
	for from := 0; from < n; from += 64 {
		err := s.update(func(btx *bbolt.Tx) error {
			for i := from; i < min(from+64, n); i++ {
				hand := &tx{s: s, btx: btx, now: at.Add(time.Duration(i) * time.Millisecond)}
				r := typical(i, hand.now)
				hand.conv = r.Run.Conversation
				if err := errors.Join(storetest.Put(hand, r), hand.MarkSeen(r.Message.ID), hand.AddEvent(r.Event)); err != nil {
					return err
				}
				for _, v := range []any{r.Conversation, r.Run, r.Steps[0], r.Steps[1], r.Call, r.Input, r.Event} {
					raw, err := encode(v)
					if err != nil {
						return err
					}
					bytes += int64(len(raw) - 1)
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return bytes
}

// ask asks what an engine asks as it starts.
func ask(ctx context.Context, s *Store) error {
	_, err := s.Claim(ctx, time.Minute)
	_, err2 := s.Overdue(ctx, 10)
	_, err3 := s.NextDeadline(ctx)
	_, _, err4 := s.Outbox(ctx, "tg", 10)
	page, _, err5 := s.Inputs(ctx, turn.InputFilter{Responder: "telegram:42"})
	err = errors.Join(err, err2, err3, err4, err5)
	if err == nil && len(page) != 50 {
		err = fmt.Errorf("a page of %d", len(page))
	}
	return err
}

// BenchmarkStart opens a file of many waiting turns and asks what an engine asks as it starts.
func BenchmarkStart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "parley.db")
	bytes := large(b, path, *turns)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(path, Options{Clock: storetest.NewClock().Now})
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(ask(b.Context(), s), s.Close()); err != nil {
			b.Fatal(err)
		}
	}
	for name, kB := range resident(b, path) {
		b.ReportMetric(kB/1000, name+"-MB")
	}
	b.ReportMetric(float64(bytes)/float64(*turns), "json-B/turn")
	b.ReportMetric(float64(info.Size())/float64(*turns), "file-B/turn")
	b.ReportMetric(float64(info.Size())/float64(bytes), "file/json")
}

// residentFile names the file that TestResident opens, in a process of its own.
const residentFile = "PARLEY_TEST_RESIDENT"

// resident opens the file in a new process that does what an engine does as it starts, and tells how much
// memory that process has: all of it, and what is not pages of files.
func resident(b *testing.B, path string) map[string]float64 {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	child := exec.CommandContext(b.Context(), self, "-test.run", "^TestResident$", "-test.v")
	child.Env = append(os.Environ(), residentFile+"="+path)
	said, err := child.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, said)
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(said)) {
		var kB float64
		for _, name := range []string{"VmRSS", "RssAnon"} {
			if n, _ := fmt.Sscanf(line, name+": %f kB", &kB); n == 1 {
				out[name] = kB
			}
		}
	}
	return out
}

// TestResident is the other process of BenchmarkStart.
func TestResident(t *testing.T) {
	path := os.Getenv(residentFile)
	if path == "" {
		t.Skip("run by BenchmarkStart")
	}
	s, err := Open(path, Options{Clock: storetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := ask(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	fmt.Printf("%s\n", status)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkPage reads a page in the middle of many waiting inputs.
func BenchmarkPage(b *testing.B) {
	path := filepath.Join(b.TempDir(), "parley.db")
	large(b, path, *turns)
	s := openTest(b, path, migrations)
	at := typical(*turns/2, s.Now().Add(time.Duration(*turns/2)*time.Millisecond)).Input
	filter := turn.InputFilter{Responder: "telegram:42", After: fmt.Sprintf("%x", []byte(position(at)))}
	for b.Loop() {
		page, _, err := s.Inputs(b.Context(), filter)
		if err != nil || len(page) != 50 {
			b.Fatal(len(page), err)
		}
	}
}
