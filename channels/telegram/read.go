package telegram

import (
	"strconv"
	"strings"
	"time"

	"parley/channels"
	"parley/core"
)

// Accounts that stand for others: nobody can be told apart behind them.
const (
	anonymousAdmin = 1087968824 // GroupAnonymousBot
	channelBot     = 136817688  // Channel_Bot
	telegramItself = 777000     // forwards of linked channels, service notices
)

// notTheirs are fields of messages that are not a person's own new words: forwarded, made by a bot or
// through one, sent by schedule or in somebody's name.
var notTheirs = []string{
	"forward_origin", "forward_date", "forward_from", "forward_from_chat", "forward_sender_name",
	"is_automatic_forward", "via_bot", "sender_business_bot", "business_connection_id", "is_from_offline",
	"guest_bot_caller_user", "guest_bot_caller_chat", "guest_query_id", "edit_date",
}

// content lists what a message can carry beside text, with the name it gets. Where one field implies
// another (an animation comes with a document) the first counts.
var content = []struct{ field, name, kind string }{
	{"animation", "animation.mp4", "video/mp4"},
	{"document", "document", ""},
	{"photo", "photo.jpg", "image/jpeg"},
	{"live_photo", "photo.jpg", "image/jpeg"},
	{"video", "video.mp4", "video/mp4"},
	{"video_note", "video note.mp4", "video/mp4"},
	{"voice", "voice.ogg", "audio/ogg"},
	{"audio", "audio", ""},
	{"sticker", "sticker", ""},
	{"venue", "venue", ""},
	{"location", "location", ""},
	{"contact", "contact", ""},
	{"poll", "poll", ""},
	{"dice", "dice", ""},
	{"game", "game", ""},
	{"story", "story", ""},
	{"paid_media", "paid media", ""},
	{"checklist", "checklist", ""},
	{"rich_message", "rich message", ""},
}

// incoming is what an update means: at most one of its fields is set.
type incoming struct {
	message *core.Message
	press   *channels.Press
	// stray is the id of a button press that no prompt of ours can be told from: it only wants an answer.
	stray string
	// hidden is the message of somebody whom Telegram shows as a chat.
	hidden *message
	// moved is a group that became a supergroup.
	moved *[2]int64
	// dropped says in a word why nothing is done, for the debug log.
	dropped string
}

// reader reads the updates of one bot. It is pure.
type reader struct {
	me      self
	agent   core.AgentID
	channel string
}

func (r reader) read(u update) incoming {
	switch {
	case u.Callback != nil:
		return r.readPress(u.Callback)
	case u.Message != nil:
		return r.readMessage(u.Message)
	}
	return incoming{dropped: "not a new message"}
}

func (r reader) readMessage(m *message) incoming {
	switch {
	case m.ID <= 0 || m.Chat.ID == 0 || !m.Chat.private() && !m.Chat.shared():
		return incoming{dropped: "not in a chat of people"}
	case m.all.has("migrate_to_chat_id"):
		return movedTo(m)
	case m.From != nil && m.From.ID == telegramItself, m.all.hasAny(notTheirs...):
		return incoming{dropped: "not the sender's own new words"}
	case m.all.has("sender_chat"), m.From != nil && (m.From.ID == anonymousAdmin || m.From.ID == channelBot):
		return incoming{hidden: m}
	case m.From == nil || m.From.ID <= 0 || m.From.Bot:
		return incoming{dropped: "not from a person"}
	}
	text, entities := m.Text, m.Entities
	files := attachments(m.all)
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	if text == "" && len(files) == 0 {
		return incoming{dropped: "a service message"}
	}
	words := r.words(text, entities)
	if words.forAnother {
		return incoming{dropped: "a command for another bot"}
	}
	input, step := r.repliedPrompt(m)
	return incoming{message: &core.Message{
		ID:           messageID(m.Chat.ID, m.ID),
		Conversation: r.conversation(m.Chat.ID, m.topic()),
		From:         personID(m.From.ID),
		Text:         words.text,
		Files:        files,
		Order:        uint64(m.ID),
		SentAt:       time.Unix(m.Date, 0).UTC(),
		ReplyTo:      replyTo(m),
		ReplyInput:   input,
		ReplyStep:    step,
		Shared:       m.Chat.shared(),
		Addressed:    m.Chat.private() || words.meant || r.repliesToUs(m),
		Command:      words.command,
		Lang:         m.From.Lang,
	}}
}

