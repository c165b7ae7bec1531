package telegram

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
	"parley/core"
	"parley/render"
)

const (
	maxData    = 64  // bytes of a button's payload
	maxButtons = 100 // of a message
	pairUpTo   = 16  // runes of a label that still shares its row
)

// buttonData is what a button submits. ok is false where that does not fit; the reply can still be typed.
func buttonData(b render.Button) (data string, ok bool) {
	data, ok = channels.ButtonPayload(b, b.Reply)
	return data, ok && len(data) <= maxData
}

// parseButton takes a payload apart.
func parseButton(data string) (input core.InputID, step int, reply string, ok bool) {
	input, step, reply, ok = channels.ParseButtonPayload(data)
	return input, step, reply, ok && reply != "" && len(data) <= maxData
}

// keyboard lays buttons out, short ones two in a row. It returns "" where there are none, or where they do
// not all fit: a choice that shows only a part of the options would mislead, and all can be typed.
func keyboard(buttons []render.Button) (string, error) {
	if len(buttons) == 0 || len(buttons) > maxButtons {
		return "", nil
	}
	var rows [][]tgbotapi.InlineKeyboardButton
	open := false // the last row has room for one more
	for _, b := range buttons {
		label := strings.TrimSpace(b.Label)
		one := tgbotapi.InlineKeyboardButton{Text: label}
		if b.URL != "" {
			one.URL = &b.URL
		} else {
			data, ok := buttonData(b)
			if !ok {
				return "", nil
			}
			one.CallbackData = &data
		}
		if label == "" {
			return "", nil
		}
		short := utf8.RuneCountInString(label) <= pairUpTo
		if open && short {
			rows[len(rows)-1] = append(rows[len(rows)-1], one)
			open = false
			continue
		}
		rows = append(rows, []tgbotapi.InlineKeyboardButton{one})
		open = short
	}
	raw, err := json.Marshal(tgbotapi.InlineKeyboardMarkup{InlineKeyboard: rows})
	return string(raw), err
}
