package discord

import (
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
	"parley/core"
	"parley/render"
)

// What a message can carry.
const (
	maxCustomID = 100 // characters
	maxLabel    = 80
	perRow      = 5
	maxRows     = 5
	maxOptions  = 25 // of a menu
	maxURL      = 512
	// menuAbove is how many buttons are too many to look through.
	menuAbove = 10
)

// customID is what a button submits. For a menu the reply is left out: it is the value that was chosen. ok is
// false where that does not fit; the reply can still be typed.
func customID(b render.Button, reply string) (id string, ok bool) {
	id, ok = channels.ButtonPayload(b, reply)
	return id, ok && utf8.RuneCountInString(id) <= maxCustomID
}

// parseCustomID takes one apart; reply is "" for a menu.
func parseCustomID(id string) (input core.InputID, step int, reply string, ok bool) {
	input, step, reply, ok = channels.ParseButtonPayload(id)
	return input, step, reply, ok && len(id) <= 4*maxCustomID
}

// components lays buttons out in rows, or as a menu where they are many. It returns none where they do not
// all fit: a choice that shows only a part of the options would mislead, and all can be typed.
func components(buttons []render.Button) []discordgo.MessageComponent {
	if len(buttons) > menuAbove {
		if menu := menuOf(buttons); menu != nil {
			return menu
		}
	}
	if len(buttons) > perRow*maxRows {
		return []discordgo.MessageComponent{}
	}
	rows := []discordgo.MessageComponent{}
	seen := map[string]bool{}
	var row []discordgo.MessageComponent
	for n, b := range buttons {
		one, ok := buttonOf(b)
		if !ok || one.CustomID != "" && seen[one.CustomID] {
			return []discordgo.MessageComponent{}
		}
		seen[one.CustomID] = true
		if row = append(row, one); len(row) == perRow || n == len(buttons)-1 {
			rows = append(rows, discordgo.ActionsRow{Components: row})
			row = nil
		}
	}
	return rows
}

func buttonOf(b render.Button) (one discordgo.Button, ok bool) {
	one = discordgo.Button{Label: cut(strings.TrimSpace(b.Label), maxLabel), Style: discordgo.SecondaryButton}
	if b.URL != "" {
		one.Style, one.URL = discordgo.LinkButton, b.URL
		return one, one.Label != "" && utf8.RuneCountInString(b.URL) <= maxURL
	}
	one.CustomID, ok = customID(b, b.Reply)
	return one, ok && one.Label != ""
}

// menuOf is one menu of all buttons; nil where they do not fit, or are not of one question.
func menuOf(buttons []render.Button) []discordgo.MessageComponent {
	first := buttons[0]
	id, ok := customID(first, "")
	if !ok || len(buttons) > maxOptions {
		return nil
	}
	least := 1
	menu := discordgo.SelectMenu{MenuType: discordgo.StringSelectMenu, CustomID: id, MinValues: &least, MaxValues: 1}
	seen := map[string]bool{}
	for _, b := range buttons {
		label := cut(strings.TrimSpace(b.Label), maxCustomID)
		if b.URL != "" || b.Input != first.Input || b.Step != first.Step || label == "" ||
			b.Reply == "" || utf8.RuneCountInString(b.Reply) > maxCustomID || seen[b.Reply] {
			return nil
		}
		seen[b.Reply] = true
		menu.Options = append(menu.Options, discordgo.SelectMenuOption{Label: label, Value: b.Reply})
	}
	return []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{menu}}}
}
