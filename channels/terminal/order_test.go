package terminal_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels/terminal"
	"parley/core"
	"parley/core/turn"
)

func TestLinesAreReadOneAtATimeWhenTheTurnStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil).start(t)
		d.turns.OnAccept = func(_ context.Context, m core.Message) (turn.Accepted, error) {
			d.turns.SetWorking(m.Conversation)
			return turn.Accepted{Did: core.DoStart}, nil
		}
		d.typeLine(t, "drop it\nyes\n")
		<-time.After(time.Hour)
		if got := d.turns.Accepted(); len(got) != 1 {
			t.Fatalf("%d lines were taken while the turn ran", len(got))
		}
		row := d.turns.Put(core.Out{Kind: core.OutReply, Conversation: d.Conversation(), Run: "prompt"})
		d.turns.SetWorking()
		synctest.Wait()
		got, r := d.turns.Accepted(), d.turns.Receipts()
		if len(got) != 2 || len(r) != 1 || row.Seq == 0 {
			t.Fatalf("accepted %d, receipts %d", len(got), len(r))
		}
		if !(got[0].Order < r[0].Order && r[0].Order < got[1].Order) {
			t.Errorf("order: line %d, prompt %d, answer %d", got[0].Order, r[0].Order, got[1].Order)
		}
		if got[0].ID == got[1].ID || got[0].ID > got[1].ID {
			t.Errorf("ids %q, %q", got[0].ID, got[1].ID)
		}
	})
}

// A line that was read while a prompt was still being written does not stand below it.
func TestLineThatCrossesAPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var writing bool
		placed := make(chan struct{}, 1)
		d := newDesk(t, func(c *terminal.Config) {
			c.Now = func() time.Time {
				select {
				case placed <- struct{}{}:
				default:
				}
				return time.Now()
			}
		})
		d.out.before = func(text string) {
			if writing || !strings.Contains(text, "reply prompt") {
				return
			}
			writing = true
			for len(placed) > 0 {
				<-placed
			}
			if _, err := io.WriteString(d.in, "yes\n"); err != nil {
				t.Error(err)
			}
			<-placed // before this write returns
		}
		d.start(t)
		synctest.Wait() // it waits for a line
		d.turns.Put(core.Out{Kind: core.OutReply, Conversation: d.Conversation(), Run: "prompt"})
		synctest.Wait()
		got, r := d.turns.Accepted(), d.turns.Receipts()
		if len(got) != 1 || len(r) == 0 || got[0].Order >= r[0].Order {
			t.Errorf("accepted %+v, receipts %+v", got, r)
		}
		if err := d.end(t); err != nil {
			t.Error(err)
		}
	})
}

// At the end of the input what a tool asked inside its call ends, which is said; what waits in the store does not.
func TestEndOfInputWhileACallAsks(t *testing.T) {
	t.Parallel()
	for wait, said := range map[int]bool{1: false, 1001: true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, nil).start(t)
			synctest.Wait()
			in := pending("Where to?")
			in.Wait = wait
			d.turns.SetWaiting(*in)
			if err := d.end(t); err != nil {
				t.Error(err)
			}
			if out := d.out.String(); strings.HasPrefix(out, "note: ◈ The question ends without an answer") != said || !said && out != "" {
				t.Errorf("wait %d: output %q", wait, out)
			}
		})
	}
}
