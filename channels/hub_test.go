package channels_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/core"
	"parley/core/turn"
	"parley/render"
)

func TestMessageIsAcceptedInOrderAndOnlyThenAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		gate := make(chan struct{})
		s.turns.OnAccept = func(_ context.Context, m core.Message) (turn.Accepted, error) {
			if m.Conversation == home {
				<-gate
			}
			return turn.Accepted{Did: core.DoStart}, nil
		}
		var acked atomic.Int32
		for i := range 40 {
			go func() {
				if _, err := s.Say(t.Context(), message(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
				acked.Add(1)
			}()
			synctest.Wait()
		}
		other := message("elsewhere")
		other.Conversation = core.NewConversation("ops", "chat", "other")
		if _, err := s.Say(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if n := acked.Load(); n != 0 {
			t.Fatalf("%d messages were acknowledged before they were stored", n)
		}
		close(gate)
		synctest.Wait()
		got := s.turns.Accepted()
		if len(got) != 41 || got[0].Text != "elsewhere" {
			t.Fatalf("accepted %d, first %q: a slow conversation held up another", len(got), got[0].Text)
		}
		for i, m := range got[1:] {
			if m.Text != fmt.Sprint(i) {
				t.Errorf("message %d is %q", i, m.Text)
			}
		}
	})
}

func TestMessageOfAnotherChannelIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		m := message("hello")
		m.Conversation = core.NewConversation("ops", "work", "room")
		if _, err := s.Say(t.Context(), m); err == nil || len(s.turns.Accepted()) != 0 {
			t.Errorf("error %v, accepted %d", err, len(s.turns.Accepted()))
		}
	})
}

func TestStoreFailure(t *testing.T) {
	t.Parallel()
	damaged := fmt.Errorf("conversation room: %w", turn.ErrDamaged)
	for _, c := range []struct {
		name      string
		oneChance bool
		err       error
		told      bool
		acked     bool
	}{
		{"handed in again", false, errStore, false, false},
		{"one chance", true, errStore, true, false},
		{"damaged: others are not held up", false, damaged, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{}, func(_ *channels.Channel, _ *channels.Config, s *stand) { s.OneChance = c.oneChance })
				s.turns.OnAccept = func(context.Context, core.Message) (turn.Accepted, error) { return turn.Accepted{}, c.err }
				_, err := s.Say(t.Context(), message("yes"))
				if acked := err == nil; acked != c.acked {
					t.Errorf("the adapter got %v", err)
				}
				synctest.Wait()
				told := s.Shown("room")
				if got := len(told) == 1 && told[0].Voice == channels.VoiceNote; got != c.told {
					t.Errorf("told %q", texts(told))
				}
			})
		})
	}
}

// What stands behind a message that will come again must not overtake it; where it will not come again, the
// others go on.
func TestMessagesBehindOneThatWasNotStored(t *testing.T) {
	t.Parallel()
	for _, oneChance := range []bool{false, true} {
		t.Run(fmt.Sprintf("oneChance=%v", oneChance), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{}, func(_ *channels.Channel, _ *channels.Config, s *stand) { s.OneChance = oneChance })
				gate := make(chan struct{})
				s.turns.OnAccept = func(_ context.Context, m core.Message) (turn.Accepted, error) {
					if m.Text == "first" {
						<-gate
						return turn.Accepted{}, errStore
					}
					return turn.Accepted{Did: core.DoStart}, nil
				}
				errs := make(chan error, 3)
				for _, text := range []string{"first", "second", "third"} {
					go func() { _, err := s.Say(t.Context(), message(text)); errs <- err }()
					synctest.Wait()
				}
				close(gate)
				failed := 0
				for range 3 {
					if <-errs != nil {
						failed++
					}
				}
				if want := map[bool]int{false: 3, true: 1}[oneChance]; failed != want {
					t.Errorf("%d of 3 failed, want %d", failed, want)
				}
			})
		})
	}
}

func TestStrangerIsRefusedAndToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, func(c *channels.Channel, _ *channels.Config, _ *stand) {
			c.Access = channels.Access{Allow: []core.PersonID{"p:1"}}
		})
		for range 3 {
			m := message("yes")
			m.From = "p:2"
			if _, err := s.Say(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		overheard := message("chatter")
		overheard.From, overheard.Shared, overheard.Addressed = "p:3", true, false
		if _, err := s.Say(t.Context(), overheard); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		told := texts(s.Shown("room"))
		if len(told) != 1 || !strings.Contains(told[0], "p:2") {
			t.Errorf("told %q", told)
		}
		if got := s.turns.Accepted(); len(got) != 0 {
			t.Errorf("accepted %v", got)
		}
		out, err := s.Sink().Press(t.Context(), channels.Press{Input: "i", Reply: "yes", From: "p:2", Conversation: home})
		if err != nil || !strings.Contains(out.Line, "p:2") {
			t.Errorf("press: %q, %v", out.Line, err)
		}
	})
}

func TestRateLimitDelaysAndSparesAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, func(c *channels.Channel, _ *channels.Config, _ *stand) { c.PerSenderPerMinute = 2 })
		s.turns.OnAccept = func(_ context.Context, m core.Message) (turn.Accepted, error) {
			if m.Text == "yes" {
				return turn.Accepted{Did: core.DoAnswer}, nil
			}
			return turn.Accepted{Did: core.DoStart, Duplicate: m.Text == "twice"}, nil
		}
		for _, text := range []string{"yes", "yes", "yes", "twice", "a", "b", "c"} {
			if _, err := s.Say(t.Context(), message(text)); err != nil {
				t.Fatal(err)
			}
		}
		var late []string
		for _, m := range s.turns.Accepted() {
			if !m.NotBefore.IsZero() {
				late = append(late, m.Text+" "+time.Until(m.NotBefore).String())
			}
		}
		if want := []string{"c 30s"}; !slices.Equal(late, want) {
			t.Errorf("delayed %q, want %q", late, want)
		}
	})
}

func TestPress(t *testing.T) {
	t.Parallel()
	ended := core.Input{ID: "i1", State: core.InputAccepted, Settled: &core.Settled{By: "p:9"}}
	for _, c := range []struct {
		name    string
		err     error
		line    bool
		failing bool
	}{
		{"settled", nil, false, false},
		{"ended before", core.ErrConflict(ended), true, false},
		{"the set moved on", core.ErrConflict(*pending()), true, false},
		{"not allowed", core.ErrForbidden(ended, "p:1"), true, false},
		{"unknown", core.ErrNoInput("i1"), true, false},
		{"not stored", errStore, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, render.Dialect{}, nil)
				var asked turn.Settlement
				s.turns.OnSettle = func(_ context.Context, st turn.Settlement) (core.Input, error) {
					asked = st
					return ended, c.err
				}
				press := channels.Press{Input: "i1", Reply: "2", Step: 3, From: "p:1", Conversation: home}
				out, err := s.Sink().Press(t.Context(), press)
				if (out.Line != "") != c.line || (err != nil) != c.failing {
					t.Errorf("line %q, error %v", out.Line, err)
				}
				if want := (turn.Settlement{Input: "i1", From: "p:1", Via: "button", Typed: "2", Step: 3}); !equalSettlement(asked, want) {
					t.Errorf("settled %+v", asked)
				}
			})
		})
	}
}

func equalSettlement(a, b turn.Settlement) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestSupervisorStartsAgainWithBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, render.Dialect{}, nil)
		synctest.Wait()
		for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			s.Crash(errors.New("connection lost"))
			synctest.Wait()
			if st := s.hub.States()[0]; st.Status != channels.Retrying || st.Err == nil || s.hub.Ready() == nil {
				t.Fatalf("state %+v", st)
			}
			at := time.Now()
			for s.Runs() < i+2 {
				pass(100 * time.Millisecond)
			}
			if got := time.Since(at); got != wait {
				t.Errorf("start %d came after %v, want %v", i+2, got, wait)
			}
		}
		pass(2 * time.Minute)
		s.Crash(errors.New("connection lost"))
		pass(1100 * time.Millisecond)
		if s.Runs() != 5 || s.hub.Ready() != nil {
			t.Errorf("after a healthy time the back-off does not start over: %d runs, %v", s.Runs(), s.hub.Ready())
		}
	})
}

func TestPermanentFailureStopsOneChannelOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := channeltest.NewFake("bad", render.Dialect{})
		s := newStand(t, render.Dialect{}, func(_ *channels.Channel, cfg *channels.Config, _ *stand) {
			cfg.Channels = []channels.Channel{{Adapter: bad, Access: channels.Access{Public: true}}}
		})
		synctest.Wait()
		bad.Crash(&channels.Permanent{Channel: "bad", Hint: "set a valid token", Err: errors.New("401")})
		pass(time.Hour)
		if st := s.hub.States()[1]; st.Status != channels.Stopped || bad.Runs() != 1 {
			t.Errorf("state %v after %d runs", st.Status, bad.Runs())
		}
		if _, err := s.Say(t.Context(), message("still there?")); err != nil || len(s.turns.Accepted()) != 1 {
			t.Errorf("the other channel: %v", err)
		}
		if err := s.hub.Ready(); err != nil {
			t.Errorf("a stopped channel keeps the program from being ready: %v", err)
		}
	})
}

func TestRunEndsWhenEveryChannelHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := channeltest.NewFake("a", render.Dialect{}), channeltest.NewFake("b", render.Dialect{})
		hub, err := channels.NewHub(channels.Config{
			Turns: channeltest.NewTurns(time.Now), Now: time.Now,
			Channels: []channels.Channel{{Adapter: a}, {Adapter: b}},
		})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- hub.Run(t.Context()) }()
		a.Sink()
		b.Sink()
		a.Crash(nil)
		b.Crash(&channels.Permanent{Channel: "b", Hint: "h", Err: errStore})
		if err := <-done; !errors.Is(err, errStore) {
			t.Errorf("got %v", err)
		}
	})
}

func TestNewHubRefusesDoubleNames(t *testing.T) {
	t.Parallel()
	c := channels.Channel{Adapter: channeltest.NewFake("a", render.Dialect{})}
	_, err := channels.NewHub(channels.Config{Turns: channeltest.NewTurns(time.Now), Now: time.Now, Channels: []channels.Channel{c, c}})
	if err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("got %v", err)
	}
}
