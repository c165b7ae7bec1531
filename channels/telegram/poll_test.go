package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram/telegramtest"
	"parley/core"
)

func TestPollHandsOverAndConfirms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		synctest.Wait()
		if err := r.a.Ready(); err != nil || !r.srv.Polling() {
			t.Errorf("a bot that nobody speaks to is not ready: %v", err)
		}
		id := r.srv.Say(ana, dm, "yes")
		synctest.Wait()
		want := core.Message{
			ID: fmt.Sprintf("42:%d", id), Conversation: "ops|tg|42", From: "telegram:42", Text: "yes",
			Order: uint64(id), SentAt: time.Now().UTC(), Addressed: true, Lang: "de",
		}
		got := r.sink.Only(t)
		if got.ID != want.ID || got.Conversation != want.Conversation || got.From != want.From || got.Text != want.Text ||
			got.Order != want.Order || !got.SentAt.Equal(want.SentAt) || !got.Addressed || got.Shared || got.Lang != "de" {
			t.Errorf("message %+v, want %+v", got, want)
		}
		if p := r.srv.Pending(); len(p) != 0 {
			t.Errorf("updates %v are not confirmed", p)
		}
		if err := r.a.Ready(); err != nil {
			t.Errorf("not ready: %v", err)
		}
		if err := r.Stop(); err != nil {
			t.Errorf("Run returned %v at the end of its context", err)
		}
		if r.a.Ready() == nil {
			t.Error("still ready after Run")
		}
	})
}

// The set of wanted updates is remembered by the server: whoever leaves it out gets that of a stranger.
func TestPollAsksForTheSameUpdatesEachTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.srv.Say(ana, dm, "hi")
		synctest.Wait()
		calls := r.srv.Calls("getUpdates")
		if len(calls) < 2 {
			t.Fatalf("%d polls", len(calls))
		}
		for i, c := range calls {
			if c.Params["allowed_updates"] != allowedUpdates {
				t.Errorf("allowed_updates %q", c.Params["allowed_updates"])
			}
			if want := []string{"0", "30"}[min(i, 1)]; c.Params["timeout"] != want {
				t.Errorf("timeout of request %d: %q, want %q", i, c.Params["timeout"], want)
			}
		}
	})
}

// A store that fails for one chat holds that chat back, in order, and nobody else; nothing is skipped.
func TestPollRetriesAFailingChatInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		var broken atomic.Bool
		broken.Store(true)
		r.sink.Refuse(func(m core.Message) error {
			if broken.Load() && m.From == "telegram:42" {
				return errors.New("disk full")
			}
			return nil
		})
		r.start()
		r.srv.Say(ana, dm, "one")
		r.srv.Say(ana, dm, "two")
		r.srv.Say(ben, bens, "hello")
		after(10 * time.Second)
		r.srv.Say(ben, bens, "again") // arrives although older updates are not confirmed
		after(10 * time.Second)
		if got := r.sink.Texts(); got != "hello|again" {
			t.Fatalf("handed over %q, want Ben's alone", got)
		}
		if n := len(r.srv.Confirmed()); n != 0 {
			t.Fatalf("%d updates confirmed past one that is not stored", n)
		}
		broken.Store(false)
		after(time.Minute)
		if got := r.sink.Texts(); got != "hello|again|one|two" {
			t.Errorf("handed over %q", got)
		}
		if p := r.srv.Pending(); len(p) != 0 {
			t.Errorf("updates %v are not confirmed", p)
		}
	})
}

// DU-15: what was handled but not confirmed before a crash comes again, under the same identity.
func TestPollCrashBetweenHandleAndConfirm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.srv.Fail("getUpdates", telegramtest.Fault{Hang: true}) // the poll after the next, which would confirm
		r.srv.Say(ana, dm, "/cancel")
		synctest.Wait()
		first := r.sink.Only(t)
		if first.Command != "cancel" || first.Text != "/cancel" {
			t.Errorf("command %q, text %q", first.Command, first.Text)
		}
		r.Stop() // dies before it could confirm
		if n := len(r.srv.Pending()); n != 1 {
			t.Fatalf("%d updates pending, want 1", n)
		}
		r.a = again(t, r)
		r.start()
		got := r.sink.Got()
		if len(got) != 2 || got[0].ID != got[1].ID || got[0].Conversation != got[1].Conversation {
			t.Fatalf("redelivered as %+v", got)
		}
		if n := len(r.srv.Pending()); n != 0 {
			t.Errorf("%d updates pending after the restart", n)
		}
	})
}

// again is a new process: an adapter that remembers nothing.
func again(t *testing.T, r *rig) *Adapter {
	return mustNew(t, Config{
		Name: "tg", Agent: "ops", APIURL: "http://api.test", Token: r.srv.Token(), Log: r.a.log,
		Client: &http.Client{Transport: telegramtest.Through(r.srv)}, Webhook: r.a.webhook, PublicURL: "https://bot.test",
	})
}

