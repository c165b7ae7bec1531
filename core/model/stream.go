package model

import "context"

// Streamer is a Model that can tell how far its reply has come.
type Streamer interface {
	Model
	// Stream is Generate that calls text with the whole text of the reply so far, each time it has grown: the
	// caller replaces what it showed. A try that failed after its text was shown is taken back by a call with
	// a text that does not begin as the one before, at last "". text is called from the caller's goroutine,
	// never after Stream has returned. The reply is the one that Generate would have returned: what was
	// shown counts for nothing, and with an error nothing of it is to be kept.
	Stream(ctx context.Context, req Request, text func(soFar string)) (Response, error)
}

// Stream asks m for a reply, as a stream where m can stream. Any other model's text is told once, whole.
func Stream(ctx context.Context, m Model, req Request, text func(soFar string)) (Response, error) {
	if s, ok := m.(Streamer); ok {
		return s.Stream(ctx, req, text)
	}
	resp, err := m.Generate(ctx, req)
	if err == nil && resp.Text != "" {
		text(resp.Text)
	}
	return resp, err
}
