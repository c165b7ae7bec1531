package rest

import (
	"context"
	"testing"

	"parley/core"
)

// gappy is a log of which only some places are left.
type gappy struct {
	Rows
	seqs  []uint64
	reads int
}

func (g *gappy) Events(_ context.Context, _ core.RunID, after uint64, limit int) (out []core.Event, _ error) {
	g.reads++
	for _, n := range g.seqs {
		if n > after && len(out) < limit {
			out = append(out, core.Event{Seq: n})
		}
	}
	return out, nil
}

// TestNewest finds the end of a log with gaps, from anywhere before it, in few reads.
func TestNewest(t *testing.T) {
	t.Parallel()
	long := make([]uint64, 0, 10_000)
	for n := uint64(1_000_000); len(long) < 10_000; n += 1 + n%7 {
		long = append(long, n)
	}
	for _, seqs := range [][]uint64{nil, {1}, {2}, {1, 2}, {1, 5}, {7, 8, 9, 100}, {3, 1 << 40}, long} {
		want := uint64(0)
		if len(seqs) > 0 {
			want = seqs[len(seqs)-1]
		}
		for _, from := range []uint64{0, 1, want / 2, want} {
			if from > want {
				continue
			}
			g := &gappy{seqs: seqs}
			got, err := newest(t.Context(), g, from)
			if err != nil || got != max(want, from) || g.reads > 200 {
				t.Errorf("%d places, from %d: %d in %d reads, want %d, %v", len(seqs), from, got, g.reads, want, err)
			}
		}
	}
}

// TestRingForgets the oldest, and says from where on it is whole.
func TestRingForgets(t *testing.T) {
	t.Parallel()
	f := newFeed(nil)
	for n := uint64(1); n <= 3*ringSize; n++ {
		f.add(entry{seq: n})
	}
	if len(f.ring) > ringSize || f.ring[0].seq != f.floor+1 || f.last != 3*ringSize || f.ring[len(f.ring)-1].seq != f.last {
		t.Errorf("%d entries from %d, floor %d, last %d", len(f.ring), f.ring[0].seq, f.floor, f.last)
	}
}

func TestRightsOfATokenSpeakForNobodyByDefault(t *testing.T) {
	t.Parallel()
	a := &API{c: Config{Canonical: func(who core.PersonID) core.PersonID {
		if who == "s:U1" {
			return "s:T1/U1"
		}
		return who
	}}}
	for _, tt := range []struct {
		speaksFor []string
		from      string
		want      core.PersonID
	}{
		{nil, "s:U1", ""}, {[]string{"s:U1"}, "s:U1", "s:T1/U1"}, {[]string{"s:U1"}, "s:T1/U1", "s:T1/U1"}, {[]string{"s:U1"}, "", "s:T1/U1"},
		{[]string{"s:*"}, "s:U9", "s:U9"}, {[]string{"s:*"}, "", ""}, {[]string{"s:*"}, "st:U9", ""}, {[]string{"*"}, "s:U9", ""}, {[]string{"s:U1", "s:U2"}, "", ""},
		{[]string{"s:U1"}, "s:u1", ""}, {[]string{"s:U1"}, " s:U1", ""},
	} {
		c := &call{a: a, token: &token{Token: Token{SpeaksFor: tt.speaksFor}}}
		var from *string
		if tt.from != "" {
			from = &tt.from
		}
		if who, err := c.person(from, ""); who != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q as %q: %q, %v", tt.speaksFor, tt.from, who, err)
		}
	}
}
