package bolt

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// key is built part by part; parts sort as their values do.
type key []byte

// keyTail is how much room str leaves for what commonly follows: its end, and a number or a time.
const keyTail = 1 + 8

// str appends s so that it ends by itself and sorts as s does.
func (k key) str(s string) key {
	k = slices.Grow(k, len(s)+keyTail)
	for _, c := range []byte(valid(s)) {
		if c <= 1 {
			k = append(k, 1)
			c++
		}
		k = append(k, c)
	}
	return append(k, 0)
}

// id appends s as it is; nothing may follow.
func (k key) id(s string) key { return append(k, valid(s)...) }

func (k key) raw(b []byte) key { return append(k, b...) }

func (k key) seq(n uint64) key { return binary.BigEndian.AppendUint64(k, n) }

func (k key) time(t time.Time) key { return k.nano(nanos(t)) }

// nano appends n so that negative numbers sort before positive ones.
func (k key) nano(n int64) key { return k.seq(uint64(n) ^ 1<<63) }

// The times that fit into a key; what lies beyond is stored as the nearest of them.
var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

func nanos(t time.Time) int64 {
	switch {
	case t.Before(firstTime):
		return math.MinInt64
	case t.After(lastTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// valid gives s the form it has after a round through JSON, so that a key made from a row that was
// read is the key it was stored under.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.Map(func(r rune) rune { return r }, s)
}

var errKey = errors.New("key has another form")

// parts takes a key apart in the order it was built. The first misfit is kept in err.
type parts struct {
	b   []byte
	err error
}

func (p *parts) str() string {
	var out []byte
	for i := 0; i < len(p.b); i++ {
		c := p.b[i]
		if c == 0 {
			p.b = p.b[i+1:]
			return string(out)
		}
		if c == 1 {
			if i++; i == len(p.b) || p.b[i] != 1 && p.b[i] != 2 {
				break
			}
			c = p.b[i] - 1
		}
		out = append(out, c)
	}
	p.fail()
	return ""
}

func (p *parts) seq() uint64 {
	if len(p.b) < 8 {
		p.fail()
		return 0
	}
	n := binary.BigEndian.Uint64(p.b)
	p.b = p.b[8:]
	return n
}

func (p *parts) nano() int64 { return int64(p.seq() ^ 1<<63) }

func (p *parts) byte() byte {
	if len(p.b) == 0 {
		p.fail()
		return 0
	}
	c := p.b[0]
	p.b = p.b[1:]
	return c
}

// id takes the rest.
func (p *parts) id() string {
	s := string(p.b)
	p.b = nil
	return s
}

func (p *parts) fail() {
	p.b, p.err = nil, errKey
}

// end reports whether the key fitted and nothing is left.
func (p *parts) end() error {
	if p.err == nil && len(p.b) > 0 {
		p.fail()
	}
	return p.err
}
