package parse

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"parley/core"
)

// consentGrammar is the closed grammar of consent in English, written apart from the reader. What does
// not match must never approve.
var consentGrammar = func() map[core.Kind]*regexp.Regexp {
	around := func(body string) *regexp.Regexp {
		return regexp.MustCompile(`^[\s¡¿]*/?(?:` + body + `)(?:\s+it)?(?:[\s,.!]+(?:please|thanks|thank you))?$`)
	}
	double := func(w string) *regexp.Regexp { return around(`(?:` + w + `)(?:[\s,.!]*(?:` + w + `))?`) }
	w := `approved?|yes|y|✅`
	return map[core.Kind]*regexp.Regexp{
		core.KindApproval: double(w),
		core.KindForm:     double(w + `|confirm(?:ed)?`),
		core.KindURL:      around(`(?:all |it'?s |it is |i'?m |i am )?done|finished|completed|✅`),
	}
}()

// disguised are control characters but tab and line ends, and those that turn the direction of a text.
var disguised = regexp.MustCompile(`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

// grammatical reports whether a text consents by the closed grammar of its kind.
func grammatical(kind core.Kind, text string) bool {
	if disguised.MatchString(text) {
		return false
	}
	s := strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("‘’‛ʼ´`", r):
			return '\''
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), r == 0x20E3, r >= '🏻' && r <= '🏿':
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	s = strings.ReplaceAll(strings.ToLower(norm.NFKC.String(s)), "i̇", "i")
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune("。．｡۔।", r) {
			return '.'
		}
		if strings.ContainsRune("，、،", r) {
			return ','
		}
		return r
	}, s)), " ")
	for range 2 { // one pair of marks, full stops on either side of it
		for {
			t := strings.TrimRight(s, ".! \t")
			t = strings.TrimSuffix(strings.TrimSuffix(t, ":)"), ":-)")
			if t == s {
				break
			}
			s = t
		}
		if consentGrammar[kind].MatchString(strings.TrimLeft(s, "¡¿ ")) {
			return true
		}
		if m := regexp.MustCompile("^(?:\\*{1,3}|_{1,3}|'{1,3}|[\"“”„‟«»「」『』〝〞])\\s*(.*?)\\s*(?:\\*{1,3}|_{1,3}|'{1,3}|[\"“”„‟«»「」『』〝〞])$").FindStringSubmatch(s); m != nil {
			s = m[1]
		}
	}
	return false
}

func readers() map[core.Kind]*Reader {
	out := map[core.Kind]*Reader{}
	for _, k := range []core.Kind{core.KindApproval, core.KindForm, core.KindURL} {
		out[k] = Compile(Prompt{Input: core.Input{Kind: k}})
	}
	return out
}

// FuzzNoConsent looks for a text outside the closed grammar that approves.
func FuzzNoConsent(f *testing.F) {
	for _, l := range corpus(f, "testdata/replies.jsonl") {
		f.Add(l.Text)
	}
	for _, l := range corpus(f, "testdata/more.jsonl") {
		if l.Want.Reason != "" || l.Want.Change != nil {
			f.Add(l.Text)
		}
	}
	for _, s := range []string{"yes? yes", "yes /", "yes, approve it thanks", "/approve", "✅.✅", "“yes”", "“Y„", "y\u200b", "*yes* no", "\x00yes", "y\x00es", "yes\x07", "\x1byes", "yes\u202e", "\vyes", "yes\u0085", "\u2066yes\u2069", "Y\u02d9"} {
		f.Add(s)
	}
	all := readers()
	f.Fuzz(func(t *testing.T, text string) {
		for kind, r := range all {
			got := r.Read(text)
			if got.Kind == core.ReadAnswer && got.Yes && !grammatical(kind, text) {
				t.Errorf("%s: %q approves", kind, text)
			}
			if got.Yes && (got.Kind != core.ReadAnswer || got.Reason != "" || got.Changes != nil) {
				t.Errorf("%s: %q approves with more than a yes", kind, text)
			}
			if got.Part != nil || got.Parts != nil {
				t.Errorf("%s: %q answers a question that was not asked", kind, text)
			}
		}
	})
}

// TestNearConsents makes texts that almost consent and approves none.
func TestNearConsents(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/nearconsent.json")
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string][]string
	if err := json.Unmarshal(data, &parts); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	all := readers()
	kinds := []core.Kind{core.KindApproval, core.KindForm, core.KindURL}
	inside := 0
	const n = 100_000
	for range n {
		text := nearConsent(rnd, parts)
		kind := kinds[rnd.IntN(len(kinds))]
		got := all[kind].Read(text)
		if got.Kind != core.ReadAnswer || !got.Yes {
			continue
		}
		if inside++; !grammatical(kind, text) {
			t.Errorf("%s: %q approves", kind, text)
		}
	}
	if inside > n/20 {
		t.Errorf("%d of %d texts consent by the grammar: they are no test of what is near to it", inside, n)
	}
}

// nearConsent spoils a consent: with a word beside it, a slip of the finger, a question mark, marks.
func nearConsent(rnd *rand.Rand, parts map[string][]string) string {
	of := func(name string) string { return parts[name][rnd.IntN(len(parts[name]))] }
	s := of("consent")
	for range 1 + rnd.IntN(2) {
		glue := of("glue")
		switch rnd.IntN(8) {
		case 0:
			s = of("negation") + " " + s
		case 1:
			s += glue + of("condition")
		case 2:
			s = of("question") + " " + s + "?"
		case 3:
			s += glue + of("refusal")
		case 4:
			s = slip(rnd, s)
		case 5:
			s = of("foreign") + glue + s
		case 6:
			s = of("mark") + s + of("mark")
		case 7:
			s += glue + of("hesitation")
		}
	}
	return s
}

// slip makes one typing error.
func slip(rnd *rand.Rand, s string) string {
	r := []rune(s)
	if len(r) == 0 {
		return "?"
	}
	i := rnd.IntN(len(r))
	switch rnd.IntN(4) {
	case 0:
		return string(r[:i]) + string(r[i+1:])
	case 1:
		return string(r[:i]) + string(rune('a'+rnd.IntN(26))) + string(r[i:])
	case 2:
		r[i] = rune('a' + rnd.IntN(26))
	case 3:
		j := min(i+1, len(r)-1)
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}
