package telegram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core"
	"parley/render"
)

const (
	maxData    = 64  // bytes of a button's payload
	maxButtons = 100 // of a message
	pairUpTo   = 16  // runes of a label that still shares its row
	maxInputID = 32
)

// buttonData is what a button submits: the input, the step of its prompt and the reply, joined by colons. ok
// is false where that does not fit; the reply can still be typed.
func buttonData(b render.Button) (data string, ok bool) {
	data = fmt.Sprintf("%s:%d:%s", b.Input, b.Step, b.Reply)
	return data, b.Input != "" && b.Reply != "" && len(data) <= maxData && utf8.ValidString(data) &&
		!strings.Contains(string(b.Input), ":")
}

// parseButton takes a payload apart. People can send whatever they like in one: it names an input, and proves
// nothing.
func parseButton(data string) (input core.InputID, step int, reply string, ok bool) {
	parts := strings.SplitN(data, ":", 3)
	if len(data) > maxData || len(parts) != 3 || parts[0] == "" || len(parts[0]) > maxInputID || parts[2] == "" {
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
