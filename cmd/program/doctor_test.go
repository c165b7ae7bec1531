package program

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/core/tool/oauth"
	"parley/store/bolt"
)

// What the doctor says of an MCP server that it could not ask.
func TestDoctorOnServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		want   string
		failed bool
	}{
		{nil, "ok    s: works\n", false},
		{fmt.Errorf("connect: %w", oauth.ErrFrozen), "ok    s: logged in; the token has run out", false},
		{fmt.Errorf("connect: %w", bolt.ErrLocked), "ok    s: parley runs with this store", false},
		{fmt.Errorf("connect: %w", &oauth.LoginError{Why: "nobody has logged in", Hint: "run parley login"}), "fail  s: not connected: nobody has logged in\n      do: run parley login", true},
		{errors.New("refused"), "fail  s: refused\n      do: check url or command", true},
	} {
		var out bytes.Buffer
		r := &report{out: &out}
		r.server("s", c.err)
		if !strings.HasPrefix(out.String(), c.want) || strings.Contains(out.String(), "connect:") || r.failed != c.failed {
			t.Errorf("%v: %q, failed %t, want %q", c.err, out.String(), r.failed, c.want)
		}
	}
}
