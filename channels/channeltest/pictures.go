package channeltest

import (
	"bytes"
	"context"
	"errors"
	"time"

	"parley/channels"
	"parley/core"
	"parley/core/turn"
)

// Album is a Platform on which people send pictures, as PNG.
type Album interface {
	// Discard makes the picture of a message gone.
	Discard(room Room, message string)
	// Stall keeps the next download waiting until whoever asks goes away.
	Stall()
	// Secrets must appear in no error.
	Secrets() []string
}

// png is what a picture of n bytes holds: all values of a byte, in no order that a text has.
func png(n int) []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	for i := len(out); i < n; i++ {
		out = append(out, byte(i*i>>3))
	}
	return out
}

// sent is the message of a room's last run as it is stored.
func (w *World) sent(room Room) (m core.Message) {
	w.t.Helper()
	c := w.Conversation(room)
	err := w.store.View(context.Background(), c, func(r turn.Reader) error {
		at, err := r.Conversation()
		if err != nil {
			return err
		}
		run, err := r.Run(at.Last)
		m = run.Message
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// show has alice send a picture with text, and returns the message as it is stored.
func (w *World) show(text string, data []byte) core.Message {
	w.t.Helper()
	id := w.Say(w.t, Saying{Who: Alice, Room: Direct, Text: text, Picture: data})
	w.Says(Direct, "Heard: "+text)
	w.Still(Direct)
	m := w.sent(Direct)
	if m.ID != id || m.Text != text || len(m.Files) != 1 || m.Files[0].Ref == "" || m.Files[0].Name == "" || m.Files[0].Size != int64(len(data)) {
		w.t.Fatalf("stored as %+v", m)
	}
	return m
}

// picturesReachTheModel reads a picture byte for byte, in this process and the next, and fails clearly.
func picturesReachTheModel(w *World) {
	album, want := w.Platform.(Album), png(70000)
	m := w.show("look at this", want)
	other := w.show("and at this", png(300))
	if m.Files[0].Ref == other.Files[0].Ref {
		w.t.Errorf("two pictures are found by %s", m.Files[0].Ref)
	}
	for range 2 {
		if got, err := w.hub.ReadFile(context.Background(), m, m.Files[0]); err != nil || !bytes.Equal(got, want) {
			w.t.Fatalf("read %d of %d bytes: %v", len(got), len(want), err)
		}
		w.Restart()
	}
	w.refuses("a picture that hangs", m, context.DeadlineExceeded, album.Stall)
	album.Discard(Direct, m.ID)
	w.refuses("a picture that is gone", m, channels.ErrFileGone, nil)
	w.refuses("a picture that is too big", w.show("a map", png(channels.MaxFile+1)), channels.ErrFileTooBig, nil)
}

// refuses reads a picture that cannot be had.
func (w *World) refuses(what string, m core.Message, want error, before func()) {
	w.t.Helper()
	ctx, patient := context.Background(), channels.FileTimeout
	if before != nil {
		before()
		patient = time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	data, err := w.hub.ReadFile(ctx, m, m.Files[0])
	if data != nil || !errors.Is(err, want) {
		w.t.Errorf("%s: %d bytes, %v, want %v", what, len(data), err, want)
	}
	if s := Leak(Printed(err), w.Platform.(Album).Secrets()...); s != "" {
		w.t.Errorf("%s: the error holds %s", what, s)
	}
}