// DU-13, DU-14: what was said while nobody listened arrives after the start with its own time and order, so
// that an answer older than its prompt can be told from one that is not. Nothing is dropped at the start.
func TestPollBacklog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		said := time.Now()
		id := r.srv.Say(ana, dm, "yes")
		after(2 * time.Minute)
		r.start()
		got := r.sink.Only(t)
		if !got.SentAt.Equal(said) || got.Order != uint64(id) {
			t.Errorf("sent at %v order %d, want %v %d", got.SentAt, got.Order, said, id)
		}
		for _, c := range append(r.srv.Calls("deleteWebhook"), r.srv.Calls("setWebhook")...) {
			if c.Params["drop_pending_updates"] != "false" {
				t.Errorf("%s drops pending updates", c.Method)
			}
		}
		sent := r.send(dm, part("Delete staging?"))
		if sent.Order <= got.Order {
			t.Errorf("the prompt's order %d is not after the older message's %d", sent.Order, got.Order)
		}
	})
}

// One update that cannot be read is logged by its id and never blocks the rest.
func TestPollSkipsWhatItCannotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		bad := r.srv.RawUpdate(`{"update_id":%d,"message":{"message_id":"seven","chat":[]}}`)
		r.srv.RawUpdate(`{"update_id":"%d"}`)
		r.srv.Say(ana, dm, "after it")
		synctest.Wait()
		if got := r.sink.Texts(); got != "after it" {
			t.Errorf("handed over %q", got)
		}
		if p := r.srv.Pending(); len(p) != 0 {
			t.Errorf("updates %v are not confirmed", p)
		}
		if !strings.Contains(r.log.String(), fmt.Sprintf("update=%d", bad)) {
			t.Error("the log does not name the update")
		}
	})
}

// TR-04: somebody else polls for 30 s; then it works again by itself.
func TestPollConflict(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Fail("getUpdates", telegramtest.Fault{Status: 409, Times: 5,
			Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"})
		began := time.Now()
		r.start()
		r.srv.Say(ana, dm, "yes")
		after(30 * time.Second)
		if got := r.sink.Texts(); got != "yes" {
			t.Fatalf("handed over %q after %v", got, time.Since(began))
		}
		if n := strings.Count(r.log.String(), "second instance"); n != 1 {
			t.Errorf("said %d times that a second instance may be running", n)
		}
		if r.a.Ready() != nil {
			t.Error("not ready")
		}
		calls := r.srv.Calls("getUpdates")
		if gap := calls[4].At.Sub(calls[3].At); gap < 4*time.Second {
			t.Errorf("the fifth try came %v after the fourth: no back-off", gap)
		}
	})
}

// Two instances: each ends the poll of the other, and both live on; what is said arrives.
func TestPollTwoInstances(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		ctx, cancel := context.WithCancel(context.Background())
		other := again(t, r)
		ended := make(chan error, 1)
		go func() { ended <- other.Run(ctx, r.sink) }()
		after(time.Minute)
		if !strings.Contains(r.log.String(), "second instance") {
			t.Error("no warning")
		}
		cancel()
		<-ended
		after(time.Minute)
		r.srv.Say(ana, dm, "yes")
		synctest.Wait()
		if got := r.sink.Texts(); got != "yes" {
			t.Errorf("handed over %q", got)
		}
	})
}

func TestPollBadToken(t *testing.T) {
	for _, f := range []telegramtest.Fault{{Status: 401, Description: "Unauthorized"}, {Status: 404, Description: "Not Found"}} {
		for _, method := range []string{"getMe", "getUpdates"} {
			t.Run(fmt.Sprint(method, f.Status), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t)
					r.srv.Fail(method, f)
					r.start()
					var p *channels.Permanent
					if err := r.Result(); !errors.As(err, &p) || p.Channel != "tg" || !strings.Contains(p.Hint, "botToken") {
						t.Errorf("Run returned %v", err)
					}
				})
			})
		}
	}
}

// Rate limits are honoured to the second; broken networks and servers are waited out.
func TestPollFailures(t *testing.T) {
	tests := []struct {
		name  string
		fault telegramtest.Fault
		least time.Duration
	}{
		{"rate limit", telegramtest.Fault{Status: 429, RetryAfter: 17}, 17 * time.Second},
		{"rate limit of a proxy", telegramtest.Fault{Status: 429, RetryAfter: 9, Body: "<html>slow down</html>"}, 9 * time.Second},
		{"server error", telegramtest.Fault{Status: 502, Body: "<html>bad gateway</html>"}, channels.FirstPause / 2},
		{"broken connection", telegramtest.Fault{Reset: true}, channels.FirstPause / 2},
		{"answer of another kind", telegramtest.Fault{Status: 200, Body: "<html>welcome</html>"}, channels.FirstPause / 2},
		{"hang", telegramtest.Fault{Hang: true}, 30 * time.Second},
	}
	for _, method := range []string{"getMe", "getUpdates"} {
		for _, tt := range tests {
			t.Run(method+" "+tt.name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t)
					r.srv.Fail(method, tt.fault)
					began := time.Now()
					r.start()
					r.srv.Say(ana, dm, "yes")
					after(2 * time.Minute)
					if got := r.sink.Texts(); got != "yes" {
						t.Fatalf("handed over %q", got)
					}
					calls := r.srv.Calls(method)
					if gap := calls[1].At.Sub(calls[0].At); gap < tt.least || time.Since(began) < tt.least {
						t.Errorf("tried again after %v, want at least %v", gap, tt.least)
					}
				})
			})
		}
	}
}

