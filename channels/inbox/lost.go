package inbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"parley/core"
	"parley/core/turn"
)

// lookBack is how many of the newest events are looked through for what could not be delivered.
const lookBack = 5000

// lost is something that a chat would not take.
type lost struct {
	Seq      uint64
	At       time.Time
	Sentence string
	Agent    Agent
	Asker    core.PersonID
	// Input is "" where it was no prompt of one.
	Input core.InputID
	Run   core.RunID
}

// ElementID names its element.
func (l lost) ElementID() string { return fmt.Sprint("lost-", l.Seq) }

func (v *visit) showLost(q query) error {
	all, err := v.lost(q)
	if err != nil {
		return err
	}
	p := queuePage{frame: v.frame("Not delivered", v.r.URL.RequestURI()), query: q, Lost: all}
	p.Version, p.Live = lostVersion(all), "/inbox/events?"+v.r.URL.RawQuery
	return v.show(http.StatusOK, "queue", p)
}

func lostVersion(all []lost) string {
	parts := []string{listLost}
	for _, l := range all {
		parts = append(parts, fmt.Sprint(l.Seq))
	}
	return core.Digest(parts...)
}

// lost are what could not be delivered lately of the runs that the person may see, newest first.
func (v *visit) lost(q query) (out []lost, err error) {
	last, err := v.i.c.Turns.LastEvent(v.r.Context())
	if err != nil {
		return nil, err
	}
	seen := map[core.RunID]*turn.Trace{} // nil: not theirs, or gone
	for after := last - min(last, lookBack); ; {
		events, err := v.i.c.Turns.Events(v.r.Context(), "", after, maxTrouble)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			after = e.Seq
			if e.Type != core.EventUndeliverable || e.Run == "" {
				continue
			}
			t, ok := seen[e.Run]
			if !ok {
				if t, err = v.trace(e.Run); err != nil {
					return nil, err
				}
				seen[e.Run] = t
			}
			if t == nil || q.Agent != "" && agentOfRun(t.Run) != q.Agent || q.Asker != "" && t.Run.Asker() != q.Asker {
				continue
			}
			out = append(out, lost{Seq: e.Seq, At: e.At, Sentence: trouble(e), Agent: v.i.agent(agentOfRun(t.Run)), Asker: t.Run.Asker(), Input: e.Input, Run: e.Run})
		}
		if len(events) < maxTrouble {
			break
		}
	}
	slices.Reverse(out)
	return out, nil
}

// trace is a run that the person may see, nil for any other.
func (v *visit) trace(id core.RunID) (*turn.Trace, error) {
	t, err := v.i.c.Turns.Trace(v.r.Context(), id)
	if errors.Is(err, turn.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mine, err := v.mayRun(t)
	if err != nil || !mine {
		return nil, err
	}
	return &t, nil
}
