package discord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/core"
)

// snowflake is an id of Discord's. It holds the time it was made at, and sorts by it.
type snowflake uint64

// discordEpoch is the first millisecond of 2015, where snowflakes begin.
const discordEpoch = 1420070400000

// UnmarshalJSON reads an id, which is text on the wire; null is 0.
func (s *snowflake) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	text := strings.Trim(string(data), `"`)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("id %s: want a number in quotes", cut(string(data), 40))
	}
	*s = snowflake(n)
	return nil
}

// MarshalJSON writes an id as text.
func (s snowflake) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

func (s snowflake) String() string { return strconv.FormatUint(uint64(s), 10) }

// snowflakeOf is the least id of a time; 0 for one before Discord's.
func snowflakeOf(t time.Time) snowflake {
	return snowflake(max(t.UnixMilli()-discordEpoch, 0)) << 22
}

// minus is the id as of so long before.
func (s snowflake) minus(d time.Duration) snowflake {
	if back := snowflake(d.Milliseconds()) << 22; s > back {
		return s - back
	}
	return 0
}

// time is when the id was made.
func (s snowflake) time() time.Time {
	return time.UnixMilli(int64(s>>22) + discordEpoch).UTC()
}

// The library's own decoding drops a whole message over one component that it does not know: only what is
// read is decoded here.
type message struct {
	ID          snowflake       `json:"id"`
	Channel     snowflake       `json:"channel_id"`
	Guild       snowflake       `json:"guild_id"`
	ChannelType *int            `json:"channel_type"`
	Type        int             `json:"type"`
	Author      *user           `json:"author"`
	Webhook     snowflake       `json:"webhook_id"`
	Content     string          `json:"content"`
	Edited      json.RawMessage `json:"edited_timestamp"`
	Flags       int64           `json:"flags"`
	Mentions    []user          `json:"mentions"`
	Roles       []snowflake     `json:"mention_roles"`
	Reference   *reference      `json:"message_reference"`
	Referenced  *struct {
		Author *user `json:"author"`
	} `json:"referenced_message"`
	Snapshots   []json.RawMessage `json:"message_snapshots"`
	Attachments []attachment      `json:"attachments"`
	Stickers    []struct {
		Name string `json:"name"`
	} `json:"sticker_items"`
	Poll json.RawMessage `json:"poll"`
}

type user struct {
	ID     snowflake `json:"id"`
	Name   string    `json:"username"`
	Bot    bool      `json:"bot"`
	System bool      `json:"system"`
}

type reference struct {
	Type    int       `json:"type"`
	Message snowflake `json:"message_id"`
	Channel snowflake `json:"channel_id"`
}

type attachment struct {
	ID   snowflake `json:"id"`
	Name string    `json:"filename"`
	Type string    `json:"content_type"`
	Size int64     `json:"size"`
	URL  string    `json:"url"` // good for a day
}

// interaction is a press of a component, or a command.
type interaction struct {
	ID      snowflake `json:"id"`
	App     snowflake `json:"application_id"`
	Type    int       `json:"type"`
	Token   string    `json:"token"`
	Guild   snowflake `json:"guild_id"`
	Channel snowflake `json:"channel_id"`
	Room    *channel  `json:"channel"`
	Context *int      `json:"context"`
	Member  *struct {
		User *user `json:"user"`
	} `json:"member"`
	User    *user                      `json:"user"`
	Locale  string                     `json:"locale"`
	Owners  map[string]json.RawMessage `json:"authorizing_integration_owners"`
	Message *message                   `json:"message"`
	Data    struct {
		CustomID  string   `json:"custom_id"`
		Component int      `json:"component_type"`
		Values    []string `json:"values"`
		Name      string   `json:"name"`
		Type      int      `json:"type"`
	} `json:"data"`
}

// String keeps the token of an interaction from being printed.
func (i interaction) String() string { return "interaction " + i.ID.String() }

// GoString is String.
func (i interaction) GoString() string { return i.String() }

// who is the person who acted: exactly one of the two places is set.
func (i interaction) who() *user {
	if i.Member != nil && i.Member.User != nil {
		return i.Member.User
	}
	return i.User
}

// channel is a channel or thread as Discord tells it.
type channel struct {
	ID         snowflake       `json:"id"`
	Type       int             `json:"type"`
	Guild      snowflake       `json:"guild_id"`
	Parent     snowflake       `json:"parent_id"`
	Owner      snowflake       `json:"owner_id"`
	Member     json.RawMessage `json:"member"` // ours, in a thread that we are part of
	Last       snowflake       `json:"last_message_id"`
	New        bool            `json:"newly_created"` // of a THREAD_CREATE
	Overwrites []overwrite     `json:"permission_overwrites"`
	Thread     struct {
		Archived bool `json:"archived"`
		Locked   bool `json:"locked"`
	} `json:"thread_metadata"`
}

// The types of channels that make a difference.
const (
	typeDirect       = 1
	typeGroupDirect  = 3
	typeNewsThread   = 10
	typeThread       = 11
	typeHiddenThread = 12
	typeCategory     = 4
	typeDirectory    = 14
	typeForum        = 15
	typeMedia        = 16
)

// holdsMessages reports whether people write in a channel of that type; in a forum they write in its threads.
func holdsMessages(kind int) bool {
	return kind != typeCategory && kind != typeDirectory && kind != typeForum && kind != typeMedia
}

func isThread(kind int) bool { return kind >= typeNewsThread && kind <= typeHiddenThread }

// set reports whether a raw field is there and says something.
func set(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// personID names a user.
func personID(id snowflake) core.PersonID { return core.PersonID("discord:" + id.String()) }

// placeOf is the place of a channel.
func placeOf(channel snowflake) core.Place { return core.Place(channel.String()) }

// parsePlace takes a place apart.
func parsePlace(p core.Place) (snowflake, error) {
	n, err := strconv.ParseUint(string(p), 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("discord place %q: want a channel's id, such as 1100000000000000001", p)
	}
	return snowflake(n), nil
}

// messageID is the identity of a message.
func messageID(channel, message snowflake) string { return channel.String() + ":" + message.String() }

// parseMessageID takes an identity apart; ok is false where it is none.
func parseMessageID(id string) (channel, message snowflake, ok bool) {
	c, m, has := strings.Cut(id, ":")
	if !has {
		return 0, 0, false
	}
	n, err1 := strconv.ParseUint(c, 10, 64)
	k, err2 := strconv.ParseUint(m, 10, 64)
	return snowflake(n), snowflake(k), err1 == nil && err2 == nil && n != 0 && k != 0
}