// A server that knows getMe, getUpdates and sendMessage alone is enough.
func TestPollNeedsLittle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		for _, method := range []string{"getWebhookInfo", "setMyCommands"} {
			r.srv.Fail(method, telegramtest.Fault{Status: 404, Description: "Not Found: method not found"})
		}
		r.start()
		r.srv.Say(ana, dm, "yes")
		synctest.Wait()
		if got := r.sink.Texts(); got != "yes" {
			t.Errorf("handed over %q", got)
		}
	})
}

// A webhook that could not be seen at the start is found by the first poll.
func TestPollRemovesAWebhookLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, byWebhook)
		r.start()
		r.Stop()
		r.srv.Say(ana, dm, "meanwhile")
		r.a.webhook = false
		r.srv.Fail("getWebhookInfo", telegramtest.Fault{Status: 502})
		r.start()
		after(10 * time.Second)
		if got := r.sink.Texts(); got != "meanwhile" {
			t.Errorf("handed over %q", got)
		}
	})
}

// After a quiet week ids go on anywhere, also below.
func TestPollIDsJump(t *testing.T) {
	for _, next := range []int64{7, 1 << 40} {
		t.Run(fmt.Sprint(next), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				r.start()
				r.srv.Say(ana, dm, "before")
				after(time.Minute)
				r.srv.Jump(next)
				r.srv.Say(ana, dm, "after")
				r.srv.Say(ana, dm, "and on")
				after(time.Minute)
				if got := r.sink.Texts(); got != "before|after|and on" {
					t.Errorf("handed over %q", got)
				}
				if p := r.srv.Pending(); len(p) != 0 {
					t.Errorf("updates %v are not confirmed", p)
				}
			})
		})
	}
}

// A webhook that was left set is taken away, and what waited there arrives.
func TestPollRemovesAWebhook(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(_ *telegramtest.Config, c *Config) { c.Webhook = true })
		r.start()
		r.Stop()
		r.srv.Say(ana, dm, "meanwhile")
		r.a.webhook = false
		r.start()
		after(time.Second)
		if got := r.sink.Texts(); got != "meanwhile" {
			t.Errorf("handed over %q", got)
		}
		if log := r.log.String(); !strings.Contains(log, "removed a webhook") || strings.Contains(log, "/channels/tg") {
			t.Error("the log must tell of the webhook, by its host alone")
		}
	})
}

// The end of the context ends Run at once, in a long poll, a pause or a sink that hangs on its context.
func TestRunEndsPromptly(t *testing.T) {
	states := map[string]func(*rig){
		"long poll": func(r *rig) { r.start() },
		"pause": func(r *rig) {
			r.srv.Fail("getMe", telegramtest.Fault{Status: 429, RetryAfter: 3600})
			r.start()
		},
		"hanging call": func(r *rig) {
			r.srv.Fail("getMe", telegramtest.Fault{Hang: true})
			r.start()
		},
		"failing store": func(r *rig) {
			r.sink.Refuse(func(core.Message) error { return errors.New("no") })
			r.start()
			r.srv.Say(ana, dm, "hi")
			after(20 * time.Second)
		},
	}
	for name, prepare := range states {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t)
				prepare(r)
				began := time.Now()
				if err := r.Stop(); err != nil {
					t.Errorf("Run returned %v", err)
				}
				if d := time.Since(began); d > 0 {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}

// Messages of one chat never overtake one another, however they are batched.
func TestPollKeepsOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		var want []string
		for i := range 250 {
			s := fmt.Sprint(i)
			want = append(want, s)
			r.srv.Say(ana, dm, s)
		}
		r.start()
		after(time.Second)
		if got := strings.Split(r.sink.Texts(), "|"); !slices.Equal(got, want) {
			t.Errorf("handed over %v", got)
		}
	})
}

// CF-01: privacy mode is named at the start, with the cure; without it there is nothing to say.
func TestWarnsOfPrivacyMode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		if log := r.log.String(); !strings.Contains(log, "privacy mode") || !strings.Contains(log, "/setprivacy") {
			t.Errorf("no warning in %s", log)
		}
		free := newRig(t, hearsAll)
		free.start()
		if strings.Contains(free.log.String(), "privacy mode") {
			t.Error("a warning without a reason")
		}
	})
}
