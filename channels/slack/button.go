package slack

import (
	"strconv"
	"strings"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	"parley/channels"
	"parley/core"
	"parley/render"
)

// What a message's controls may hold.
const (
	maxValue   = 2000 // characters of a button's value
	maxOption  = 150  // of an option's value
	maxLabel   = 75
	maxButtons = 25 // of one actions block
	maxOptions = 100
	// selectAbove is how many choices become a menu instead of buttons.
	selectAbove = 10
)

// valueOf is what a control submits. ok is false where that does not fit; the reply can still be typed.
func valueOf(b render.Button, most int) (value string, ok bool) {
	value, ok = channels.ButtonPayload(b, b.Reply)
	return value, ok && utf8.RuneCountInString(value) <= most
}

// parseValue takes a value apart.
func parseValue(value string) (input core.InputID, step int, reply string, ok bool) {
	input, step, reply, ok = channels.ParseButtonPayload(value)
	return input, step, reply, ok && reply != "" && len(value) <= 4*maxValue
}

// blocksOf shows a text with buttons under it: as one row, or as a menu where there are many choices. It is
// nil where they do not all fit: a choice that shows only a part of the options would mislead, and all can be
// typed.
func blocksOf(text string, buttons []render.Button) []slackapi.Block {
	if len(buttons) == 0 || utf8.RuneCountInString(text) > maxText {
		return nil
	}
	var replies, links []render.Button
	for _, b := range buttons {
		if strings.TrimSpace(b.Label) == "" {
			return nil
		}
		if b.URL != "" {
			links = append(links, b)
		} else {
			replies = append(replies, b)
		}
	}
	controls := linkButtons(links)
	if len(replies) > selectAbove {
		menu := menuOf(replies)
		if menu == nil {
			return nil
		}
		controls = append(controls, menu)
	} else {
		for i, b := range replies {
			value, ok := valueOf(b, maxValue)
			if !ok {
				return nil
			}
			one := slackapi.NewButtonBlockElement("parley:"+strconv.Itoa(i), value, label(b.Label))
			controls = append(controls, one)
		}
	}
	if len(controls) == 0 || len(controls) > maxButtons {
		return nil
	}
	shown := slackapi.NewTextBlockObject(slackapi.MarkdownType, text, false, true) // verbatim: nothing becomes a link by itself
	section := slackapi.NewSectionBlock(shown, nil, nil)
	section.Expand = true // nothing behind "see more"
	return []slackapi.Block{section, slackapi.NewActionBlock("parley", controls...)}
}

// linkButtons open an address; pressing one is told to us too, and means nothing.
func linkButtons(links []render.Button) (out []slackapi.BlockElement) {
	for i, b := range links {
		one := slackapi.NewButtonBlockElement("parley:link:"+strconv.Itoa(i), "", label(b.Label))
		if len(b.URL) > 3000 {
			continue // it stands in the text
		}
		one.URL = b.URL
		out = append(out, one)
	}
	return out
}

func menuOf(replies []render.Button) slackapi.BlockElement {
	if len(replies) > maxOptions {
		return nil
	}
	var options []*slackapi.OptionBlockObject
	for _, b := range replies {
		value, ok := valueOf(b, maxOption)
		if !ok {
			return nil
		}
		options = append(options, slackapi.NewOptionBlockObject(value, label(b.Label), nil))
	}
	return slackapi.NewOptionsSelectBlockElement(slackapi.OptTypeStatic, label("…"), "parley:menu", options...)
}

// label is a plain text that shows no emoji for its name.
func label(s string) *slackapi.TextBlockObject {
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) > maxLabel {
		s = string([]rune(s)[:maxLabel-2]) + " …"
	}
	off := false
	return &slackapi.TextBlockObject{Type: slackapi.PlainTextType, Text: s, Emoji: &off}
}
