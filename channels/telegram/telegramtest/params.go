package telegramtest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxUpload bounds what a request may hold.
const maxUpload = 50 << 20

// params are the arguments of a call.
type params struct {
	values url.Values
	file   string // name of the document
	data   []byte
}

func readParams(r *http.Request) (params, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, maxUpload)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		if err := r.ParseForm(); err != nil {
			return params{}, errors.New("the request cannot be read")
		}
		return params{values: r.Form}, nil
	}
	if err := r.ParseMultipartForm(maxUpload); err != nil {
		return params{}, errors.New("the upload cannot be read")
	}
	p := params{values: r.Form}
	f, head, err := r.FormFile("document")
	if err != nil {
		return p, nil
	}
	defer f.Close()
	p.file = head.Filename
	p.data, err = io.ReadAll(f)
	return p, err
}

func (p params) str(name string) string { return p.values.Get(name) }

func (p params) num(name string) int64 {
	n, _ := strconv.ParseInt(p.values.Get(name), 10, 64) // a missing or crooked number is 0, which is no id
	return n
}

func (p params) yes(name string) bool { return p.values.Get(name) == "true" }

// Entity marks a range of a text in UTF-16 code units.
type Entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
}

// Button is one inline button as it stands under a message.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data,omitempty"`
	URL  string `json:"url,omitempty"`
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// body reads the text or caption of a call with its marks, as strictly as it can be read.
func (p params) body(field, marks string, limit int) (string, []Entity, *refusal) {
	text := p.str(field)
	switch {
	case p.values.Has("parse_mode"):
		return "", nil, bad("can't parse entities: this server takes no parse_mode")
	case !utf8.ValidString(text):
		return "", nil, bad("strings must be encoded in UTF-8")
	case units(text) > limit && field == "text":
		return "", nil, bad("message is too long")
	case units(text) > limit:
		return "", nil, bad("message caption is too long")
	}
	var es []Entity
	raw := p.str(marks)
	if raw == "" || raw == "null" {
		return text, nil, nil
	}
	if err := json.Unmarshal([]byte(raw), &es); err != nil {
		return "", nil, bad("can't parse entities: not a list of MessageEntity")
	}
	for _, e := range es {
		if e.Type == "" || e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > units(text) {
			return "", nil, bad("can't parse entities: an entity lies outside the text")
		}
		if splitsPair(text, e.Offset) || splitsPair(text, e.Offset+e.Length) {
			return "", nil, bad("can't parse entities: an entity begins or ends inside a character")
		}
	}
	return text, es, nil
}

// splitsPair reports whether offset lies between the two halves of a character.
func splitsPair(text string, offset int) bool {
	all := utf16.Encode([]rune(text))
	return offset > 0 && offset < len(all) && utf16.DecodeRune(rune(all[offset-1]), rune(all[offset])) != utf8.RuneError
}

// markup reads the buttons of a call; forced is a ForceReply.
func (p params) markup() (rows [][]Button, forced bool, no *refusal) {
	raw := p.str("reply_markup")
	if raw == "" || raw == "null" {
		return nil, false, nil
	}
	var m struct {
		Rows  [][]Button `json:"inline_keyboard"`
		Force bool       `json:"force_reply"`
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		return nil, false, bad("can't parse reply keyboard markup JSON object")
	}
	n := 0
	for _, row := range m.Rows {
		n += len(row)
		for _, b := range row {
			switch {
			case strings.TrimSpace(b.Text) == "":
				return nil, false, bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case b.URL == "" && (b.Data == "" || len(b.Data) > 64), b.URL != "" && b.Data != "":
				return nil, false, bad("BUTTON_DATA_INVALID")
			case b.URL != "" && !strings.HasPrefix(b.URL, "https://") && !strings.HasPrefix(b.URL, "http://"):
				return nil, false, bad("BUTTON_URL_INVALID")
			}
		}
	}
	if n > 100 {
		return nil, false, bad("reply markup is too long")
	}
	return m.Rows, m.Force, nil
}

// replyTo reads which message a call replies to.
func (p params) replyTo() (id int64, anyway bool, no *refusal) {
	raw := p.str("reply_parameters")
	if raw == "" {
		return p.num("reply_to_message_id"), p.yes("allow_sending_without_reply"), nil
	}
	var r struct {
		ID     int64 `json:"message_id"`
		Anyway bool  `json:"allow_sending_without_reply"`
	}
	if err := json.Unmarshal([]byte(raw), &r); err != nil || r.ID <= 0 {
		return 0, false, bad("can't parse reply parameters")
	}
	return r.ID, r.Anyway, nil
}
