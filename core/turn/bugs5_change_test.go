package turn_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/core"
	"parley/core/tool"
	"parley/core/turn"
	"parley/store/bolt"
)

// TestDU21ConfiguredOtherwise changes what a turn is made of while it waits. What was shown is what runs or it
// does not run; nobody's answer is lost.
func TestDU21ConfiguredOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		ran    int
		tells  string
	}{
		"fewer steps":       {func(w *world) { w.agent.MaxSteps = 1 }, 1, ""},
		"fewer inputs":      {func(w *world) { w.agent.MaxInputs = 1 }, 1, `"ok"`},
		"needs nobody now":  {func(w *world) { w.tools["db__drop"].spec.Policy = nil }, 1, `"ok"`},
		"is a read now":     {func(w *world) { w.tools["db__drop"].spec.Type = core.ToolRead }, 1, `"ok"`},
		"another source":    {func(w *world) { w.tools["db__drop"].spec.Target = "https://other.example.com" }, 0, ""},
		"another schema":    {func(w *world) { w.tools["db__drop"].spec.Schema = json.RawMessage(`{"type":"object","x":1}`) }, 0, ""},
		"gone":              {func(w *world) { delete(w.tools, "db__drop") }, 0, "the call did not run"},
		"an intake now":     {func(w *world) { w.agent.Intake = &turn.Intake{EveryTurn: true, Questions: intakeQuestions()} }, 1, `"ok"`},
		"other builtins":    {func(w *world) { w.agent.AskUser, w.agent.Ask = false, false }, 1, `"ok"`},
		"other approvers":   {func(w *world) { w.agent.Human.Approvers = []core.PersonID{ben} }, 1, `"ok"`},
		"shorter deadlines": {func(w *world) { w.agent.Human.Expires = time.Second }, 1, `"ok"`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				drop := w.tools["db__drop"]
				w.model = script(calls("", `db__drop {"n":1}`))
				w.start()
				w.say(ana, "go")
				w.close()
				c.change(w)
				w.pass(time.Hour)
				w.start()
				w.say(ana, "yes")
				if n := drop.ran(); n != c.ran {
					t.Errorf("ran %d times, want %d", n, c.ran)
				}
				if res := w.results(); c.tells != "" && (len(res) != 1 || !strings.Contains(res[0], c.tells)) {
					t.Errorf("results %q", res)
				}
				if in := w.waiting(); c.ran == 0 && c.tells == "" && (len(in) != 1 || in[0].Purpose != core.PurposeChanged) {
					t.Errorf("it is not asked again: %+v", in)
				}
				toldInOrder(t, w)
			})
		})
	}
}

func intakeQuestions() []core.Question {
	return []core.Question{{ID: "q", Prompt: "Which?", Options: []core.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}}}
}

// TestDU21AnAgentOfTheFamilyIsGone: its run stays parked with what was answered, until it is back or a person
// ends it.
func TestDU21AnAgentOfTheFamilyIsGone(t *testing.T) {
	for _, end := range []string{"back", "cancel"} {
		t.Run(end, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				family(w)
				w.start()
				w.say(ana, "go")
				settleAs(t, w, by(t, w, "digger"), ana, core.ActionAccept)
				settleAs(t, w, by(t, w, "researcher"), ana, core.ActionAccept)
				digger := w.agents["digger"]
				w.close()
				delete(w.agents, "digger")
				w.start()
				if _, err := w.e.Settle(t.Context(), settlement(by(t, w, "writer"), ana, core.ActionAccept)); err != nil {
					t.Fatal(err)
				}
				w.pass(10 * time.Minute)
				for _, d := range dropped(w) {
					if strings.Contains(d, "digger") || strings.Contains(d, "researcher") {
						t.Errorf("ran %s", d)
					}
				}
				if end == "cancel" {
					w.send(w.message(ana, "cancel"))
					w.pass(5 * time.Minute)
				} else {
					w.close()
					w.agents["digger"] = digger
					w.start()
					w.pass(5 * time.Minute)
				}
				want := map[string]int{"back": 3, "cancel": 0}[end]
				if n := len(dropped(w)); end == "back" && n != want {
					t.Errorf("%d drops ran, want %d", n, want)
				}
				wantResults(t, w)
				clean(t, w)
			})
		})
	}
}

