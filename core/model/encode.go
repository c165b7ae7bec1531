package model

import "encoding/json"

// storedCall is a Call as JSON. Models send arguments that are no JSON; these are kept apart as text, so
// that a reply can always be stored and comes back as it was.
type storedCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Unparsed  *string         `json:"unparsed,omitempty"`
}

// MarshalJSON writes the call; arguments that are not valid JSON go as text under "unparsed".
func (c Call) MarshalJSON() ([]byte, error) {
	s := storedCall{ID: c.ID, Name: c.Name}
	switch {
	case c.Arguments == nil:
	case json.Valid(c.Arguments):
		s.Arguments = c.Arguments
	default:
		text := string(c.Arguments)
		s.Unparsed = &text
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Call) UnmarshalJSON(data []byte) error {
	var s storedCall
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*c = Call{ID: s.ID, Name: s.Name, Arguments: s.Arguments}
	if s.Unparsed != nil {
		c.Arguments = json.RawMessage(*s.Unparsed)
	}
	return nil
}
