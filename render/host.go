package render

import (
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// host is the host of an address as a person may read it, and in ASCII. They are the same where scripts mix or
// could pass for another one, so that the name that is shown is the one that is meant.
func host(raw string) (name, ascii string) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return oneLine(raw), oneLine(raw)
	}
	name = strings.ToLower(norm.NFKC.String(u.Hostname()))
	labels := strings.Split(name, ".")
	mixed := false
	for i, l := range labels {
		if !plainASCII(l) {
			mixed = mixed || confusable(l)
			labels[i] = "xn--" + punycode(l)
		}
	}
	ascii = strings.Join(labels, ".")
	if u.Port() != "" {
		name, ascii = name+":"+u.Port(), ascii+":"+u.Port()
	}
	if mixed {
		name = ascii
	}
	return name, ascii
}

// lookalikes are the scripts whose letters pass for Latin ones.
var lookalikes = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu}

// confusable reports whether a label mixes scripts, or is of one that passes for Latin, or hides something.
func confusable(label string) bool {
	scripts := map[string]bool{}
	for _, r := range label {
		if hidden(r) || unicode.In(r, lookalikes...) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-' {
			return true
		}
		if unicode.In(r, unicode.Common, unicode.Inherited) || r == '-' {
			continue
		}
		for name, table := range unicode.Scripts {
			if unicode.Is(table, r) {
				scripts[family(name)] = true
			}
		}
	}
	return len(scripts) > 1
}

// family makes one of scripts that are written together.
func family(script string) string {
	switch script {
	case "Han", "Hiragana", "Katakana", "Bopomofo", "Hangul":
		return "East Asian"
	default:
		return script
	}
}

// The numbers of punycode.
const base, tmin, tmax, skew, damp = 36, 1, 26, 38, 700

// appendDelta writes one number in digits whose worth depends on the bias.
func appendDelta(out []byte, q, bias int) []byte {
	for k := base; ; k += base {
		t := min(max(k-bias, tmin), tmax)
		if q < t {
			return append(out, digit(q))
		}
		out = append(out, digit(t+(q-t)%(base-t)))
		q = (q - t) / (base - t)
	}
}

// adapt is the bias after delta was written as the n-th.
func adapt(delta, n int, first bool) int {
	if first {
		delta /= damp
	} else {
		delta /= 2
	}
	delta += delta / n
	k := 0
	for ; delta > (base-tmin)*tmax/2; k += base {
		delta /= base - tmin
	}
	return k + (base-tmin+1)*delta/(delta+skew)
}

// punycode is the ASCII form of a label, without its prefix (RFC 3492).
func punycode(label string) string {
	rs := []rune(label)
	var out []byte
	for _, r := range rs {
		if r < 0x80 {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	done := basic
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := rune(0x80), 0, 72
	for done < len(rs) {
		next := rune(unicode.MaxRune + 1)
		for _, r := range rs {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range rs {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			out = appendDelta(out, delta, bias)
			bias = adapt(delta, done+1, done == basic)
			delta = 0
			done++
		}
		delta++
		n++
	}
	return string(out)
}

func digit(n int) byte { return "abcdefghijklmnopqrstuvwxyz0123456789"[n] }
