package model

import "fmt"

// Valid checks the rule that every provider demands of a conversation: each call of a reply has exactly
// one result, in call order, directly after the reply, and nothing else is a result. The error names the
// first message that breaks it, counted from 0.
func Valid(messages []Message) error {
	var open []Call
	for i, m := range messages {
		if len(open) > 0 {
			if err := answers(m, open[0]); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
			open = open[1:]
			continue
		}
		if err := validAlone(m); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		open = m.Calls
	}
	if len(open) > 0 {
		return fmt.Errorf("after message %d: call %q (%s) has no result", len(messages)-1, open[0].ID, open[0].Name)
	}
	return nil
}

// answers checks that m is the result of the call.
func answers(m Message, c Call) error {
	switch {
	case m.Role != RoleTool || m.Result == nil:
		return fmt.Errorf("call %q (%s) has no result: a %q message stands in its place", c.ID, c.Name, m.Role)
	case m.Result.CallID != c.ID:
		return fmt.Errorf("the result of call %q stands where that of call %q (%s) belongs", m.Result.CallID, c.ID, c.Name)
	case m.Result.Name != "" && m.Result.Name != c.Name:
		return fmt.Errorf("the result of call %q names the tool %q, the call %q", c.ID, m.Result.Name, c.Name)
	case len(m.Calls) > 0 || len(m.Images) > 0:
		return fmt.Errorf("the result of call %q carries calls or pictures", c.ID)
	}
	return nil
}

// validAlone checks a message that stands where no result is owed.
func validAlone(m Message) error {
	switch {
	case m.Role == RoleTool && m.Result == nil:
		return fmt.Errorf("a tool message without a result")
	case m.Role == RoleTool:
		return fmt.Errorf("a result of call %q that no reply directly before it made, or the second one", m.Result.CallID)
	case m.Role != RoleUser && m.Role != RoleAssistant:
		return fmt.Errorf("unknown role %q", m.Role)
	case m.Result != nil:
		return fmt.Errorf("a result in a %s message", m.Role)
	case m.Role == RoleUser && len(m.Calls) > 0:
		return fmt.Errorf("calls in a user message")
	case m.Role == RoleAssistant && len(m.Images) > 0:
		return fmt.Errorf("pictures in an assistant message")
	}
	seen := make(map[string]bool, len(m.Calls))
	for i, c := range m.Calls {
		if c.ID == "" {
			return fmt.Errorf("call %d (%s) has no id", i, c.Name)
		}
		if seen[c.ID] {
			return fmt.Errorf("two calls with the id %q", c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// IDs hands out call ids that are unique in a conversation. It depends on nothing but what it was shown,
// so that the same conversation gets the same ids.
type IDs struct {
	used map[string]bool
	next int
}

// NewIDs returns the ids of a conversation in which those of the messages are taken.
func NewIDs(messages []Message) *IDs {
	ids := &IDs{used: make(map[string]bool)}
	for _, m := range messages {
		for _, c := range m.Calls {
			ids.used[c.ID] = true
		}
	}
	return ids
}

// Take returns the wanted id, or a new one of nine letters and digits if it is empty or taken.
func (ids *IDs) Take(want string) string {
	for want == "" || ids.used[want] {
		ids.next++
		want = fmt.Sprintf("call%05d", ids.next)
	}
	ids.used[want] = true
	return want
}

// Mend returns the calls of a new reply with unique, non-empty ids: those the provider gave wherever
// they are, and new ones where an id is missing or taken.
func Mend(calls []Call, history []Message) []Call {
	ids := NewIDs(history)
	out := make([]Call, len(calls))
	for i, c := range calls {
		c.ID = ids.Take(c.ID)
		out[i] = c
	}
	return out
}
