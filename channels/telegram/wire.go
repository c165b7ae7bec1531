package telegram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"parley/core"
)

// allowedUpdates is sent explicitly each time: the server remembers the set of whoever asked before.
const allowedUpdates = `["message","edited_message","callback_query","my_chat_member"]`

// update is one thing that Telegram tells, with the fields that the library's types lack.
type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Callback *callback `json:"callback_query"`
	Member   *member   `json:"my_chat_member"`
}

type message struct {
	ID       int64    `json:"message_id"`
	Thread   int64    `json:"message_thread_id"`
	InTopic  bool     `json:"is_topic_message"`
	From     *user    `json:"from"`
	Chat     chat     `json:"chat"`
	Date     int64    `json:"date"`
	Text     string   `json:"text"`
	Caption  string   `json:"caption"`
	Entities []entity `json:"entities"`
	// CaptionEntities mark the caption as Entities do the text.
	CaptionEntities []entity  `json:"caption_entities"`
	ReplyTo         *replied  `json:"reply_to_message"`
	External        *external `json:"external_reply"`

	// all holds every field by name, for those of which only the presence counts.
	all fields
}

// replied is the message that another replies to.
type replied struct {
	ID   int64 `json:"message_id"`
	From *user `json:"from"`
	Chat chat  `json:"chat"`
	// Markup are the buttons below it.
	Markup struct {
		Rows [][]struct {
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
	} `json:"reply_markup"`

	all fields
}

// external is the message of another chat that a message replies to.
type external struct {
	Chat *chat `json:"chat"`
	ID   int64 `json:"message_id"`
}

type user struct {
	ID   int64  `json:"id"`
	Bot  bool   `json:"is_bot"`
	Lang string `json:"language_code"`
}

type chat struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
}

// private and shared go by the type, and by the sign of the id where a server leaves it out.
func (c chat) private() bool { return c.Type == "private" || c.Type == "" && c.ID > 0 }
func (c chat) shared() bool {
	return c.Type == "group" || c.Type == "supergroup" || c.Type == "" && c.ID < 0
}

type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"`
}

type callback struct {
	ID      string   `json:"id"`
	From    *user    `json:"from"`
	Data    string   `json:"data"`
	Message *message `json:"message"` // may be known by its id alone
}

type member struct {
	Chat chat `json:"chat"`
	New  struct {
		Status string `json:"status"`
	} `json:"new_chat_member"`
}

// fields are the raw fields of an object.
type fields map[string]json.RawMessage

// has reports whether a field is there and says something: null and false do not.
func (f fields) has(name string) bool {
	raw, ok := f[name]
	return ok && string(raw) != "null" && string(raw) != "false"
}

func (f fields) hasAny(names ...string) bool {
	for _, n := range names {
		if f.has(n) {
			return true
		}
	}
	return false
}

// UnmarshalJSON keeps all fields beside those that have a type.
func (m *message) UnmarshalJSON(data []byte) error {
	type plain message
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	return json.Unmarshal(data, &m.all)
}

// UnmarshalJSON keeps all fields beside those that have a type.
func (r *replied) UnmarshalJSON(data []byte) error {
	type plain replied
	if err := json.Unmarshal(data, (*plain)(r)); err != nil {
		return err
	}
	return json.Unmarshal(data, &r.all)
}

// decodeUpdate reads one update. Where that fails the returned id is still that of the update if it could be
// read, else 0, so that it can be confirmed and the rest goes on.
func decodeUpdate(raw json.RawMessage) (update, error) {
	var id struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &id); err != nil || id.ID == 0 {
		return update{}, fmt.Errorf("telegram update without a readable update_id: %w", orNoID(err))
	}
	var u update
	if err := json.Unmarshal(raw, &u); err != nil {
		return update{ID: id.ID}, fmt.Errorf("telegram update %d: %w", id.ID, err)
	}
	return u, nil
}

func orNoID(err error) error {
	if err == nil {
		return fmt.Errorf("it is missing")
	}
	return err
}

// chatID is the chat an update belongs to: its lane.
func (u update) chatID() int64 {
	switch {
	case u.Message != nil:
		return u.Message.Chat.ID
	case u.Callback != nil && u.Callback.Message != nil:
		return u.Callback.Message.Chat.ID
	case u.Member != nil:
		return u.Member.Chat.ID
	}
	return 0
}

// topic is the forum topic a message stands in, 0 for none.
func (m *message) topic() int64 {
	if m.InTopic && m.Thread > 0 {
		return m.Thread
	}
	return 0
}

// personID names a user.
func personID(id int64) core.PersonID {
	return core.PersonID("telegram:" + strconv.FormatInt(id, 10))
}

// placeOf joins a chat and a topic; topic 0 is none.
func placeOf(chat, topic int64) core.Place {
	s := strconv.FormatInt(chat, 10)
	if topic != 0 {
		s += "/" + strconv.FormatInt(topic, 10)
	}
	return core.Place(s)
}

// parsePlace takes a place apart.
func parsePlace(p core.Place) (chat, topic int64, err error) {
	c, t, has := strings.Cut(string(p), "/")
	chat, err = strconv.ParseInt(c, 10, 64)
	if err == nil && has {
		topic, err = strconv.ParseInt(t, 10, 64)
	}
	if err != nil || chat == 0 || has && topic <= 0 {
		return 0, 0, fmt.Errorf("telegram place %q: want a chat id, or chat/topic such as -1001234/36", p)
	}
	return chat, topic, nil
}

// messageID is the identity of a message.
func messageID(chat, message int64) string {
	return strconv.FormatInt(chat, 10) + ":" + strconv.FormatInt(message, 10)
}

// parseMessageID takes an identity apart; ok is false where it is none.
func parseMessageID(id string) (chat, message int64, ok bool) {
	c, m, has := strings.Cut(id, ":")
	if !has {
		return 0, 0, false
	}
	chat, err1 := strconv.ParseInt(c, 10, 64)
	message, err2 := strconv.ParseInt(m, 10, 64)
	return chat, message, err1 == nil && err2 == nil && chat != 0 && message > 0
}
