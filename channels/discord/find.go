package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
	"parley/core"
)

var _ channels.Finder = (*Adapter)(nil)

// chatsKept bounds what is remembered of direct chats.
const chatsKept = 4096

// Find opens the direct chat with a person, which shows them nothing yet. A configuration writes channels and
// people alike, as discord:NUMBER, and no number is both: one that is a channel is returned as such.
func (a *Adapter) Find(ctx context.Context, who core.PersonID) (core.Place, error) {
	number, ours := strings.CutPrefix(string(who), "discord:")
	id, err := parsePlace(core.Place(number))
	if !ours || err != nil {
		return "", &channels.SendError{Permanent: true, Err: fmt.Errorf("discord: %s is nobody in Discord", who)}
	}
	if _, known := a.rooms.get(id); known {
		return core.Place(id.String()), nil
	}
	if chat, ok := a.chats.get(id); ok {
		return core.Place(chat.String()), nil
	}
	chat, err := a.find(ctx, id)
	var no *channels.SendError
	switch {
	case errors.As(err, &no):
		return "", no
	case err != nil:
		return "", a.sendError(id, "", err)
	}
	a.chats.keep(id, chat)
	return core.Place(chat.String()), nil
}

// chats are the direct chats that were opened, by person.
type chats struct {
	mu sync.Mutex
	m  map[snowflake]snowflake
}

func (c *chats) get(who snowflake) (chat snowflake, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	chat, ok = c.m[who]
	return chat, ok
}

func (c *chats) keep(who, chat snowflake) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= chatsKept {
		c.m = map[snowflake]snowflake{}
	}
	c.m[who] = chat
}

// find asks for a channel of that id, then for the chat with a person of that id.
func (a *Adapter) find(ctx context.Context, id snowflake) (snowflake, error) {
	var c channel
	err := a.api.get(ctx, "look at a channel", discordgo.EndpointChannel(id.String()), &c)
	e := isCall(err)
	switch {
	case e == nil && c.ID == id, e != nil && e.Status == http.StatusForbidden:
		return id, nil
	case e != nil && e.Status != http.StatusNotFound && e.Status != http.StatusBadRequest:
		return 0, err
	}
	var chat channel
	_, err = a.api.do(ctx, call{
		op: "open a direct chat", method: http.MethodPost, endpoint: discordgo.EndpointUserChannels("@me"),
		body: map[string]snowflake{"recipient_id": id}, out: &chat,
	})
	switch e := isCall(err); {
	case e != nil && e.Status == http.StatusBadRequest:
		return 0, &channels.SendError{Permanent: true, Err: fmt.Errorf("%w: there is neither a channel nor a person %s", e, id)}
	case err == nil && chat.ID == 0:
		return 0, &channels.SendError{Err: fmt.Errorf("discord open a direct chat: the answer names none with %s", id)}
	}
	return chat.ID, err
}
