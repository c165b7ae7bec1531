package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core"
	"parley/core/model"
)

// How pictures are read for one model request: all within a time, a few at once.
const (
	pictureTime     = 15 * time.Second
	picturesAtOnce  = 4
	pictureCache    = 32 << 20        // bytes kept in memory by an engine
	pictureTryAgain = 5 * time.Minute // after which one that could not be opened is tried again
)

// picture is a file of a message that a model may see.
type picture struct {
	message core.Message
	file    core.File
}

// album says which file stands behind each picture of the messages for a model. A picture is a place without
// bytes until the request is about to be sent: what is left out of it is not read.
type album map[*model.Image]picture

// pictureTypes are the files that are taken for pictures, by type and by the end of the name.
var pictureTypes = map[string]string{
	"image/png": "image/png", "image/jpeg": "image/jpeg", "image/jpg": "image/jpeg", "image/gif": "image/gif", "image/webp": "image/webp",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
}

// pictureType is the type of a file that may be a picture, "" for any other.
func pictureType(f core.File) string {
	declared, _, _ := strings.Cut(strings.ToLower(f.Type), ";")
	if declared == "" {
		declared = path.Ext(strings.ToLower(f.Name))
	}
	return pictureTypes[strings.TrimSpace(declared)]
}

// sniff is the type that the bytes of a picture say, "" for what is none.
func sniff(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// userMessage is a person's message as the model sees it. Files are named; where there is an album, pictures
// get a place in it instead.
func userMessage(m core.Message, a album) model.Message {
	out := model.Message{Role: model.RoleUser, Text: strings.ToValidUTF8(m.Text, "\uFFFD")}
	var shown []core.File
	for _, f := range m.Files {
		if a != nil && f.Ref != "" && pictureType(f) != "" {
			shown = append(shown, f)
			continue
		}
		out.Text += "\n" + named(f, "sent a file")
	}
	out.Text = strings.TrimPrefix(out.Text, "\n")
	if len(shown) == 0 {
		return out
	}
	out.Images = make([]model.Image, len(shown))
	for i, f := range shown {
		out.Images[i] = model.Image{Name: f.Name, Type: pictureType(f)}
		a[&out.Images[i]] = picture{m, f}
	}
	return out
}

// named is the line that stands for a file.
func named(f core.File, what string) string {
	return fmt.Sprintf("(%s: %s, %s, %d bytes)", what, f.Name, f.Type, f.Size)
}

// Why a picture is only named. The sentences are for the model.
var (
	errPictureGone  = errors.New("sent a picture that could not be opened")
	errPictureLarge = errors.New("sent a picture that is too large to be seen")
	errPictureOver  = errors.New("sent a picture that is not shown, to save room")
)

// showPictures gives the pictures of a request their bytes: the newest ones, as many as a request may carry.
// One that cannot be had is named at the end of its message, and the request goes on without it.
func (e *Engine) showPictures(ctx context.Context, messages []model.Message, a album) []model.Message {
	type place struct{ message, image int }
	var want []place
	for i := len(messages) - 1; i >= 0; i-- {
		for j := range messages[i].Images {
			want = append(want, place{i, j})
		}
	}
	if len(want) == 0 {
		return messages
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	got, errs := make([][]byte, len(want)), make([]error, len(want))
	slots := make(chan struct{}, picturesAtOnce)
	var all sync.WaitGroup
	for n, at := range want {
		if n >= model.MaxImages {
			errs[n] = errPictureOver
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			got[n], errs[n] = e.openPicture(ctx, a[&messages[at.message].Images[at.image]])
		})
	}
	all.Wait()
	out, total := slices.Clone(messages), 0
	for i := range out {
		out[i].Images = slices.Clone(out[i].Images)
	}
	for n, at := range want {
		if errs[n] == nil && total+len(got[n]) > model.MaxImageTotal {
			errs[n] = errPictureOver
		}
		m, file := &out[at.message], a[&messages[at.message].Images[at.image]].file
		if errs[n] != nil {
			m.Text = strings.TrimPrefix(m.Text+"\n"+named(file, errs[n].Error()), "\n")
			continue
		}
		total += len(got[n])
		m.Images[at.image].Data, m.Images[at.image].Type = got[n], sniff(got[n])
	}
	for i := range out {
		out[i].Images = slices.DeleteFunc(out[i].Images, func(img model.Image) bool { return img.Data == nil })
	}
	return out
}

// openPicture reads one picture, from memory where it was read before. Its error is one of those above.
func (e *Engine) openPicture(ctx context.Context, p picture) ([]byte, error) {
	if p.file.Size > model.MaxImageBytes {
		return nil, errPictureLarge
	}
	key := string(p.message.Conversation) + "|" + p.message.ID + "|" + p.file.Ref
	data, err, known := e.pictures.get(key, e.store.Now())
	if known {
		return data, err
	}
	data, err = safelyRead(ctx, e.readFile, p)
	switch {
	case err != nil:
		e.log.Warn("open a picture", "conversation", p.message.Conversation, "message", p.message.ID, "err", err)
		err = errPictureGone
	case len(data) > model.MaxImageBytes:
		err = errPictureLarge
	case sniff(data) == "":
		err = errPictureGone
	}
	if err != nil {
		data = nil
	}
	if !errors.Is(ctx.Err(), context.Canceled) { // an abort says nothing about the picture
		e.pictures.put(key, data, err, e.store.Now())
	}
	return data, err
}

// safelyRead turns a reader's panic into an error: a picture never ends a turn.
func safelyRead(ctx context.Context, read func(context.Context, core.Message, core.File) ([]byte, error), p picture) (data []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the reader crashed: %v", v)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return read(ctx, p.message, p.file)
}
