package slack

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/slack/slacktest"
	"parley/core"
)

func without(scope string) rigOption {
	return func(s *slacktest.Config, _ *Config) {
		s.Scopes = slices.DeleteFunc(slices.Clone(slacktest.AllScopes), func(x string) bool { return x == scope })
	}
}

func lines(all []channels.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s: %s: %s\n", f.Level, f.What, f.Fix)
	}
	return b.String()
}

func failures(all []channels.Finding) (n int) {
	for _, f := range all {
		if f.Level == channels.LevelFail {
			n++
		}
	}
	return n
}

func TestCheckFindsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Places = []core.Place{"C0OPS", "DANA"}
		r.a = mustNew(t, r.cfg)
		found := r.a.Check(context.Background())
		if failures(found) != 0 || !strings.Contains(lines(found), "Socket Mode is on") || !strings.Contains(lines(found), "the bot is in channel C0OPS") {
			t.Error(lines(found))
		}
		if r.srv.Sockets() != 0 || len(r.srv.Calls("chat.postMessage")) != 0 {
			t.Error("the examination did something")
		}
	})
}

// CF-05: each scope that is missing is named, with what does not work without it; at the start too.
func TestCheckNamesMissingScopes(t *testing.T) {
	t.Parallel()
	for _, s := range scopes {
		t.Run(s.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, without(s.name))
				found := lines(r.a.Check(context.Background()))
				if !strings.Contains(found, string(s.level)+": the bot lacks the scope "+s.name) {
					t.Error(found)
				}
				r.start()
				if !strings.Contains(r.log.String(), "the bot lacks the scope "+s.name) {
					t.Error(r.log.String())
				}
			})
		})
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Open("C0GONE", slacktest.Public)
		r.srv.Archive("C0GONE")
		r.srv.Leave(ops.Channel)
		r.cfg.Places = []core.Place{"C0OPS", "C0GONE", "C0NONE/1764000000.000001"}
		r.a = mustNew(t, r.cfg)
		r.srv.Fail("apps.connections.open", slacktest.Fault{Error: "link_disabled"})
		found := r.a.Check(context.Background())
		for _, want := range []string{"Socket Mode is off", "the bot is not in channel C0OPS: invite", "channel C0GONE is archived", "channel C0NONE: channel_not_found"} {
			if !strings.Contains(lines(found), want) {
				t.Errorf("not found: %s in\n%s", want, lines(found))
			}
		}
		if failures(found) != 4 {
			t.Error(lines(found))
		}
		for _, f := range found {
			if f.Level == channels.LevelFail && f.Fix == "" {
				t.Errorf("%+v says nothing to do", f)
			}
		}
		r.srv.Fail("auth.test", slacktest.Fault{Status: 500})
		if found := r.a.Check(context.Background()); failures(found) != 1 || found[0].Fix == "" {
			t.Error(lines(found))
		}
	})
}

// The manifest asks for every scope that the adapter looks for, and for the events of every kind of channel.
func TestManifest(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/slack-manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifest := string(b)
	for _, s := range scopes {
		if !strings.Contains(manifest, "- "+s.name+"\n") {
			t.Errorf("the manifest does not ask for %s", s.name)
		}
		if !slices.Contains(slacktest.AllScopes, s.name) {
			t.Errorf("the test server does not know %s", s.name)
		}
	}
	for _, s := range slacktest.AllScopes {
		if !strings.Contains(manifest, "- "+s+"\n") {
			t.Errorf("the manifest does not ask for %s", s)
		}
	}
	for _, want := range []string{
		"- app_mention\n", "- message.im\n", "- message.channels\n", "- message.groups\n", "- message.mpim\n", "socket_mode_enabled: true", "is_enabled: true",
		"messages_tab_enabled: true", "messages_tab_read_only_enabled: false", "token_rotation_enabled: false",
	} {
		if !strings.Contains(manifest, want) {
			t.Errorf("the manifest lacks %q", want)
		}
	}
}
