package bolt

import (
	"cmp"
	"slices"
	"time"

	"parley/core"
	"parley/core/turn"
)

func (t *tx) Now() time.Time { return t.now }

func (t *tx) Conversation() (core.Conversation, error) {
	c, ok, err := lookup[core.Conversation](t, bConversation, key(nil).id(string(t.conv)))
	if err == nil && !ok {
		c.ID = t.conv
	}
	return c, err
}

func (t *tx) Held() (bool, error) {
	row, err := t.claimRow(t.conv)
	return row.live(t.s.instance), err
}

func (t *tx) Run(id core.RunID) (core.Run, error) {
	return load[core.Run](t, bRun, key(nil).id(string(id)))
}

func (t *tx) Journal(run core.RunID) ([]core.Step, error) {
	return list[core.Step](t, bJournal, key(nil).str(string(run)), 0)
}

func (t *tx) Calls(run core.RunID) ([]core.Call, error) {
	calls, err := list[core.Call](t, bCall, key(nil).str(string(run)), 0)
	slices.SortStableFunc(calls, func(a, b core.Call) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
	})
	return calls, err
}

func (t *tx) RunInputs(run core.RunID) (out []core.Input, err error) {
	err = t.scan(bInputRun, key(nil).str(string(run)), nil, func(_, id []byte) (bool, error) {
		in, err := load[core.Input](t, bInput, id)
		out = append(out, in)
		return true, err
	})
	return out, err
}

func (t *tx) Input(id core.InputID) (core.Input, error) {
	return load[core.Input](t, bInput, key(nil).id(string(id)))
}

func (t *tx) Seen(messageID string) (bool, error) {
	return t.get(bSeen, seenKey(t.conv, messageID)) != nil, nil
}

func (t *tx) Queue(limit int) ([]core.Queued, error) {
	return list[core.Queued](t, bQueue, key(nil).str(string(t.conv)), max(limit, 0))
}

func (t *tx) Prompted(messageID string) (core.InputID, error) {
	return core.InputID(t.get(bPrompt, promptKey(t.conv, messageID))), nil
}

func (t *tx) Out() ([]core.Out, error) {
	return list[core.Out](t, bOut, key(nil).str(string(t.conv)), 0)
}

var _ turn.Tx = (*tx)(nil)
