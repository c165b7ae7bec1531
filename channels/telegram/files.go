package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/channels"
	"parley/core"
)

var _ channels.FileReader = (*Adapter)(nil)

// object is what Telegram says of an attachment, or of a photo in one size.
type object struct {
	Ref    string `json:"file_id"`
	Name   string `json:"file_name"`
	Type   string `json:"mime_type"`
	Size   int64  `json:"file_size"`
	Width  int64  `json:"width"`
	Height int64  `json:"height"`
	Emoji  string `json:"emoji"`
}

// describe fills in what Telegram says of an attachment. Anything unreadable is left out: the name of its kind
// stays.
func describe(f *core.File, raw json.RawMessage) {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		var sizes []object
		if json.Unmarshal(raw, &sizes) != nil || len(sizes) == 0 {
			return
		}
		o = largest(sizes)
	}
	switch {
	case o.Name != "":
		f.Name = o.Name
	case f.Name == "sticker" && o.Emoji != "":
		f.Name += " " + o.Emoji
	}
	if o.Type != "" {
		f.Type = o.Type
	}
	if o.Size > 0 {
		f.Size = o.Size
	}
	f.Ref = o.Ref
}

// largest is the size of a photo that shows most and can still be read; the smallest where none can.
func largest(sizes []object) object {
	best, least := object{Width: -1}, sizes[0]
	for _, o := range sizes {
		if o.Size <= channels.MaxFile && (o.Width*o.Height > best.Width*best.Height || o.Width*o.Height == best.Width*best.Height && o.Size >= best.Size) {
			best = o
		}
		if o.Size < least.Size {
			least = o
		}
	}
	if best.Width < 0 {
		return least
	}
	return best
}

// ReadFile asks where a file is, and fetches it from there. The address holds the bot token.
func (a *Adapter) ReadFile(ctx context.Context, _ core.Message, f core.File) ([]byte, error) {
	if f.Ref == "" {
		return nil, fmt.Errorf("telegram: no file: %w", channels.ErrNotOpen)
	}
	ctx, cancel := context.WithTimeout(ctx, channels.FileTimeout)
	defer cancel()
	var at struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if err := a.api.call(ctx, "getFile", tgbotapi.Params{"file_id": f.Ref}, &at); err != nil {
		return nil, fileError(err)
	}
	switch path, ok := escapePath(at.Path); {
	case at.Size > channels.MaxFile:
		return nil, fmt.Errorf("telegram getFile: %w", channels.ErrFileTooBig)
	case !ok:
		// A server of one's own in local mode names a file of its disk.
		return nil, fmt.Errorf("telegram getFile: the answer names no path to fetch from (is the Bot API server in local mode?): %w", channels.ErrNotOpen)
	default:
		return channels.Download{What: "telegram file", URL: a.api.fileURL(path), Client: a.api.http, Redact: a.api.redact}.Read(ctx)
	}
}

// fileURL is the address of a file.
func (c *client) fileURL(path string) string { return c.base + "/file/bot" + c.token() + "/" + path }

// escapePath is a path below that of the files, as a part of an address; ok is false for any other.
func escapePath(path string) (escaped string, ok bool) {
	var out []string
	for _, part := range strings.Split(path, "/") {
		if part == "" || part == "." || part == ".." || strings.Contains(part, `\`) {
			return "", false
		}
		out = append(out, url.PathEscape(part))
	}
	return strings.Join(out, "/"), true
}

// fileError says what a failure to find a file means.
func fileError(err error) error {
	var e *callError
	if !errors.As(err, &e) || e.Code != 400 {
		return err
	}
	if e.says("too big") {
		return fmt.Errorf("%w: %w", e, channels.ErrFileTooBig)
	}
	return fmt.Errorf("%w: %w", e, channels.ErrFileGone)
}
