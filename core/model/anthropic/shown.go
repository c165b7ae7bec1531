package anthropic

import (
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// shown is the text of a reply that grows, told as it grows.
type shown struct {
	tell func(soFar string)
	text joined
	// other are the blocks that are no text: what comes in them is not the reply's.
	other map[int64]bool
}

// see takes one event of the stream.
func (s *shown) see(event anthropic.MessageStreamEventUnion) {
	var more string
	switch event.Type {
	case "message_start":
		s.other = nil
	case "content_block_start":
		kind := event.ContentBlock.Type
		s.text.block(kind)
		if s.other == nil {
			s.other = map[int64]bool{}
		}
		s.other[event.Index] = kind != "text"
		more = event.ContentBlock.Text
	case "content_block_delta":
		if event.Delta.Type == "text_delta" {
			more = event.Delta.Text
		}
	}
	if s.other[event.Index] {
		return
	}
	if more != "" {
		s.text.write(string([]rune(more))) // bytes that are no text become what JSON makes of them
		s.tell(s.text.String())
	}
}

// joined is the text of blocks put together: those with something else between them are paragraphs.
type joined struct {
	strings.Builder
	apart bool // a block that is no text came since text was written
}

// block begins a block.
func (j *joined) block(kind string) {
	if kind != "text" {
		j.apart = true
	}
}

// write adds text of the block.
func (j *joined) write(text string) {
	if text == "" {
		return
	}
	if j.apart && j.Len() > 0 {
		j.WriteString("\n\n")
	}
	j.apart = false
	j.WriteString(text)
}
