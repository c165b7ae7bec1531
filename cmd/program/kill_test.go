package program

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const deleteIt = "delete the staging database"

// TestKilledAfterTheQuestion is the whole promise in the terminal: with the standard input held open the
// program is killed once the question stands there, and another process reads the answer.
func TestKilledAfterTheQuestion(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		answer string
		say    string // what the agent says then
		drops  int
	}{
		{"yes runs it once", "yes", "Done: the database staging is gone.", 1},
		{"no runs nothing", "no", "I did not delete it", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := filepath.Join(t.TempDir(), "demo.db")
			p := start(t, "demo", "--store", store)
			p.say(deleteIt)
			p.until("ask:", "")
			p.kill()
			wantDrops(t, store, 0, p.story())

			p = start(t, "demo", "--store", store)
			p.until("ask:", "Run db__drop?")
			p.say(c.answer)
			p.until("say:", c.say)
			p.say("yes") // there is nothing left to say yes to
			p.until("say:", "Nothing is waiting")
			p.kill()
			wantDrops(t, store, c.drops, p.story())
		})
	}
}

// TestANewMessageClosesTheQuestion: after the restart something else is said; the call closes unanswered,
// the message is handled, and a later yes runs nothing.
func TestANewMessageClosesTheQuestion(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "demo.db")
	p := start(t, "demo", "--store", store)
	p.say(deleteIt)
	p.until("ask:", "Run db__drop?")
	p.kill()

	p = start(t, "demo", "--store", store)
	p.until("ask:", "Run db__drop?")
	p.say("what does it do?")
	p.until("note:", "a new message")
	p.until("say:", "runs only after you said yes")
	p.kill()

	p = start(t, "demo", "--store", store)
	p.say("yes")
	p.until("say:", "Nothing is waiting")
	if code := p.end(); code != exitDone {
		t.Errorf("exit code %d\n%s", code, p.story())
	}
	wantDrops(t, store, 0, p.story())
}

// TestKilledAgainAndAgain is killed after something near to an answer, and then each time the question
// stands there again: it waits on, and the call runs once in the end.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "demo.db")
	p := start(t, "demo", "--store", store)
	p.say(deleteIt)
	p.until("ask:", "Run db__drop?")
	p.say("ok")
	p.until("note:", "not clear enough")
	p.kill()
	for range 3 {
		p = start(t, "demo", "--store", store)
		p.until("ask:", "Run db__drop?")
		p.kill()
	}
	p = start(t, "demo", "--store", store)
	p.until("ask:", "Run db__drop?")
	p.say("Yes, please.")
	p.until("say:", "Done")
	if code := p.end(); code != exitDone {
		t.Errorf("exit code %d\n%s", code, p.story())
	}
	wantDrops(t, store, 1, p.story())
}

// TestPipesThatEnd is the same with inputs that end: each process ends by itself, with code 0.
func TestPipesThatEnd(t *testing.T) {
	t.Parallel()
	for answer, drops := range map[string]int{"yes": 1, "no": 0, "what does it do?\nyes": 0} {
		store := filepath.Join(t.TempDir(), "demo.db")
		for _, text := range []string{deleteIt, answer, "yes"} {
			code, out, errs := runIn([]string{"demo", "--store", store}, text)
			if code != exitDone {
				t.Errorf("%q: exit code %d: %s", text, code, errs)
			}
			for line := range strings.Lines(out) {
				prefix, _, _ := strings.Cut(line, ":")
				if !strings.Contains(" say ask note you ", " "+prefix+" ") {
					t.Errorf("%q: line %q without a prefix", text, line)
				}
			}
		}
		wantDrops(t, store, drops, answer)
	}
}

// TestStopsOnASignal ends gracefully with the question in place.
func TestStopsOnASignal(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "demo.db")
	p := start(t, "demo", "--store", store)
	p.say(deleteIt)
	p.until("ask:", "Run db__drop?")
	if code := p.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d\n%s", code, p.story())
	}
	p = start(t, "demo", "--store", store)
	p.until("ask:", "Run db__drop?")
	p.say("approve")
	p.until("say:", "Done")
	p.kill()
	wantDrops(t, store, 1, p.story())
}

// TestTheFileHasOneHolder (DU-16, CF-06): a second program on the file ends at once and says who holds it,
// also by another name of the same file.
func TestTheFileHasOneHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, link := filepath.Join(dir, "demo.db"), filepath.Join(dir, "link.db")
	must(t, os.Symlink(store, link))
	p := start(t, "demo", "--store", store)
	p.say("hello")
	p.until("say:", "Hello")
	for _, name := range []string{store, link} {
		code, _, errs := runIn([]string{"demo", "--store", name}, "hello")
		if code != exitFailed || !strings.Contains(errs, name) || !strings.Contains(errs, "holds its lock") || !strings.Contains(errs, "hint: one program at a time") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
	p.kill()
}

// TestExpires (EX-02, EX-03, EX-07): nobody answers in time; the program is not even running then. The next
// start says so by itself, and a late yes runs nothing.
func TestExpires(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, store := filepath.Join(dir, "config.json"), filepath.Join(dir, "p.db")
	must(t, os.WriteFile(config, []byte(`{
	  "store": {"path": "p.db"},
	  "models": {"m": {"provider": "scripted"}},
	  "agents": {"ops": {"model": "m", "builtins": ["demo"], "humanInput": {"expiresInSeconds": 1}}}
	}`), 0o600))
	args := []string{"chat", "--config", config, "--agent", "ops", "--as", "local:ana"}
	p := start(t, args...)
	p.say(deleteIt)
	p.until("ask:", "Run db__drop?")
	p.kill()
	p = start(t, args...)
	p.until("note:", "in time")
	p.say("yes")
	code, story := p.end(), p.story()
	// Told how it ended, or an ordinary message where its closing was on record as shown by then.
	if code != exitDone || !strings.Contains(story, "Already closed") && !strings.Contains(story, "Nothing is waiting") {
		t.Errorf("exit code %d\n%s", code, story)
	}
	wantDrops(t, store, 0, story)
}

// TestKilledAtEveryLine kills the program after each of its lines in turn, from the one that says that a
// message was read: that message is never lost, nothing is asked for again by hand, and the call runs once.
func TestKilledAtEveryLine(t *testing.T) {
	t.Parallel()
	for n := range 13 {
		store := filepath.Join(t.TempDir(), "demo.db")
		p := start(t, "demo", "--store", store)
		p.say(deleteIt)
		p.until("you:", deleteIt)
		for range n {
			p.until("", "")
		}
		p.kill()

		p = start(t, "demo", "--store", store)
		p.until("ask:", "Run db__drop?")
		p.say("yes")
		p.until("you:", "yes")
		p.kill()

		p = start(t, "demo", "--store", store)
		p.say("hello")
		p.until("you:", "hello")
		if code := p.end(); code != exitDone {
			t.Errorf("exit code %d\n%s", code, p.story())
		}
		unknown := strings.Contains(p.story(), "may or may not have run")
		if ran := len(effectLines(t, store)); ran > 1 || ran == 0 && !unknown {
			t.Errorf("killed after line %d: it ran %d times\n%s", n, ran, p.story())
		}
		if code, out, errs := runIn([]string{"store", "check", store}, ""); code != exitDone {
			t.Errorf("killed after line %d: %s%s", n, out, errs)
		}
	}
}
