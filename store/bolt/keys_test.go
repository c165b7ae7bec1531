package bolt

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestKeysSortAsTheirParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune{0, 1, 2, 'a', 'b', 0x10FFFF}))
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		m, n := rapid.Int64().Draw(t, "m"), rapid.Int64().Draw(t, "n")
		want := strings.Compare(a, b)
		if want == 0 {
			want = map[bool]int{m < n: -1, m > n: 1}[true]
		}
		ka, kb := key(nil).str(a).nano(m).id(b), key(nil).str(b).nano(n).id(b)
		if got := bytes.Compare(ka, kb); got != want {
			t.Fatalf("%q %d sorts %d to %q %d, want %d", a, m, got, b, n, want)
		}
		p := parts{b: ka}
		if s, i, id := p.str(), p.nano(), p.id(); s != a || i != m || id != b || p.end() != nil {
			t.Fatalf("read back as %q %d %q, %v", s, i, id, p.err)
		}
	})
}

func TestTimesBeyondTheKey(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Time]int64{
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): math.MaxInt64, {}: math.MinInt64, time.Unix(5, 7): 5e9 + 7,
	} {
		if got := nanos(in); got != want {
			t.Errorf("%v is %d, want %d", in, got, want)
		}
	}
}

func FuzzKeyParts(f *testing.F) {
	f.Add([]byte(key(nil).str("tg\x00\x01").nano(-5).seq(7).id("x")))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := parts{b: raw}
		s, n, seq, id := p.str(), p.nano(), p.seq(), p.id()
		if p.end() != nil || valid(s) != s || valid(id) != id {
			return
		}
		if again := key(nil).str(s).nano(n).seq(seq).id(id); !bytes.Equal(again, raw) {
			t.Fatalf("%q was read as %q %d %d %q", raw, s, n, seq, id)
		}
	})
}
