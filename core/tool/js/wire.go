package js

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// Parent and child speak lines of JSON: the parent sends a start, then one reply to each call; the child
// sends calls and prints, then one end.

type start struct {
	Code  string   `json:"code"`
	Most  int      `json:"most"` // bytes of the result, and of one print
	Names []string `json:"names"`
}

type reply struct {
	Text  string          `json:"text,omitempty"`  // the result as text
	Value json.RawMessage `json:"value,omitempty"` // or as JSON
	Error string          `json:"error,omitempty"`
}

type message struct {
	Call  *call   `json:"call,omitempty"`
	Print *string `json:"print,omitempty"`
	End   *end    `json:"end,omitempty"`
}

type call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

type end struct {
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

const (
	maxArguments = 1_000_000 // characters of a call's arguments
	maxLine      = 16 << 20
)

var errLine = errors.New("a message is too long")

// readLine reads one message into v.
func readLine(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return errLine
		}
		if err == nil {
			return json.Unmarshal(line, v)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
