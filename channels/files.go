package channels

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core"
)

// How much of a file is read, and how long that may take with all the calls it needs.
const (
	MaxFile     = 5 << 20 // bytes
	FileTimeout = 20 * time.Second
)

// Why a file is not read. Errors of ReadFile wrap one of them where they can tell.
var (
	// ErrNotOpen: the file has no Ref, or its channel is not here or opens none.
	ErrNotOpen = errors.New("it cannot be opened here")
	// ErrFileGone: the platform does not have it any more, or does not show it to the bot.
	ErrFileGone = errors.New("it is gone, or not shown to the bot")
	// ErrFileTooBig: it holds more than MaxFile.
	ErrFileTooBig = errors.New("it is larger than 5 MB")
)

// FileReader is implemented by adapters that can open what people attach.
type FileReader interface {
	// ReadFile returns what the file of a message holds, at most MaxFile bytes within FileTimeout. It works
	// in every process, before and after Run. No error of it holds a secret.
	ReadFile(ctx context.Context, m core.Message, f core.File) ([]byte, error)
}

// ReadFile reads a file of a message from the channel it came by. It asks the platform each time: nothing is
// kept, and nothing of the Hub waits for it.
func (h *Hub) ReadFile(ctx context.Context, m core.Message, f core.File) ([]byte, error) {
	data, err := h.readFile(ctx, m, f)
	if err != nil {
		return nil, fmt.Errorf("read file %q of message %s: %w", f.Name, m.ID, err)
	}
	return data, nil
}

func (h *Hub) readFile(ctx context.Context, m core.Message, f core.File) ([]byte, error) {
	if f.Ref == "" {
		return nil, ErrNotOpen
	}
	if f.Size > MaxFile {
		return nil, ErrFileTooBig
	}
	name := m.Conversation.Channel()
	for _, p := range h.ports {
		if p.name != name {
			continue
		}
		r, ok := p.Adapter.(FileReader)
		if !ok {
			return nil, fmt.Errorf("channel %q opens no files: %w", name, ErrNotOpen)
		}
		ctx, cancel := context.WithTimeout(ctx, FileTimeout)
		defer cancel()
		return r.ReadFile(ctx, m, f)
	}
	return nil, fmt.Errorf("no channel %q in the configuration: %w", name, ErrNotOpen)
}