func (r reader) conversation(chat, topic int64) core.ConversationID {
	return core.NewConversation(r.agent, r.channel, placeOf(chat, topic))
}

func movedTo(m *message) incoming {
	to, err := strconv.ParseInt(string(m.all["migrate_to_chat_id"]), 10, 64)
	if err != nil {
		return incoming{dropped: "a migration to nowhere"}
	}
	return incoming{moved: &[2]int64{m.Chat.ID, to}}
}

// replyTo is the identity of the message that m replies to. In a topic every first-level message "replies" to
// the service message that made the topic: that is no reply. A reply to something elsewhere is one, to
// nothing that a prompt could be.
func replyTo(m *message) string {
	switch r := m.ReplyTo; {
	case r != nil && r.ID > 0 && !topicRoot(m):
		return messageID(m.Chat.ID, r.ID)
	case m.External != nil:
		if m.External.Chat != nil && m.External.ID > 0 {
			return messageID(m.External.Chat.ID, m.External.ID)
		}
		return "elsewhere"
	case m.all.has("reply_to_story"):
		return "story"
	}
	return ""
}

func topicRoot(m *message) bool {
	return m.ReplyTo.all.has("forum_topic_created") || m.topic() != 0 && m.ReplyTo.ID == m.topic()
}

func (r reader) repliesToUs(m *message) bool {
	return m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == r.me.id && !topicRoot(m)
}

// repliedPrompt is the prompt of ours that m replies to, as the buttons on it say.
func (r reader) repliedPrompt(m *message) (core.InputID, int) {
	if !r.repliesToUs(m) {
		return "", 0
	}
	for _, row := range m.ReplyTo.Markup.Rows {
		for _, b := range row {
			if input, step, _, ok := parseButton(b.Data); ok {
				return input, step
			}
		}
	}
	return "", 0
}

// readPress reads a button. The person who presses is real even where they hide as a writer.
func (r reader) readPress(c *callback) incoming {
	m := c.Message
	if c.From == nil || c.From.ID <= 0 || c.From.Bot || m == nil || m.Chat.ID == 0 || m.ID <= 0 {
		return incoming{stray: c.ID}
	}
	if m.From != nil && m.From.ID != r.me.id || m.all.hasAny(notTheirs[:5]...) {
		return incoming{stray: c.ID} // under a message of somebody else
	}
	input, step, reply, ok := parseButton(c.Data)
	if !ok {
		return incoming{stray: c.ID}
	}
	return incoming{press: &channels.Press{
		ID: c.ID, Input: input, Step: step, Reply: reply, From: personID(c.From.ID),
		Conversation: r.conversation(m.Chat.ID, m.topic()), Lang: c.From.Lang,
	}}
}

// attachments names what a message carries beside its text.
func attachments(all fields) []core.File {
	for _, c := range content {
		if !all.has(c.field) {
			continue
		}
		f := core.File{Name: c.name, Type: c.kind}
		describe(&f, all[c.field])
		return []core.File{f}
	}
	return nil
}

// words is the text of a message, with what it says about who is meant.
type words struct {
	text       string
	command    string
	meant      bool
	forAnother bool
}

// commands are those that the engine knows; any other goes on as text.
var commands = map[string]bool{"cancel": true, "help": true, "start": true, "status": true, "inbox": true, "pending": true}

func (r reader) words(text string, entities []entity) words {
	text, meant := r.stripMention(text, entities)
	w := words{text: text, meant: meant}
	name, at, rest, ok := slash(text)
	if !ok {
		return w
	}
	if at != "" {
		if !strings.EqualFold(at, r.me.username) {
			w.forAnother = true
			return w
		}
		w.meant = true
		w.text = "/" + name + rest
	}
	if known := strings.ToLower(name); commands[known] {
		w.meant, w.text = true, "/"+known+rest
		// Words behind a command make it a sentence, as on every platform; only a link into the chat has one.
		if strings.TrimSpace(rest) == "" || known == "start" {
			w.command = known
		}
	}
	return w
}

// slash takes a leading "/name" or "/name@bot" apart from what follows it.
func slash(text string) (name, at, rest string, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return "", "", "", false
	}
	end := strings.IndexFunc(text, func(c rune) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\u00a0' })
	if end < 0 {
		end = len(text)
	}
	name, at, mentioned := strings.Cut(text[1:end], "@")
	if !plainName(name) || mentioned && !plainName(at) {
		return "", "", "", false
	}
	return name, at, text[end:], true
}

func plainName(s string) bool {
	for _, c := range s {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
