package discord

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
	"parley/core"
)

var _ channels.FileReader = (*Adapter)(nil)

// ReadFile reads the message again for the file's address, since the one that came with it is good for a day
// only, and fetches the file from there. The address is a secret of its own; the bot token does not go there.
func (a *Adapter) ReadFile(ctx context.Context, m core.Message, f core.File) ([]byte, error) {
	id, msg, ok := parseMessageID(m.ID)
	ref, err := parsePlace(core.Place(f.Ref))
	if !ok || err != nil {
		return nil, fmt.Errorf("discord: no file: %w", channels.ErrNotOpen)
	}
	ctx, cancel := context.WithTimeout(ctx, channels.FileTimeout)
	defer cancel()
	var now message
	if err := a.api.get(ctx, "read a message again", discordgo.EndpointChannelMessage(id.String(), msg.String()), &now); err != nil {
		return nil, fileError(err)
	}
	for _, at := range now.Attachments {
		switch {
		case at.ID != ref:
			continue
		case at.Size > channels.MaxFile:
			return nil, fmt.Errorf("discord file %s: %w", ref, channels.ErrFileTooBig)
		case !a.api.serves(at.URL):
			return nil, fmt.Errorf("discord file %s is at an address that is not Discord's: %w", ref, channels.ErrNotOpen)
		}
		redact := func(s string) string { return a.api.redact(strings.ReplaceAll(s, at.URL, "[address]"), "") }
		return channels.Download{What: "discord file " + ref.String(), URL: at.URL, Client: a.api.http, Redact: redact}.Read(ctx)
	}
	return nil, fmt.Errorf("discord: the message has no file %s: %w", ref, channels.ErrFileGone)
}

// fileError says what a failure to read a message again means.
func fileError(err error) error {
	e := isCall(err)
	if e == nil || e.Status != http.StatusForbidden && e.Status != http.StatusNotFound {
		return err
	}
	if e.Code == codeUnknownMessage {
		return fmt.Errorf("%w: %w", e, channels.ErrFileGone)
	}
	return fmt.Errorf("%w: the bot needs View Channel and Read Message History there: %w", e, channels.ErrFileGone)
}

// mediaHosts are those that Discord keeps files on.
var mediaHosts = []string{"cdn.discordapp.com", "media.discordapp.net"}

// serves reports whether files are fetched from an address: https at Discord's own hosts; where the API is; on
// loopback where the API is on loopback.
func (c *client) serves(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Host == "" {
		return false
	}
	for _, host := range mediaHosts {
		if u.Scheme == "https" && strings.EqualFold(u.Hostname(), host) && (u.Port() == "" || u.Port() == "443") {
			return true
		}
	}
	api, err := url.Parse(c.base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host) || loopback(u.Hostname()) && loopback(api.Hostname())
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
