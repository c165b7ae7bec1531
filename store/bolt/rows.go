package bolt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"parley/core/turn"
)

// rowVersion stands before the JSON of every row that this program writes.
const rowVersion = 1

// scratch is where rows are encoded.
var scratch = sync.Pool{New: func() any {
	var s encoder
	s.json = json.NewEncoder(&s.buf)
	s.json.SetEscapeHTML(false)
	return &s
}}

type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// encode gives the bytes of a row. HTML is not escaped: frozen arguments keep their bytes.
func encode(v any) ([]byte, error) {
	s := scratch.Get().(*encoder)
	s.buf.Reset()
	s.buf.WriteByte(rowVersion)
	if err := s.json.Encode(v); err != nil {
		return nil, err
	}
	raw := bytes.Clone(bytes.TrimSuffix(s.buf.Bytes(), []byte("\n")))
	if s.buf.Cap() <= 64<<10 { // one long row is not to hold its memory for good
		scratch.Put(s)
	}
	return raw, nil
}

// decode reads a row of any version so far. What it returns shares no memory with raw.
func decode(raw []byte, v any) error {
	if len(raw) == 0 {
		return of(turn.ErrDamaged, "the row is damaged: it is empty")
	}
	if raw[0] != rowVersion {
		return of(turn.ErrDamaged, "the row is damaged: its version %d is not known to this program", raw[0])
	}
	if err := json.Unmarshal(raw[1:], v); err != nil {
		return of(turn.ErrDamaged, "the row is damaged: %w", err)
	}
	return nil
}

func damaged(b *bucket, k []byte, err error) error {
	return fmt.Errorf("store: bucket %s, key %q: %w", b, k, err)
}
