package slack

import "encoding/json"

// envelope is what a socket brings: an event, a press, or something that only wants to be acknowledged.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Payload json.RawMessage `json:"payload"`
	Retry   int             `json:"retry_attempt"`
	Reason  string          `json:"reason"`
}

// callback is the outer part of an event.
type callback struct {
	Type      string          `json:"type"`
	Challenge string          `json:"challenge"`
	Team      string          `json:"team_id"`
	ID        string          `json:"event_id"`
	Event     json.RawMessage `json:"event"`
}

// event is a message or a mention, as far as it matters here. What has the wrong type makes the whole event
// unreadable, so that nothing that tells a bot from a person is passed over.
type event struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Channel     string          `json:"channel"`
	ChannelType string          `json:"channel_type"`
	User        string          `json:"user"`
	UserTeam    string          `json:"user_team"`
	Team        string          `json:"team"`
	Text        string          `json:"text"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts"`
	Parent      string          `json:"parent_user_id"`
	Gesture     string          `json:"client_msg_id"`
	BotID       string          `json:"bot_id"`
	BotProfile  json.RawMessage `json:"bot_profile"`
	Workflow    string          `json:"workflow_id"`
	Hidden      bool            `json:"hidden"`
	Edited      json.RawMessage `json:"edited"`
	Files       json.RawMessage `json:"files"`       // of file; anything else is a file without a name
	Attachments json.RawMessage `json:"attachments"` // of attachment
}

type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Type     string `json:"mimetype"`
	Size     int64  `json:"size"`
	Mode     string `json:"mode"`
	External bool   `json:"is_external"`
}

// attachment is the message that a person forwards, or the preview of a link in one.
type attachment struct {
	Share    bool `json:"is_share"`
	Unfurled bool `json:"is_msg_unfurl"`
}

// interaction is the payload of a press.
type interaction struct {
	Type string `json:"type"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		Channel string `json:"channel_id"`
		Message string `json:"message_ts"`
		Thread  string `json:"thread_ts"`
	} `json:"container"`
	Message struct {
		TS     string `json:"ts"`
		Thread string `json:"thread_ts"`
		User   string `json:"user"`
		BotID  string `json:"bot_id"`
	} `json:"message"`
	Actions []action `json:"actions"`
}

type action struct {
	ID       string `json:"action_id"`
	Type     string `json:"type"`
	Value    string `json:"value"`
	URL      string `json:"url"`
	At       string `json:"action_ts"`
	Selected struct {
		Value string `json:"value"`
	} `json:"selected_option"`
}
