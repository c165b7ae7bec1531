package terminal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// maxLine is the longest line that is taken, in bytes.
const maxLine = 1 << 20

// errTooLong is a line longer than maxLine; it was skipped to its end.
var errTooLong = errors.New("the line is longer than 1 MiB")

// read is one line with its place, or why there is none. io.EOF ends the input.
type read struct {
	line  string
	order uint64
	err   error
}

// lineReader reads a line when it is asked to, in a goroutine of its own, since a read cannot be called off.
// The goroutine ends with the input, or when stop is closed and its last read has returned.
type lineReader struct {
	want chan struct{}
	got  chan read
	stop chan struct{}
	// place is called as soon as a line was read: what is written from then on stands below it.
	place func() uint64
}

func newLineReader(in io.Reader, place func() uint64) *lineReader {
	r := &lineReader{want: make(chan struct{}), got: make(chan read, 1), stop: make(chan struct{}), place: place}
	go r.loop(bufio.NewReaderSize(in, 64<<10))
	return r
}

func (r *lineReader) loop(in *bufio.Reader) {
	for {
		select {
		case <-r.want:
		case <-r.stop:
			return
		}
		line, err := readLine(in)
		r.got <- read{line, r.place(), err}
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
	}
}

// next waits for a line, until ctx ends. A line that was read by then is returned.
func (r *lineReader) next(ctx context.Context) (read, bool) {
	select {
	case r.want <- struct{}{}:
	case <-ctx.Done():
		return read{}, false
	}
	select {
	case got := <-r.got:
		return got, true
	case <-ctx.Done():
	}
	select {
	case got := <-r.got:
		return got, true
	default:
		return read{}, false
	}
}

// readLine reads up to the next line feed. What is no UTF-8 becomes U+FFFD, so that it can make no word of
// what it was put into. The last line needs no line feed.
func readLine(in *bufio.Reader) (string, error) {
	var b strings.Builder
	long := false
	for {
		piece, err := in.ReadSlice('\n')
		if long = long || b.Len()+len(piece) > maxLine; !long {
			b.Write(piece)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return "", errTooLong
		case errors.Is(err, io.EOF) && b.Len() > 0, err == nil:
			line := strings.TrimSuffix(strings.TrimSuffix(b.String(), "\n"), "\r")
			return strings.ToValidUTF8(line, "\uFFFD"), nil
		default:
			return "", err
		}
	}
}
