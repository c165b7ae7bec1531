package bolt

import (
	"bytes"
	"encoding/json"
	"fmt"

	"parley/core/turn"
)

// rowVersion stands before the JSON of every row that this program writes.
const rowVersion = 1

// encode gives the bytes of a row. HTML is not escaped: frozen arguments keep their bytes.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte(rowVersion)
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
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
