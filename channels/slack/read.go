package slack

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/core"
)

// The kinds of channels, as events name them.
const (
	direct  = "im"
	several = "mpim"
)

// accepted are the subtypes of messages that are a person's own new words.
var accepted = []string{"", "file_share", "thread_broadcast", "me_message"}

// slackbot is the platform's own account.
const slackbot = "USLACKBOT"

// post is a message of a person, before it is known whose turn it belongs to.
type post struct {
	channel, ts string
	thread      string // the root's timestamp, "" outside threads and for a root
	kind        string // of the channel, "" if the event does not say
	under       string // who wrote the root, "" if the event does not say
	user        string
	team        string // the person's own, as far as the event tells
	told        bool   // the event itself names the person's team
	text        string
	meant       bool
	command     string
	files       []core.File
	gesture     string
	mention     bool // it came as app_mention
}

func (p post) id() string { return messageID(p.channel, p.ts) }

// lane keeps what may belong to one conversation in order.
func (p post) lane() string {
	if p.kind == direct || p.kind == several {
		return p.channel
	}
	if p.thread != "" {
		return p.channel + "/" + p.thread
	}
	return p.channel + "/" + p.ts
}

// reader reads the events of one bot. It is pure.
type reader struct{ me self }

// readEvent returns the message in an event, or why there is none.
func (r reader) readEvent(c callback) (post, string) {
	var e event
	if err := json.Unmarshal(c.Event, &e); err != nil {
		return post{}, "not an event"
	}
	if why := r.notTheirs(e); why != "" {
		return post{}, why
	}
	p := post{
		channel: e.Channel, ts: e.TS, kind: e.ChannelType, under: e.Parent, user: e.User, gesture: e.Gesture, mention: e.Type == "app_mention",
	}
	if strings.HasPrefix(e.Channel, "D") {
		p.kind = direct
	}
	if e.ThreadTS != e.TS {
		p.thread = e.ThreadTS
	}
	p.team, p.told = r.teamOf(e, c)
	text, meant := stripMention(e.Text, r.me.user)
	p.text, p.meant = strings.TrimSpace(plain(text)), meant || p.mention
	p.files = attached(e)
	if p.text == "" && len(p.files) == 0 && !p.meant {
		return post{}, "nothing in it"
	}
	if name, ok := strings.CutPrefix(p.text, "/"); ok && slices.Contains(commands, strings.ToLower(name)) {
		p.command, p.meant = strings.ToLower(name), true
	}
	return p, ""
}

// commands are those that the engine knows; Slack hands them over only with a blank before the slash.
var commands = []string{"cancel", "help", "start", "status", "inbox", "pending"}

// notTheirs says why an event is no new message of a person, "" if it is one.
func (r reader) notTheirs(e event) string {
	switch {
	case e.Type != "message" && e.Type != "app_mention":
		return "not a message"
	case !slices.Contains(accepted, e.Subtype):
		return "a message of the kind " + e.Subtype
	case e.Hidden || present(e.Edited):
		return "an edit, or hidden"
	case e.BotID != "" || present(e.BotProfile) || e.Workflow != "":
		return "from a bot"
	case e.User == r.me.user || e.User == slackbot || !validUser.MatchString(e.User):
		return "not from a person"
	case !validChannel.MatchString(e.Channel) || !validTS.MatchString(e.TS) || e.ThreadTS != "" && !validTS.MatchString(e.ThreadTS):
		return "not in a channel"
	}
	return ""
}

// teamOf is the workspace of the sender. The team of the message itself is believed only where it is another
// than ours: whoever cannot be told from a stranger is one.
func (r reader) teamOf(e event, c callback) (team string, told bool) {
	switch {
	case e.UserTeam != "":
		return r.home(e.UserTeam), true
	case e.Team != "" && r.home(e.Team) != r.me.team:
		return e.Team, true
	case c.Team != "":
		return r.home(c.Team), false
	}
	return r.me.team, false
}

// home takes the organisation that our workspace belongs to for our workspace.
func (r reader) home(team string) string {
	if team == r.me.enterprise && team != "" {
		return r.me.team
	}
	return team
}

// attached names what a message carries beside its text. A forwarded message is not the sender's own words.
func attached(e event) (out []core.File) {
	var files []file
	if present(e.Files) && json.Unmarshal(e.Files, &files) != nil {
		files = []file{{}}
	}
	for _, f := range files {
		if f.Mode == "tombstone" {
			continue
		}
		name := f.Name
		if name == "" {
			name = f.Title
		}
		if name == "" {
			name = "file"
		}
		named := core.File{Name: name, Type: f.Type, Size: f.Size}
		if validFile.MatchString(f.ID) && !f.External && f.Mode != "hidden_by_limit" {
			named.Ref = f.ID
		}
		out = append(out, named)
	}
	var more []attachment
	if present(e.Attachments) && json.Unmarshal(e.Attachments, &more) != nil {
		more = []attachment{{Share: true}}
	}
	for _, a := range more {
		if a.Share || a.Unfurled {
			return append(out, core.File{Name: "forwarded message"})
		}
	}
	return out
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// press is a button or an option that somebody chose.
type press struct {
	user, team      string
	channel, thread string
	message         string // its timestamp
	input           core.InputID
	step            int
	reply           string
	at              string
}

func (p press) id() string {
	return "press:" + messageID(p.channel, p.message) + ":" + p.user + ":" + p.at
}

// readPress returns the press in an interaction, or why there is none.
func (r reader) readPress(raw json.RawMessage) (press, string) {
	var in interaction
	if err := json.Unmarshal(raw, &in); err != nil {
		return press{}, "not an interaction"
	}
	p := press{user: in.User.ID, team: r.home(in.User.Team), channel: in.Container.Channel, message: in.Container.Message, thread: in.Container.Thread}
	if p.team == "" {
		p.team = r.home(in.Team.ID)
	}
	if p.channel == "" {
		p.channel = in.Channel.ID
	}
	if p.message == "" {
		p.message = in.Message.TS
	}
	if p.thread == "" {
		p.thread = in.Message.Thread
	}
	if p.thread == p.message {
		p.thread = ""
	}
	switch {
	case in.Type != "block_actions" || len(in.Actions) == 0:
		return press{}, "no press"
	case !validUser.MatchString(p.user) || p.user == r.me.user || p.team == "":
		return press{}, "not from a person"
	case !validChannel.MatchString(p.channel) || !validTS.MatchString(p.message) || p.thread != "" && !validTS.MatchString(p.thread):
		return press{}, "not in a channel"
	case in.Message.BotID != "" && in.Message.BotID != r.me.bot && r.me.bot != "":
		return press{}, "under a message of somebody else"
	}
	act := in.Actions[0]
	value := act.Value
	if act.Type == "static_select" {
		value = act.Selected.Value
	}
	if act.URL != "" && value == "" {
		return press{}, "a link was opened"
	}
	var ok bool
	if p.input, p.step, p.reply, ok = parseValue(value); !ok {
		return press{}, "not one of our buttons"
	}
	p.at = act.At
	return p, ""
}
