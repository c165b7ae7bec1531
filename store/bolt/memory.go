package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"parley/core/turn"
)

// forget is how many entries whose time is over one Remember removes, so that the bucket keeps its size.
const forget = 8

// The two kinds of entries of the bucket memory: what is remembered, and when it ends.
var (
	memoryKey = []byte("k")
	memoryEnd = []byte("t")
)

// Remember keeps a small value under a key for a while, and returns once that is durable. It replaces what
// was there.
func (s *Store) Remember(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	if name == "" || ttl <= 0 {
		return errors.New("store: remember: want a key and a time")
	}
	err := s.submit(ctx, turn.Scope{}, func(t *tx) error {
		k := key(nil).raw(memoryKey).id(name)
		if old := t.get(bMemory, k); len(old) >= 8 {
			if err := t.del(bMemory, key(nil).raw(memoryEnd).raw(old[:8]).id(name)); err != nil {
				return err
			}
		}
		until := key(nil).time(t.now.Add(ttl))
		if err := t.forgetOld(); err != nil {
			return err
		}
		return errors.Join(
			t.put(bMemory, k, key(nil).raw(until).raw(value)),
			t.put(bMemory, key(nil).raw(memoryEnd).raw(until).id(name), []byte{}),
		)
	})
	if err != nil {
		return fmt.Errorf("store: remember %q: %w", name, err)
	}
	return nil
}

// forgetOld removes some entries whose time is over.
func (t *tx) forgetOld() error {
	var ends [][]byte
	err := t.scan(bMemory, memoryEnd, nil, func(k, _ []byte) (bool, error) {
		p := parts{b: k[1:]}
		if at := p.nano(); p.err != nil || at > nanos(t.now) {
			return false, p.err
		}
		ends = append(ends, bytes.Clone(k))
		return len(ends) < forget, nil
	})
	for _, k := range ends {
		if err == nil {
			err = errors.Join(t.del(bMemory, k), t.del(bMemory, key(nil).raw(memoryKey).raw(k[9:])))
		}
	}
	return err
}

// Recall returns what is remembered under a key, while its time lasts.
func (s *Store) Recall(ctx context.Context, name string) (value []byte, ok bool, err error) {
	err = s.read(ctx, "", func(t *tx) error {
		value, ok = nil, false
		raw := t.get(bMemory, key(nil).raw(memoryKey).id(name))
		if raw == nil {
			return nil
		}
		p := parts{b: raw}
		at := p.nano()
		if p.err != nil {
			return damaged(bMemory, []byte(name), p.err)
		}
		if ok = at > nanos(t.now); ok {
			value = bytes.Clone(p.b)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("store: recall %q: %w", name, err)
	}
	return value, ok, err
}
