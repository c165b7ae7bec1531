package turn_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/store/bolt"
	"parley/store/storetest"
)

// journey is a conversation with a person who answers whatever is asked, across at most one stop of the
// process at a given commit.
type journey struct {
	*world
	faulty *storetest.Faulty
	// unknown is the option chosen when asked about a call that may have run; asked counts those questions.
	unknown string
	asked   int
}

func newJourney(t *testing.T) *journey {
	j := &journey{world: newWorld(t), unknown: "3"}
	j.model = script(
		calls("looking", `db__read {}`, `log__write {"line":1}`),
		calls("", `db__drop {"n":1}`, `ask_user {"questions":[{"prompt":"Which?","options":[{"label":"a"},{"label":"b"}]}]}`),
	)
	return j
}

// begin opens the file behind a fault injector.
func (j *journey) begin(stopAt int, when storetest.When) {
	s, err := bolt.Open(j.path, bolt.Options{Clock: time.Now})
	if err != nil {
		j.t.Fatal(err)
	}
	j.store = s
	j.faulty = storetest.NewFaulty(s)
	if stopAt > 0 {
		j.faulty.StopAt(stopAt, when)
	}
	j.run(j.faulty)
}

// comeBack is the next process, without a fault.
func (j *journey) comeBack() {
	j.close()
	j.begin(0, storetest.Before)
}

func (j *journey) dead() bool {
	select {
	case <-j.faulty.Stopped():
		return true
	default:
		return false
	}
}

// tell sends a message until it is accepted, as a platform redelivers what was not acknowledged.
func (j *journey) tell(text string) {
	j.t.Helper()
	m := j.message(ana, text)
	for range 3 {
		_, err := j.e.Accept(j.t.Context(), m)
		if err == nil {
			return
		}
		if !j.dead() {
			j.t.Fatalf("accept %q: %v", text, err)
		}
		j.comeBack()
	}
	j.t.Fatalf("%q was never accepted", text)
}

// rest waits until the conversation stands still, in a process that lives.
func (j *journey) rest() {
	j.t.Helper()
	for range 3 {
		ctx, cancel := context.WithTimeout(j.t.Context(), time.Hour)
		go func() {
			select {
			case <-j.faulty.Stopped():
				cancel()
			case <-ctx.Done():
			}
		}()
		err := j.e.Idle(ctx, conv())
		cancel()
		synctest.Wait()
		if err == nil && !j.dead() {
			return
		}
		if !j.dead() {
			j.t.Fatalf("no rest: %v, shown %q", err, j.lines())
		}
		j.comeBack()
	}
	j.t.Fatal("no rest")
}

// travel goes the whole way.
func (j *journey) travel() {
	j.t.Helper()
	j.tell("go")
	for range 20 {
		j.rest()
		ins := j.waiting()
		if len(ins) == 0 {
			return
		}
		switch in := ins[0]; {
		case in.Purpose == core.PurposeUnknown:
			j.asked++
			j.tell(j.unknown)
		case in.Kind == core.KindApproval:
			j.tell("yes")
		default:
			j.tell("2")
		}
	}
	j.t.Fatal("the conversation does not end")
}

// final is what the model was told last, without times.
func (j *journey) final() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return outline(j.requests[len(j.requests)-1])
}

func (j *journey) effects() map[string]int {
	n := map[string]int{}
	for name, t := range j.tools {
		for _, c := range t.calls {
			n[name+" "+c[strings.Index(c, " ")+1:]]++
		}
	}
	return n
}

// TestStopAtEveryCommit stops the process before and after every commit of a turn with parallel calls, an
// approval and a question, and goes on in another process. Each side effect happens once; a stop between
// executing and the result asks.
func TestStopAtEveryCommit(t *testing.T) { // DU-04
	var want string
	var commits int
	synctest.Test(t, func(t *testing.T) {
		j := newJourney(t)
		defer j.close()
		j.begin(0, storetest.Before)
		j.travel()
		want, commits = j.final(), j.faulty.Commits()
	})
	if commits < 8 {
		t.Fatalf("the scenario has %d commits only", commits)
	}
	for n := 1; n <= commits; n++ {
		for _, when := range []storetest.When{storetest.Before, storetest.After} {
			for _, choice := range []string{"1", "2", "3"} {
				t.Run(fmt.Sprintf("%s_%d/%s", when, n, choice), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { stopAt(t, n, when, choice, want) })
				})
			}
		}
	}
}

func stopAt(t *testing.T, n int, when storetest.When, choice, want string) {
	j := newJourney(t)
	defer j.close()
	j.unknown = choice
	j.begin(n, when)
	j.travel()
	if !slices.Contains([]int{0, 1}, j.asked) {
		t.Errorf("asked %d times about calls that may have run", j.asked)
	}
	got := j.effects()
	for _, name := range []string{`log__write {"line":1}`, `db__drop {"n":1}`} {
		if got[name] > 1 && (j.asked == 0 || choice != "3") {
			t.Errorf("%s ran %d times unasked", name, got[name])
		}
	}
	if j.asked == 0 || choice == "3" {
		checkAll(t, got)
	}
	if j.asked == 1 && choice == "2" && j.effects()["db__read {}"] == 0 {
		t.Error("a read did not run")
	}
	if j.asked == 0 && j.final() != want {
		t.Errorf("told the model:\n%s\nwant:\n%s", j.final(), want)
	}
	report, err := j.check()
	if err != nil || report != "" {
		t.Errorf("check: %v %s", err, report)
	}
}

// checkAll: every effect happened.
func checkAll(t *testing.T, got map[string]int) {
	t.Helper()
	for _, name := range []string{`db__read {}`, `log__write {"line":1}`, `db__drop {"n":1}`} {
		if got[name] < 1 {
			t.Errorf("%s never ran: %v", name, got)
		}
	}
}

// check closes the file and walks it.
func (w *world) check() (string, error) {
	w.close()
	r, err := bolt.Check(w.path)
	if err != nil {
		return "", err
	}
	if len(r.Findings) > 0 {
		return fmt.Sprint(r.Findings), nil
	}
	return "", nil
}
