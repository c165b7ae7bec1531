package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// eventBody is a stream of server-sent events: each is read whole, its message annotated, and handed on.
type eventBody struct {
	from io.ReadCloser
	wire *wire
	// id is that of the request the stream answers, nil for none.
	id    json.RawMessage
	clear masker
	// ended, if set, is told once when the stream has ended.
	ended func()

	lines *bufio.Reader
	out   bytes.Buffer
	err   error
}

var errTooLarge = errors.New("an event is larger than what is read")

func (b *eventBody) Read(p []byte) (int, error) {
	for b.out.Len() == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.next()
	}
	return b.out.Read(p)
}

// Close ends the stream.
func (b *eventBody) Close() error {
	b.finish()
	return b.from.Close()
}

func (b *eventBody) finish() {
	if b.ended != nil {
		b.ended()
		b.ended = nil
	}
}

// next reads one event into out, or sets err.
func (b *eventBody) next() {
	if b.lines == nil {
		b.lines = bufio.NewReader(b.from)
	}
	var head, data bytes.Buffer
	has, size := false, 0
	for {
		line, err := b.line(&size)
		if errors.Is(err, errTooLarge) {
			b.skip(&head, bytes.HasSuffix(line, []byte("\n")))
			return
		}
		text := bytes.TrimRight(line, "\r\n")
		if rest, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			if has {
				data.WriteByte('\n')
			}
			has = true
			data.Write(bytes.TrimPrefix(rest, []byte(" ")))
		} else if len(text) > 0 {
			head.Write(text)
			head.WriteByte('\n')
		}
		if err != nil {
			b.err = err
			b.finish()
			if has && !json.Valid(data.Bytes()) {
				return // the stream ended within it
			}
		}
		if err != nil || len(text) == 0 {
			b.emit(&head, data.Bytes(), has)
			return
		}
	}
}

// line reads a line, counting towards the size of its event.
func (b *eventBody) line(size *int) (line []byte, err error) {
	for {
		part, err := b.lines.ReadSlice('\n')
		if *size += len(part); *size > maxMessage {
			return part, errTooLarge
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// skip drops the rest of an event that is too large; the request gets an error for its answer.
func (b *eventBody) skip(head *bytes.Buffer, atStart bool) {
	for {
		part, err := b.lines.ReadSlice('\n')
		whole := err == nil
		if atStart && len(bytes.TrimRight(part, "\r\n")) == 0 && whole || err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		atStart = whole
	}
	if instead := tooLarge(b.id); instead != nil {
		b.emit(head, instead, true)
	}
}

func (b *eventBody) emit(head *bytes.Buffer, data []byte, has bool) {
	b.out.Write(head.Bytes())
	if has {
		b.out.WriteString("data: ")
		// A line break in a message is white space between its parts: no string of JSON holds one.
		b.out.Write(bytes.ReplaceAll(b.wire.pass(b.clear.of(data), b.id), []byte("\n"), []byte(" ")))
		b.out.WriteByte('\n')
	}
	if head.Len() > 0 || has {
		b.out.WriteByte('\n')
	}
}
