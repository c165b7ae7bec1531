package discord

import (
	"context"
	"fmt"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
)

var (
	_ channels.Deleter = (*Adapter)(nil)
	_ channels.Keyed   = (*Adapter)(nil)
)

// Keyed is true: Discord knows the nonce of a message again for some minutes.
func (a *Adapter) Keyed() bool { return true }

// Delete takes a message of ours back.
func (a *Adapter) Delete(ctx context.Context, _ channels.Target, message string) error {
	id, msg, ok := parseMessageID(message)
	if !ok {
		return fmt.Errorf("discord message %q cannot be deleted", message)
	}
	err := a.paced(ctx, id, call{op: "delete a message", method: http.MethodDelete, endpoint: discordgo.EndpointChannelMessage(id.String(), msg.String())})
	if e := isCall(err); err == nil || e != nil && e.Code == codeUnknownMessage {
		return nil
	}
	return a.sendError(id, "", err)
}
