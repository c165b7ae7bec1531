package program

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var hashLine = regexp.MustCompile(`(?m)^(\S+)  approval .*\n(?:.*\n)*?    hash (\S+)$`)

// TestAnEditedCallIsAnsweredWithItsHash: edited in the terminal's chat, it is approved neither without the hash
// that the inbox shows nor with that of before, in the file and by the server.
func TestAnEditedCallIsAnsweredWithItsHash(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if code := s.serve.end(syscall.SIGTERM); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, s.serve.story())
	}
	chat := func(say string) {
		t.Helper()
		p := start(t, "chat", "--config", s.config, "--agent", "ops", "--as", "local:alice")
		if say != deleteIt {
			p.until("ask:", "Run db__drop?")
		}
		p.say(say)
		p.until("ask:", "Run db__drop?")
		p.kill()
	}
	file := []string{"--config", s.config, "--as", "local:alice"}
	shown := func() (id, hash string) {
		t.Helper()
		m := hashLine.FindStringSubmatch(s.desk(exitDone, append([]string{"inbox"}, file...)...))
		if m == nil {
			t.Fatal("the inbox shows no hash")
		}
		return m[1], m[2]
	}
	chat(deleteIt)
	id, before := shown()
	chat("edit name=production")
	again, now := shown()
	if again != id || now == before {
		t.Fatalf("%s %s became %s %s", id, before, again, now)
	}
	refused := func(where []string) {
		t.Helper()
		for _, more := range [][]string{nil, {"--hash", before}} {
			out := s.desk(exitFailed, append(append([]string{"answer", id, "yes"}, more...), where...)...)
			if !strings.Contains(out, "changed since it was shown") || !strings.Contains(out, lookAgain) {
				t.Errorf("%q %q: %s", where, more, out)
			}
		}
	}
	refused(file)
	s.start()
	server := []string{"--server", "http://" + s.address}
	refused(server)
	wantDrops(t, s.store, 0, "")
	if out := s.desk(exitDone, append([]string{"answer", id, "yes", "--hash", now}, server...)...); !strings.Contains(out, "accepted by local:alice") {
		t.Errorf("answer: %s", out)
	}
}
