package bolt

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"parley/core"
)

// Conversations lists what was said on a channel, whoever the agent was: chats with one person first, then by
// their newest run, at most limit (0: all). A row that cannot be read is left out. It reads every conversation
// of the file: it is for a start.
func (s *Store) Conversations(ctx context.Context, channel string, limit int) (out []core.Conversation, err error) {
	err = s.read(ctx, "", func(t *tx) error {
		out = nil
		return t.scan(bConversation, nil, nil, func(k, raw []byte) (bool, error) {
			if core.ConversationID(k).Channel() != channel {
				return true, ctx.Err()
			}
			var c core.Conversation
			if decode(raw, &c) == nil { // past the memory of hot rows, which is for those that are in use
				out = append(out, c)
			}
			return true, ctx.Err()
		})
	})
	if err != nil {
		return nil, fmt.Errorf("store: conversations of %s: %w", channel, err)
	}
	crowd := func(c core.Conversation) int {
		if c.Shared {
			return 1
		}
		return 0
	}
	slices.SortFunc(out, func(a, b core.Conversation) int {
		return cmp.Or(cmp.Compare(crowd(a), crowd(b)), cmp.Compare(b.Last, a.Last), cmp.Compare(a.ID, b.ID))
	})
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}
