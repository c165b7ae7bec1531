package render

import (
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"parley/core"
)

// url asks for a step on a web page: whose page it is, then the whole address on a line of its own.
func (w *writer) url(a *asking, in core.Input) {
	a.head = append([]block{w.title(in, "title.url", nil)}, a.head...)
	a.body = append(a.body, w.asks(in))
	a.say(in.Message)
	a.recall = in.Message
	name, ascii := host(in.URL)
	if name == ascii {
		a.body = append(a.body, w.line("url.host", args{"host": codeOf(name)}))
	} else {
		a.body = append(a.body, w.line("url.host.both", args{"host": codeOf(name), "ascii": codeOf(ascii)}))
	}
	shown, masked := address(in.URL)
	a.body = append(a.body, line(seg{link, visible(shown)}))
	main := w.w.Main
	if masked {
		a.body = append(a.body, w.line("url.masked", nil))
	} else if strings.HasPrefix(strings.ToLower(in.URL), "https://") {
		a.buttons = append(a.buttons, Button{Label: w.s.flat("button.open", args{"host": {plain, ascii}}), URL: in.URL})
	}
	a.tail = append(w.terms(in), line(join(
		w.s.say("do.url", args{"reply": w.reply(), "done": a.offer(main.Done), "no": a.offer(main.No)}),
		w.s.say("do.cancel", args{"cancel": a.offer(main.Cancel)}),
	)...))
	a.button(w.s.text["button.done"], main.Done)
	a.button(w.s.text["button.decline"], main.No)
}

// address is the address as given, except that a user name and password in it are masked.
func address(raw string) (shown string, masked bool) {
	from := strings.Index(raw, "://")
	if from < 0 {
		return raw, false
	}
	from += 3
	end := len(raw)
	if i := strings.IndexAny(raw[from:], `/?#\`); i >= 0 {
		end = from + i
	}
	at := strings.LastIndexByte(raw[from:end], '@')
	if at < 0 {
		return raw, false
	}
	return raw[:from] + maskOf(raw[from:from+at]) + raw[from+at:], true
}

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

// punycode is the ASCII form of a label, without its prefix (RFC 3492).
func punycode(label string) string {
	const base, tmin, tmax, skew, damp = 36, 1, 26, 38, 700
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
			q := delta
			for k := base; ; k += base {
				t := min(max(k-bias, tmin), tmax)
				if q < t {
					break
				}
				out = append(out, digit(t+(q-t)%(base-t)))
				q = (q - t) / (base - t)
			}
			out = append(out, digit(q))
			// adapt the bias to what was just written
			if done == basic {
				delta /= damp
			} else {
				delta /= 2
			}
			delta += delta / (done + 1)
			k := 0
			for ; delta > (base-tmin)*tmax/2; k += base {
				delta /= base - tmin
			}
			bias = k + (base-tmin+1)*delta/(delta+skew)
			delta = 0
			done++
		}
		delta++
		n++
	}
	return string(out)
}

func digit(n int) byte { return "abcdefghijklmnopqrstuvwxyz0123456789"[n] }
