package webhook

import (
	"context"
	"slices"
	"time"
)

// Unread is when the oldest event happened that a hook is still to be told of and that it has not taken in: what
// belongs to it must stay in the store. Zero: there is none. A hook that was disabled keeps nothing back.
func (h *Hooks) Unread(ctx context.Context) (oldest time.Time, err error) {
	for _, s := range h.all {
		at, err := s.unread(ctx)
		if err != nil {
			return time.Time{}, err
		}
		if !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	return oldest, nil
}

// unread reads what is stored, since the sender's own state is its own.
func (s *sender) unread(ctx context.Context) (time.Time, error) {
	st, known, err := Look(ctx, s.Memory, s.hook.URL)
	if err != nil || !known || st.Disabled != "" {
		return time.Time{}, err
	}
	for after := st.Cursor; ; {
		evs, err := s.Turns.Events(ctx, "", after, page)
		if err != nil {
			return time.Time{}, err
		}
		for _, ev := range evs {
			if kind := kindOf(ev); kind != "" && slices.Contains(s.hook.Events, kind) {
				return ev.At, nil
			}
			after = ev.Seq
		}
		if len(evs) < page {
			return time.Time{}, nil
		}
	}
}
