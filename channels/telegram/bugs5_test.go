package telegram

import (
	"encoding/json"
	"testing"

	"parley/core"
)

// TestDU03APromptIsKnownByItsOwnButtons, where the message that is replied to is the bot's own; another's message with
// the same buttons names nothing.
func TestDU03APromptIsKnownByItsOwnButtons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replied string
		input   core.InputID
		step    int
	}{
		"ours":            {`{"message_id":5,"from":{"id":4242,"is_bot":true},"reply_markup":{"inline_keyboard":[[{"text":"Open","url":"https://example.com"}],[{"text":"Approve","callback_data":"i1:2:approve"}]]}}`, "i1", 2},
		"another bot's":   {`{"message_id":5,"from":{"id":7,"is_bot":true},"reply_markup":{"inline_keyboard":[[{"text":"Approve","callback_data":"i1:2:approve"}]]}}`, "", 0},
		"a person's":      {`{"message_id":5,"from":{"id":42},"reply_markup":{"inline_keyboard":[[{"text":"Approve","callback_data":"i1:2:approve"}]]}}`, "", 0},
		"without buttons": {`{"message_id":5,"from":{"id":4242,"is_bot":true}}`, "", 0},
		"other payloads":  {`{"message_id":5,"from":{"id":4242,"is_bot":true},"reply_markup":{"inline_keyboard":[[{"callback_data":"hello"},{"callback_data":"i1:-1:x"},{"callback_data":"i1:1:"}]]}}`, "", 0},
		"nobody's":        {`{"message_id":5,"reply_markup":{"inline_keyboard":[[{"callback_data":"i1:2:approve"}]]}}`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m message
			if err := json.Unmarshal([]byte(`{"message_id":9,"from":{"id":42},"chat":{"id":42,"type":"private"},"text":"yes","reply_to_message":`+c.replied+`}`), &m); err != nil {
				t.Fatal(err)
			}
			got := us.readMessage(&m).message
			if got == nil || got.ReplyInput != c.input || got.ReplyStep != c.step {
				t.Errorf("%+v, want %q at %d", got, c.input, c.step)
			}
		})
	}
}
