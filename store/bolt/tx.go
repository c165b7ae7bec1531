package bolt

import (
	"bytes"
	"fmt"
	"time"

	bbolt "go.etcd.io/bbolt"

	"parley/core"
	"parley/core/turn"
)

// tx is one closure's view of a bbolt transaction: the Reader and Tx of the port.
type tx struct {
	s     *Store
	btx   *bbolt.Tx
	conv  core.ConversationID
	claim *turn.Claim
	now   time.Time
	// dirty says that something was written: if the closure fails, the transaction must be undone.
	dirty bool
	// woke says that something may be due once this is committed.
	woke bool
	// bad takes the rows that cannot be read while a walk goes on; nil ends the walk.
	bad func(b *bucket, k []byte, err error)
}

// damage is the panic of bbolt on a page that it cannot read.
type damage struct {
	bucket *bucket
	cause  any
}

func (d damage) err() error {
	where := "the file"
	if d.bucket != nil {
		where = "bucket " + d.bucket.String()
	}
	return of(turn.ErrDamaged, "store: %s has an unreadable page (%v): restore a backup", where, d.cause)
}

// guard tells a panic of bbolt apart from one of the closure. It must be deferred directly.
func guard(b *bucket) {
	switch r := recover().(type) {
	case nil:
	case damage:
		panic(r)
	default:
		panic(damage{bucket: b, cause: r})
	}
}

// at returns a bucket. One that is missing is nil for a reader, and made again for a writer.
func (t *tx) at(b *bucket) *bbolt.Bucket {
	found := t.btx.Bucket(b.name)
	if !t.btx.Writable() {
		return found
	}
	if found == nil {
		made, err := t.btx.CreateBucketIfNotExists(b.name)
		if err != nil {
			panic(err)
		}
		t.dirty, found = true, made
	}
	if b.ordered {
		found.FillPercent = fill
	}
	return found
}

// exists reports whether the file has the bucket, and the last number that it gave out.
func (t *tx) exists(b *bucket) (last uint64, ok bool) {
	defer guard(b)
	if found := t.btx.Bucket(b.name); found != nil {
		return found.Sequence(), true
	}
	return 0, false
}

// get returns bytes that die with the transaction, nil if there are none.
func (t *tx) get(b *bucket, k []byte) []byte {
	defer guard(b)
	t.s.keys.Add(1)
	found := t.at(b)
	if found == nil {
		return nil
	}
	return found.Get(k)
}

func (t *tx) put(b *bucket, k, v []byte) error {
	defer guard(b)
	if !t.btx.Writable() {
		return fmt.Errorf("store: write to bucket %s: %w", b, ErrReadOnly)
	}
	t.dirty = true
	if err := t.at(b).Put(k, v); err != nil {
		return fmt.Errorf("store: write to bucket %s, key of %d bytes: %w", b, len(k), err)
	}
	return nil
}

func (t *tx) del(b *bucket, k []byte) error {
	defer guard(b)
	t.dirty = true
	if err := t.at(b).Delete(k); err != nil {
		return fmt.Errorf("store: delete from bucket %s, key %q: %w", b, k, err)
	}
	return nil
}

// next is the bucket's next sequence number, from 1.
func (t *tx) next(b *bucket) (uint64, error) {
	defer guard(b)
	t.dirty = true
	return t.at(b).NextSequence()
}

// scan calls f for each entry whose key begins with prefix, from the given key on (nil: the first),
// until f returns false. f must not write to the bucket.
func (t *tx) scan(b *bucket, prefix, from []byte, f func(k, v []byte) (bool, error)) error {
	defer guard(b)
	found := t.at(b)
	if found == nil {
		return nil
	}
	if from == nil {
		from = prefix
	}
	cur := found.Cursor()
	for k, v := cur.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		t.s.keys.Add(1)
		if more, err := f(k, v); err != nil || !more {
			return err
		}
	}
	return nil
}

// lastSeq is the sequence number at the end of the prefix's last key; ok is false if there is none.
func (t *tx) lastSeq(b *bucket, prefix []byte) (n uint64, ok bool) {
	defer guard(b)
	found := t.at(b)
	if found == nil {
		return 0, false
	}
	cur := found.Cursor()
	k, _ := cur.Seek(key(nil).raw(prefix).seq(1<<64 - 1))
	if k == nil {
		k, _ = cur.Last()
	} else if !bytes.HasPrefix(k, prefix) {
		k, _ = cur.Prev()
	}
	t.s.keys.Add(2)
	if !bytes.HasPrefix(k, prefix) {
		return 0, false
	}
	p := parts{b: k[len(prefix):]}
	n = p.seq()
	return n, p.end() == nil
}

// lookup reads a row; ok is false if there is none.
func lookup[T any](t *tx, b *bucket, k []byte) (v T, ok bool, err error) {
	raw := t.get(b, k)
	if raw == nil {
		return v, false, nil
	}
	if v, err = owned[T](t, b, raw); err != nil {
		return v, false, damaged(b, k, err)
	}
	return v, true, nil
}

// glance is lookup for a row that is only looked at: it is shared and not changed. nil if there is none.
func glance[T any](t *tx, b *bucket, k []byte) (*T, error) {
	raw := t.get(b, k)
	if raw == nil {
		return nil, nil
	}
	v, err := peek[T](t, b, raw)
	if err != nil {
		return nil, damaged(b, k, err)
	}
	return v, nil
}

// load reads a row that must be there.
func load[T any](t *tx, b *bucket, k []byte) (T, error) {
	v, ok, err := lookup[T](t, b, k)
	if err == nil && !ok {
		err = fmt.Errorf("store: %s %q: %w", b, k, turn.ErrNotFound)
	}
	return v, err
}

// list reads the rows below a prefix, at most limit of them (0: all).
func list[T any](t *tx, b *bucket, prefix []byte, limit int) (out []T, err error) {
	err = t.scan(b, prefix, nil, func(k, raw []byte) (bool, error) {
		v, err := owned[T](t, b, raw)
		if err != nil {
			return false, damaged(b, k, err)
		}
		out = append(out, v)
		return len(out) != limit, nil
	})
	return out, err
}

// store writes a row.
func store[T any](t *tx, b *bucket, k []byte, v T) error {
	raw, err := encode(v)
	if err != nil {
		return fmt.Errorf("store: encode %s %q: %w", b, k, err)
	}
	if b.hot {
		written(&t.s.memo, raw, v)
	}
	return t.put(b, k, raw)
}

// own refuses a row of another conversation than the scope's: its claim does not cover that one.
func (t *tx) own(what string, id core.ConversationID) error {
	if id != t.conv {
		return fmt.Errorf("store: %s of conversation %q in a transaction on %q: open one on its own conversation", what, id, t.conv)
	}
	return nil
}