// clocked is a world whose wall clock can jump.
func clocked(t *testing.T, w *world) *atomic.Int64 {
	t.Helper()
	var skew atomic.Int64
	s, err := bolt.Open(w.path, bolt.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	w.store = s
	return &skew
}

// TestCC11TheClockJumps while something waits: the stored deadline is held against the clock as it stands, once
// expired stays expired, and no time spent waiting is negative.
func TestCC11TheClockJumps(t *testing.T) {
	for name, c := range map[string]struct {
		jumps []time.Duration
		ran   int
	}{
		"back":               {[]time.Duration{-5 * time.Hour}, 1},
		"on, in time":        {[]time.Duration{30 * time.Minute}, 1},
		"on":                 {[]time.Duration{2 * time.Hour}, 0},
		"on and back":        {[]time.Duration{2 * time.Hour, -2 * time.Hour}, 0},
		"back and on":        {[]time.Duration{-5 * time.Hour, 5 * time.Hour}, 1},
		"to the very second": {[]time.Duration{time.Hour}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.agent.Human.Expires = time.Hour
				w.model = echoing(calls("", `db__drop {}`))
				skew := clocked(t, w)
				w.start()
				w.say(ana, "go")
				in := w.waiting()[0]
				for _, jump := range c.jumps {
					skew.Add(int64(jump))
					w.pass(6 * time.Minute) // it is noticed meanwhile
				}
				_, _ = w.e.Settle(t.Context(), settlement(in, ana, core.ActionAccept))
				w.idle()
				if n := w.tools["db__drop"].ran(); n != c.ran {
					t.Errorf("ran %d times, want %d", n, c.ran)
				}
				w.say(ana, "so?")
				if res := w.results(); strings.Contains(res[0], `"waited":-`) || (c.ran == 1) != strings.Contains(res[0], `"ok"`) {
					t.Errorf("results %q", res)
				}
				toldInOrder(t, w)
			})
		})
	}
}

// TestDU06TheClockGoesBackBetweenTwoAsks of one call: the order in which they were asked holds.
func TestDU06TheClockGoesBackBetweenTwoAsks(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("app__two", core.ToolAction, nil)
		var said []bool
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			one, err := ctx.Confirm("First?")
			if err != nil {
				return "", err
			}
			two, err := ctx.Confirm("Second?")
			if err != nil {
				return "", err
			}
			said = []bool{one, two}
			return "both", nil
		}
		w.agent.Human.Approvers = []core.PersonID{ben}
		w.model = script(calls("", `app__two {}`, `db__drop {}`))
		skew := clocked(t, w)
		w.start()
		w.say(ana, "go")
		for _, answer := range []struct {
			who  core.PersonID
			text string
		}{{ana, "yes"}, {ana, "yes"}, {ben, "no"}} {
			skew.Add(-int64(time.Hour))
			w.say(answer.who, answer.text)
		}
		if len(said) != 2 || !said[0] || said[1] {
			t.Errorf("the tool was told %v; shown %q", said, w.lines())
		}
		if res := w.results(); len(res) != 2 || !strings.Contains(res[0], `"answeredBy":"local:ben"`) {
			t.Errorf("results %q", res)
		}
	})
}

// TestFM05ACallThatAskedWhileItWentOnSaysWhoAnswered, as any other that waited.
func TestFM05ACallThatAskedWhileItWentOnSaysWhoAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		f := w.add("mcp__live", core.ToolAction, nil)
		f.run = func(ctx *tool.Context, _ json.RawMessage) (string, error) {
			_, err := ctx.Wait(tool.Asked{Kind: core.KindForm, Message: "Sure?"})
			return "went on", err
		}
		w.model = script(calls("", `mcp__live {}`))
		w.start()
		w.send(w.message(ana, "go"))
		w.pass(42 * time.Second)
		w.say(ana, "yes")
		if res := w.results(); len(res) != 1 || !strings.Contains(res[0], `"answeredBy":"local:ana","role":"asker","waited":42`) {
			t.Errorf("results %q", res)
		}
	})
}

// TestDU03AReplyToACopyWithoutAReceipt settles what its buttons name, here and as it stands now; nothing else.
func TestDU03AReplyToACopyWithoutAReceipt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *core.Message)
		ran    int
	}{
		"the prompt":       {func(*core.Message) {}, 1},
		"an earlier step":  {func(m *core.Message) { m.ReplyStep = 5 }, 0},
		"another input":    {func(m *core.Message) { m.ReplyInput = "i0000" }, 0},
		"no buttons":       {func(m *core.Message) { m.ReplyInput = "" }, 0},
		"by a stranger":    {func(m *core.Message) { m.From = cleo }, 0},
		"from another one": {func(m *core.Message) { m.Conversation = core.NewConversation("ops", home, "2") }, 0},
		"with a file":      {func(m *core.Message) { m.Files = []core.File{{Name: "a.txt"}} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.model = echoing(calls("", `db__drop {}`))
				w.start()
				w.say(ana, "go")
				m := w.message(ana, "yes")
				m.ReplyTo, m.ReplyInput = "unknown", w.waiting()[0].ID
				c.change(&m)
				w.send(m)
				w.idle()
				if n := w.tools["db__drop"].ran(); n != c.ran {
					t.Errorf("ran %d times, want %d", n, c.ran)
				}
			})
		})
	}
}
