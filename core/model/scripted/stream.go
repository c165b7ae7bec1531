package scripted

import (
	"context"
	"strings"

	"parley/core/model"
)

// pieces is in how many parts a reply is told while it "is written", where it has as many words.
const pieces = 4

// Stream is Generate that tells the text in a few pieces, each ending with a word. Nothing is waited for between
// them, so that a script is as fast with streaming as without.
func (m *Model) Stream(ctx context.Context, req model.Request, text func(soFar string)) (model.Response, error) {
	resp, err := m.Generate(ctx, req)
	if err != nil {
		return resp, err
	}
	for _, end := range ends(resp.Text) {
		if err := ctx.Err(); err != nil {
			return model.Response{}, stopped(err)
		}
		text(resp.Text[:end])
	}
	return resp, nil
}

// ends are the lengths that a text has grown to after each piece, the last its own.
func ends(s string) (out []int) {
	for n := 1; n < pieces; n++ {
		at := len(s) * n / pieces
		space := strings.IndexByte(s[at:], ' ')
		if space < 0 {
			break
		}
		at += space
		if len(out) == 0 && at > 0 || len(out) > 0 && at > out[len(out)-1] {
			out = append(out, at)
		}
	}
	if len(s) > 0 {
		out = append(out, len(s))
	}
	return out
}
