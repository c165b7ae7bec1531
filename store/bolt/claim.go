package bolt

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"parley/core"
	"parley/core/turn"
)

// claimRow says who holds a conversation and when it is due. Times are nanoseconds since 1970; 0 is none.
type claimRow struct {
	// Due is when it may be claimed; of a held one, since when it was due.
	Due int64 `json:"due,omitempty"`
	// Token, Epoch and Instance name the holder; "" is nobody.
	Token    string `json:"token,omitempty"`
	Epoch    uint64 `json:"epoch,omitempty"`
	Instance string `json:"instance,omitempty"`
	// Until is when the holder promised to be done, for whoever reads the file.
	Until int64 `json:"until,omitempty"`
	// Woken is the earliest time it was to be woken at since it was claimed.
	Woken int64 `json:"woken,omitempty"`
}

// live reports whether the claim's holder can be alive: it belongs to this opening of the file.
func (r claimRow) live(instance string) bool { return r.Token != "" && r.Instance == instance }

// earliest is the smaller of two times of which 0 is none.
func earliest(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// dueNanos is a time to be due at: never 0, which is none, and never before 1970.
func dueNanos(t time.Time) int64 { return max(nanos(t), 1) }

func (t *tx) claimRow(conv core.ConversationID) (claimRow, error) {
	row, err := glance[claimRow](t, bClaim, key(nil).id(string(conv)))
	if row == nil {
		return claimRow{}, err
	}
	return *row, err
}

// setClaim replaces a claim row and its index entry; a row that says nothing is removed.
func (t *tx) setClaim(conv core.ConversationID, old, row claimRow) error {
	if err := t.reindex(claimEntries(conv, old), claimEntries(conv, row)); err != nil {
		return err
	}
	k := key(nil).id(string(conv))
	if row.Token == "" && row.Due == 0 {
		return t.del(bClaim, k)
	}
	t.woke = t.woke || row.Token == "" && row.Due <= nanos(t.now)
	return store(t, bClaim, k, row)
}

// take claims a conversation that nobody alive holds.
func (t *tx) take(conv core.ConversationID, old claimRow, ttl time.Duration) (*turn.Claim, error) {
	epoch, err := t.next(bClaim)
	if err != nil {
		return nil, err
	}
	row := claimRow{
		Due: earliest(old.Due, dueNanos(t.now)), Token: rand.Text(), Epoch: epoch,
		Instance: t.s.instance, Until: nanos(t.now.Add(ttl)),
	}
	if err := t.setClaim(conv, old, row); err != nil {
		return nil, err
	}
	return &turn.Claim{Conversation: conv, Token: row.Token, Epoch: epoch}, nil
}

// fence returns the claim's row, or ErrFenced unless the claim is current.
func (t *tx) fence(c *turn.Claim) (claimRow, error) {
	row, err := t.claimRow(c.Conversation)
	if err != nil {
		return row, err
	}
	if !row.live(t.s.instance) || row.Token != c.Token || row.Epoch != c.Epoch {
		return row, fmt.Errorf("store: claim %d on %q: %w", c.Epoch, c.Conversation, turn.ErrFenced)
	}
	return row, nil
}

func (t *tx) TakeClaim(ttl time.Duration) (*turn.Claim, error) {
	row, err := t.claimRow(t.conv)
	if err != nil || row.live(t.s.instance) {
		return nil, err
	}
	t.claim, err = t.take(t.conv, row, ttl)
	return t.claim, err
}

func (t *tx) Release(due time.Time) error {
	if t.claim == nil {
		return fmt.Errorf("store: release %q: the transaction has no claim", t.conv)
	}
	row, err := t.fence(t.claim)
	if err != nil {
		return err
	}
	free := claimRow{Due: row.Woken}
	if !due.IsZero() {
		free.Due = earliest(row.Woken, dueNanos(due))
	}
	return t.setClaim(t.conv, row, free)
}

// WakeAt makes the conversation due; the zero time is now.
func (t *tx) WakeAt(due time.Time) error {
	if due.IsZero() {
		due = t.now
	}
	old, err := t.claimRow(t.conv)
	if err != nil {
		return err
	}
	row, at := old, dueNanos(due)
	if row.Token != "" {
		row.Woken = earliest(row.Woken, at)
	} else {
		row.Due = earliest(row.Due, at)
	}
	t.woke = true
	if row == old {
		return nil
	}
	return t.setClaim(t.conv, old, row)
}

// longestDue finds the conversation to claim next, "" if none is due: the first of the free ones, or the
// first of those that a dead instance held.
func (t *tx) longestDue() (conv core.ConversationID, err error) {
	best := nanos(t.now)
	err = t.scan(bDue, nil, nil, func(k, _ []byte) (bool, error) {
		p := parts{b: k}
		if at := p.nano(); p.err == nil && at <= best {
			best, conv = at, core.ConversationID(p.id())
		}
		return false, p.err
	})
	// One seek for each instance that left claims behind.
	for from, more := []byte{}, err == nil; more && err == nil; {
		more = false
		err = t.scan(bHeld, nil, from, func(k, _ []byte) (bool, error) {
			p := parts{b: bytes.Clone(k)}
			instance := p.str()
			at := p.nano()
			if p.err != nil {
				return false, damaged(bHeld, k, p.err)
			}
			from, more = append([]byte(instance), 1), true
			if instance != t.s.instance && (conv == "" || at <= best) {
				best, conv = at, core.ConversationID(p.id())
			}
			return false, nil
		})
	}
	return conv, err
}

// Claim takes the conversation that has been due longest. It looks before it writes: asking when nothing
// is due costs no commit.
func (s *Store) Claim(ctx context.Context, ttl time.Duration) (claim *turn.Claim, err error) {
	due := core.ConversationID("")
	err = s.read(ctx, "", func(t *tx) (err error) {
		due, err = t.longestDue()
		return err
	})
	if err != nil || due == "" {
		return nil, err
	}
	err = s.submit(ctx, turn.Scope{}, func(t *tx) error {
		claim = nil
		conv, err := t.longestDue()
		if err != nil || conv == "" {
			return err
		}
		row, err := t.claimRow(conv)
		if err != nil {
			return err
		}
		claim, err = t.take(conv, row, ttl)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claim, nil
}

// Renew checks that the claim is current. Nothing is written: this process's claims do not time out.
func (s *Store) Renew(ctx context.Context, c *turn.Claim, _ time.Duration) error {
	return s.read(ctx, c.Conversation, func(t *tx) error {
		_, err := t.fence(c)
		return err
	})
}
