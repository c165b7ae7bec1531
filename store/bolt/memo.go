package bolt

import (
	"reflect"
	"sync"
)

const (
	// memoBytes bounds how many bytes of rows one generation of a memo stands for, memoRow those of one row.
	memoBytes = 1 << 20
	memoRow   = 16 << 10
)

// memo remembers rows as they were decoded, by their bytes. The same bytes are the same row, whoever wrote
// them and whether or not their transaction was undone, so that nothing in it is ever out of date. What it
// holds is never changed: who reads gets a copy. The rows used last stay, in two generations.
type memo struct {
	mu         sync.Mutex
	young, old map[string]any // pointers to rows
	size       int            // of young
}

// get returns a pointer to the row of these bytes, nil if it is not remembered.
func (m *memo) get(raw []byte) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if row, ok := m.young[string(raw)]; ok {
		return row
	}
	row, ok := m.old[string(raw)]
	if ok {
		m.keep(raw, row)
	}
	return row
}

// put remembers a row that nobody else holds.
func (m *memo) put(raw []byte, row any) {
	if len(raw) > memoRow {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(raw, row)
}

// written remembers a row that was encoded, unless decoding might give another one.
func written[T any](m *memo, raw []byte, v T) {
	if len(raw) > memoRow {
		return
	}
	row := new(T)
	if *row = clone(&v); canonical(reflect.ValueOf(row).Elem()) {
		m.put(raw, row)
	}
}

func (m *memo) keep(raw []byte, row any) {
	if m.young == nil || m.size+len(raw) > memoBytes {
		m.young, m.old, m.size = map[string]any{}, m.young, 0
	}
	m.young[string(raw)] = row
	m.size += len(raw)
}

// peek decodes a row, or finds it decoded. What it points to is shared: it is read and not changed.
func peek[T any](t *tx, b *bucket, raw []byte) (*T, error) {
	if b.hot {
		if row, ok := t.s.memo.get(raw).(*T); ok {
			return row, nil
		}
	}
	row := new(T)
	if err := decode(raw, row); err != nil {
		return nil, err
	}
	if b.hot {
		t.s.memo.put(raw, row)
	}
	return row, nil
}

// owned decodes a row; what it returns shares no memory with anything.
func owned[T any](t *tx, b *bucket, raw []byte) (T, error) {
	found, err := peek[T](t, b, raw)
	if err != nil {
		var none T
		return none, err
	}
	if b.hot {
		return clone(found), nil
	}
	return *found, nil
}
