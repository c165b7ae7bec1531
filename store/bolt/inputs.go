package bolt

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"parley/core"
	"parley/core/turn"
)

// limitOr gives a list without a limit the port's default.
func limitOr(limit int) int {
	if limit <= 0 {
		return 50
	}
	return limit
}

// Inputs is a page of inputs by creation, then id. An input belongs to the agent that asks and to the one
// that its conversation is with. The page begins at a key, so it costs the same
// however many inputs stand before it.
func (s *Store) Inputs(ctx context.Context, f turn.InputFilter) (page []core.Input, next string, err error) {
	if f.State == "" {
		f.State = core.InputPending
	}
	f.Limit = limitOr(f.Limit)
	f.Agent, f.Responder = core.AgentID(valid(string(f.Agent))), core.PersonID(valid(string(f.Responder)))
	f.Run, f.Conversation = core.RunID(valid(string(f.Run))), core.ConversationID(valid(string(f.Conversation)))
	if _, ok := stateCodes[f.State]; !ok {
		return nil, "", fmt.Errorf("store: list inputs: unknown state %q", f.State)
	}
	after, err := hex.DecodeString(f.After)
	if err != nil || f.After != "" && len(after) < 8 {
		return nil, "", fmt.Errorf("store: list inputs: %q is not the next of an earlier page", f.After)
	}
	err = s.read(ctx, "", func(t *tx) error {
		page, next = nil, ""
		found, err := t.candidates(f, after)
		if len(found) > f.Limit {
			found = found[:f.Limit]
			next = hex.EncodeToString(position(found[f.Limit-1]))
		}
		page = found
		return err
	})
	return page, next, err
}

// candidates are the inputs that f selects, at most one more than its limit.
func (t *tx) candidates(f turn.InputFilter, after []byte) (out []core.Input, err error) {
	if f.Run != "" {
		return t.runCandidates(f, after)
	}
	b, prefix := bInputState, key(nil)
	switch {
	case f.Conversation != "":
		b, prefix = bInputConv, prefix.str(string(f.Conversation))
	case f.Responder != "":
		b, prefix = bInputWho, prefix.str(string(f.Responder))
	case f.Agent != "":
		b, prefix = bInputAgent, prefix.str(string(f.Agent))
	}
	prefix = append(prefix, stateCodes[f.State])
	from := key(nil).raw(prefix).raw(after)
	err = t.scan(b, prefix, from, func(k, _ []byte) (bool, error) {
		if len(after) > 0 && bytes.Equal(k, from) {
			return true, nil
		}
		p := parts{b: k[len(prefix):]}
		p.nano()
		in, err := load[core.Input](t, bInput, []byte(p.id()))
		if err != nil {
			return false, err
		}
		if selects(f, in) {
			out = append(out, in)
		}
		return len(out) <= f.Limit, nil
	})
	return out, err
}

// runCandidates reads all inputs of a run: they are few.
func (t *tx) runCandidates(f turn.InputFilter, after []byte) ([]core.Input, error) {
	all, err := t.RunInputs(f.Run)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(all, func(in core.Input) bool {
		return !selects(f, in) || bytes.Compare(position(in), after) <= 0
	})
	slices.SortFunc(out, func(a, b core.Input) int { return bytes.Compare(position(a), position(b)) })
	return out, nil
}

func selects(f turn.InputFilter, in core.Input) bool {
	return in.State == f.State &&
		(f.Agent == "" || f.Agent == in.Agent || f.Agent == in.Conversation.Agent()) &&
		(f.Run == "" || f.Run == in.Run) &&
		(f.Conversation == "" || f.Conversation == in.Conversation) &&
		(f.Responder == "" || slices.Contains(in.Responders.Audience, f.Responder))
}

// Input finds an input by id alone.
func (s *Store) Input(ctx context.Context, id core.InputID) (in core.Input, err error) {
	err = s.read(ctx, "", func(t *tx) (err error) {
		in, err = t.Input(id)
		return err
	})
	return in, err
}

// Run finds a run by id alone.
func (s *Store) Run(ctx context.Context, id core.RunID) (run core.Run, err error) {
	err = s.read(ctx, "", func(t *tx) (err error) {
		run, err = t.Run(id)
		return err
	})
	return run, err
}

// Overdue lists pending inputs whose time to answer ended at or before now; a limit of 0 is 50.
func (s *Store) Overdue(ctx context.Context, limit int) (out []core.Input, err error) {
	limit = limitOr(limit)
	err = s.read(ctx, "", func(t *tx) error {
		out = nil
		return t.scan(bInputDue, nil, nil, func(k, _ []byte) (bool, error) {
			p := parts{b: k}
			at := p.nano()
			if p.err != nil {
				return false, damaged(bInputDue, k, p.err)
			}
			if at > nanos(t.now) || len(out) == limit {
				return false, nil
			}
			in, err := load[core.Input](t, bInput, []byte(p.id()))
			out = append(out, in)
			return true, err
		})
	})
	return out, err
}

// NextDeadline is when the next pending input expires; zero if none does.
func (s *Store) NextDeadline(ctx context.Context) (next time.Time, err error) {
	err = s.read(ctx, "", func(t *tx) error {
		next = time.Time{}
		return t.scan(bInputDue, nil, nil, func(k, _ []byte) (bool, error) {
			p := parts{b: k}
			next = time.Unix(0, p.nano())
			return false, p.err
		})
	})
	return next, err
}

// Events lists the log after seq; a limit of 0 is 50.
func (s *Store) Events(ctx context.Context, run core.RunID, after uint64, limit int) (out []core.Event, err error) {
	limit = limitOr(limit)
	if after == 1<<64-1 {
		return nil, nil
	}
	err = s.read(ctx, "", func(t *tx) error {
		out = nil
		if run == "" {
			return t.scan(bEvent, nil, key(nil).seq(after+1), func(k, raw []byte) (bool, error) {
				var e core.Event
				if err := decode(raw, &e); err != nil {
					return false, damaged(bEvent, k, err)
				}
				out = append(out, e)
				return len(out) < limit, nil
			})
		}
		prefix := key(nil).str(string(run))
		return t.scan(bEventRun, prefix, key(nil).raw(prefix).seq(after+1), func(k, _ []byte) (bool, error) {
			e, err := load[core.Event](t, bEvent, k[len(prefix):])
			out = append(out, e)
			return len(out) < limit, err
		})
	})
	return out, err
}
