package discord

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

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
	maxInputID  = 32
	// menuAbove is how many buttons are too many to look through.
	menuAbove = 10
)

// customID is what a button submits: the input, the step of its prompt and the reply, joined by colons. For
// a menu the reply is left out: it is the value that was chosen. ok is false where that does not fit; the
// reply can still be typed.
func customID(b render.Button, reply string) (id string, ok bool) {
	id = fmt.Sprintf("%s:%d:%s", b.Input, b.Step, reply)
	return id, b.Input != "" && b.Reply != "" && utf8.RuneCountInString(id) <= maxCustomID && utf8.ValidString(id) &&
		!strings.Contains(string(b.Input), ":")
}

// parseCustomID takes one apart. It names an input, and proves nothing. reply is "" for a menu.
func parseCustomID(id string) (input core.InputID, step int, reply string, ok bool) {
	parts := strings.SplitN(id, ":", 3)
	if len(id) > 4*maxCustomID || len(parts) != 3 || parts[0] == "" || len(parts[0]) > maxInputID {
		return "", 0, "", false
	}
	for _, c := range parts[0] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return "", 0, "", false
		}
	}
	step, err := strconv.Atoi(parts[1])
	if err != nil || step < 0 || strconv.Itoa(step) != parts[1] {
		return "", 0, "", false
	}
	return core.InputID(parts[0]), step, parts[2], true
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
