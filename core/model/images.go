package model

import (
	"fmt"
	"slices"
	"strings"
)

// Image is a picture that came with a user message.
type Image struct {
	Name string // as the person's file was called; may be empty
	Type string // a MIME type
	Data []byte
}

// The bounds of what one request carries. A picture beyond them is named in text instead.
const (
	MaxImages     = 20       // pictures in a request, the newest ones
	MaxImageBytes = 5 << 20  // bytes of one picture
	MaxImageTotal = 20 << 20 // bytes of all
)

// imageTypes are what every service that takes pictures can read.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// FitImages returns the messages with those pictures that can be sent: none unless the model takes them,
// none of another type or size than services read, and no more than fit, the newest first. A picture that
// is left out is named at the end of its message's text. The messages given are not changed.
func FitImages(messages []Message, takes bool) []Message {
	out := messages
	count, total := 0, 0
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if len(m.Images) == 0 {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		var kept []Image
		for _, img := range m.Images {
			fits := takes && m.Role == RoleUser && slices.Contains(imageTypes, img.Type) && len(img.Data) > 0 && len(img.Data) <= MaxImageBytes &&
				count < MaxImages && total+len(img.Data) <= MaxImageTotal
			if !fits {
				m.Text = strings.TrimPrefix(m.Text+"\n"+img.leftOut(), "\n")
				continue
			}
			count++
			total += len(img.Data)
			kept = append(kept, img)
		}
		m.Images = kept
		out[i] = m
	}
	return out
}

// leftOut is what stands in the place of a picture.
func (img Image) leftOut() string {
	name := img.Name
	if name == "" {
		name = "without a name"
	}
	return fmt.Sprintf("(a picture that you cannot see: %s, %s, %d bytes)", name, img.Type, len(img.Data))
}
