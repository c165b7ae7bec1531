package model

import "slices"

// LeftOut is the message that stands in the place of what Compact dropped.
const LeftOut = "(The beginning of this conversation was left out, because it had become too long.)"

// What a picture and the frame of a message cost, in tokens.
const (
	imageTokens   = 1500
	messageTokens = 4
)

// Tokens estimates how many tokens messages cost: a quarter of their bytes, and a fixed number a picture.
func Tokens(messages ...Message) int {
	total := 0
	for _, m := range messages {
		n := len(m.Text)
		for _, c := range m.Calls {
			n += len(c.ID) + len(c.Name) + len(c.Arguments)
		}
		n = max(n, len(m.Raw)) // one of them is sent
		if m.Result != nil {
			n += len(m.Result.CallID) + len(m.Result.Content)
		}
		total += messageTokens + (n+3)/4 + imageTokens*len(m.Images)
	}
	return total
}

// Compact returns messages that cost at most budget tokens, as Tokens estimates them, where that is
// possible. It drops whole exchanges, the oldest first: a user message with everything up to the next. So
// a call and its result stay together, and Valid stays true. The last exchange is never dropped, nor one
// with a call that has no result. What was dropped is replaced by one user message, LeftOut, in the place
// of the first of it. Messages that fit, or that would not become fewer tokens, are returned as they are;
// the slice given is never changed.
func Compact(messages []Message, budget int) []Message {
	total := Tokens(messages...)
	if total <= budget {
		return messages
	}
	marker := Message{Role: RoleUser, Text: LeftOut}
	parts := exchanges(messages)
	left := total + Tokens(marker)
	first := -1
	for i, part := range parts {
		if left <= budget || i == len(parts)-1 {
			break
		}
		if pending(part) {
			continue
		}
		if first < 0 {
			first = i
		}
		left -= Tokens(part...)
		parts[i] = nil
	}
	if first < 0 || left >= total {
		return messages
	}
	parts[first] = []Message{marker}
	return slices.Concat(parts...)
}

// exchanges cuts messages before each user message.
func exchanges(messages []Message) (parts [][]Message) {
	from := 0
	for i, m := range messages {
		if i > from && m.Role == RoleUser {
			parts = append(parts, messages[from:i])
			from = i
		}
	}
	return append(parts, messages[from:])
}

// pending reports whether a call of the messages has no result among them.
func pending(messages []Message) bool {
	open := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.Calls {
			open[c.ID] = true
		}
		if m.Result != nil {
			delete(open, m.Result.CallID)
		}
	}
	return len(open) > 0
}
