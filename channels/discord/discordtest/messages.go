package discordtest

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// sentBody is a message as the bot sends it.
type sentBody struct {
	Content    *string           `json:"content"`
	Nonce      string            `json:"nonce"`
	Enforce    bool              `json:"enforce_nonce"`
	Flags      int               `json:"flags"`
	Mentions   *allowedMentions  `json:"allowed_mentions"`
	Reference  *messageReference `json:"message_reference"`
	Components []component       `json:"components"`
	Files      []json.RawMessage `json:"attachments"`
}

type allowedMentions struct {
	Parse       *[]string `json:"parse"`
	RepliedUser bool      `json:"replied_user"`
}

type messageReference struct {
	Message string `json:"message_id"`
	Fail    *bool  `json:"fail_if_not_exists"`
}

type component struct {
	Type       int         `json:"type"`
	Components []component `json:"components"`
	Label      string      `json:"label"`
	CustomID   string      `json:"custom_id"`
	URL        string      `json:"url"`
	Style      int         `json:"style"`
	Options    []struct {
		Label string `json:"label"`
		Value string `json:"value"`
	} `json:"options"`
}

const maxContent = 2000

// create makes a message of the bot, or finds the one with its nonce.
func (s *Server) create(c *channel, k *restCall) (any, *refusal) {
	var b sentBody
	if err := json.Unmarshal(k.body, &b); err != nil {
		return nil, bad(err.Error())
	}
	buttons, no := s.check(b, len(k.files) > 0)
	if no != nil {
		return nil, no
	}
	if c.locked {
		return nil, &refusal{Status: 403, Code: 160005, Text: "Thread is locked"}
	}
	if no := s.tooFast(c); no != nil {
		return nil, no
	}
	if b.Enforce {
		for _, m := range c.messages {
			if m.Nonce == b.Nonce && b.Nonce != "" && m.From.ID == BotID && s.cfg.Now().UnixMilli()-1420070400000-int64(m.ID>>22) < 3*60*1000 {
				return s.json(c, m, true), nil
			}
		}
	}
	c.archived = false
	c.joined = c.joined || c.kind == kindThread
	m := &Message{From: s.Bot(), Nonce: b.Nonce, Flags: b.Flags, Buttons: buttons, Files: k.files, Fields: map[string]any{}}
	if b.Content != nil {
		m.Content = strings.TrimSpace(*b.Content)
	}
	if b.Reference != nil {
		for _, x := range c.messages {
			if x.ID.String() == b.Reference.Message {
				m.ReplyTo, m.Type = x.ID, 19
			}
		}
	}
	s.post(c, m, true)
	return s.json(c, m, true), nil
}

// tooFast holds a channel to what it takes in five seconds.
func (s *Server) tooFast(c *channel) *refusal {
	if s.cfg.PerFive == 0 {
		return nil
	}
	now := s.cfg.Now().UnixMilli()
	for len(c.recent) > 0 && now-c.recent[0] >= 5000 {
		c.recent = c.recent[1:]
	}
	if len(c.recent) >= s.cfg.PerFive {
		return &refusal{Status: 429, Text: "You are being rate limited.", RetryAfter: float64(5000-(now-c.recent[0])) / 1000}
	}
	c.recent = append(c.recent, now)
	return nil
}

// change edits a message of the bot.
func (s *Server) change(c *channel, k *restCall) (any, *refusal) {
	m := c.find(k.ids[1])
	switch {
	case m == nil:
		return nil, gone(10008, "Message")
	case m.From.ID != BotID:
		return nil, &refusal{Status: 403, Code: 50005, Text: "Cannot edit a message authored by another user"}
	case c.archived:
		return nil, &refusal{Status: 400, Code: 50083, Text: "Thread is archived"}
	}
	var b sentBody
	if err := json.Unmarshal(k.body, &b); err != nil {
		return nil, bad(err.Error())
	}
	buttons, no := s.check(b, len(m.Files) > 0)
	if no != nil {
		return nil, no
	}
	if b.Content != nil {
		m.Content = *b.Content
	}
	if b.Components != nil {
		m.Buttons = buttons
	}
	m.Edits++
	s.tellMessage("MESSAGE_UPDATE", c, m)
	return s.json(c, m, true), nil
}

// check refuses what Discord refuses, and what a careful program never sends. s.mu is held.
func (s *Server) check(b sentBody, files bool) ([]Button, *refusal) {
	text := ""
	if b.Content != nil {
		text = *b.Content
	}
	switch {
	case strings.TrimSpace(text) == "" && !files:
		return nil, &refusal{Status: 400, Code: 50006, Text: "Cannot send an empty message"}
	case utf8.RuneCountInString(text) > maxContent:
		return nil, bad("content: Must be 2000 or fewer in length.")
	case !utf8.ValidString(text):
		return nil, bad("content: not UTF-8")
	case len(b.Nonce) > 25:
		return nil, bad("nonce: Must be 25 or fewer in length.")
	case b.Nonce != "" && !b.Enforce:
		return nil, s.complain("a nonce that is not enforced")
	case b.Mentions == nil || b.Mentions.Parse == nil || len(*b.Mentions.Parse) > 0 || b.Mentions.RepliedUser:
		return nil, s.complain("a message that can ping: allowed_mentions %+v", b.Mentions)
	case b.Flags&4 == 0:
		return nil, s.complain("a message that shows previews of its links")
	case b.Reference != nil && (b.Reference.Fail == nil || *b.Reference.Fail):
		return nil, s.complain("a reply that fails where its message is gone")
	}
	return checkComponents(b.Components)
}

// checkComponents holds rows to their limits, and returns the buttons and options in them.
func checkComponents(rows []component) (out []Button, no *refusal) {
	if len(rows) > 5 {
		return nil, bad("components: at most 5 rows")
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if row.Type != 1 || len(row.Components) == 0 || len(row.Components) > 5 {
			return nil, bad("components: a row of 1 to 5")
		}
		for _, c := range row.Components {
			if no := c.check(len(row.Components), seen); no != nil {
				return nil, no
			}
			for _, o := range c.Options {
				out = append(out, Button{Label: o.Label, CustomID: c.CustomID, Value: o.Value})
			}
			if c.Type == 2 {
				out = append(out, Button{Label: c.Label, CustomID: c.CustomID, URL: c.URL})
			}
		}
	}
	return out, nil
}

func (c component) check(inRow int, seen map[string]bool) *refusal {
	switch {
	case c.Type != 2 && c.Type != 3:
		return bad("components: neither a button nor a menu")
	case c.Type == 2 && (c.Label == "" || utf8.RuneCountInString(c.Label) > 80):
		return bad("components: label of 1 to 80")
	case c.Type == 2 && c.Style == 5 && (c.URL == "" || len(c.URL) > 512 || c.CustomID != ""):
		return bad("components: a link of 1 to 512 and no custom_id")
	case c.Style != 5 && (c.CustomID == "" || utf8.RuneCountInString(c.CustomID) > 100 || seen[c.CustomID]):
		return bad("components: custom_id of 1 to 100, once")
	case c.Type == 3 && (inRow != 1 || len(c.Options) == 0 || len(c.Options) > 25):
		return bad("components: a menu of 1 to 25, alone in its row")
	}
	for _, o := range c.Options {
		if o.Label == "" || o.Value == "" || utf8.RuneCountInString(o.Label) > 100 || utf8.RuneCountInString(o.Value) > 100 {
			return bad("components: an option of 1 to 100")
		}
	}
	seen[c.CustomID] = true
	return nil
}
