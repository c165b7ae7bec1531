package render

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"parley/core"
)

// SecretField reports whether a form field of that name and schema holds a secret, by the rule that core
// judges forms by, or because its name says so.
func SecretField(name string, schema json.RawMessage) bool {
	if secretName(name, nil) {
		return true
	}
	key, _ := json.Marshal(name) // a string always encodes
	form, err := core.ParseForm(json.RawMessage(`{"type":"object","properties":{` + string(key) + `:` + string(schema) + `}}`))
	return err == nil && form.HasSecret()
}

// secretName reports whether values of that name are masked: by core's list, or because redact lists it.
func secretName(name string, redact []string) bool {
	words := core.NameWords(name)
	for _, r := range redact {
		if rw := core.NameWords(r); len(rw) > 0 && (contains(words, rw) || strings.Join(words, "") == strings.Join(rw, "")) {
			return true
		}
	}
	return core.SecretName(name)
}

// countWords next to "token" tell of how many there are.
var countWords = []string{"max", "min", "num", "count", "total", "limit", "used", "usage", "budget", "per", "n", "input", "output", "prompt", "completion"}

// countsTokens reports whether name is of a number of tokens, as language models count them.
func countsTokens(name string) bool {
	words := core.NameWords(name)
	return slices.Contains(words, "tokens") || slices.Contains(words, "token") &&
		slices.ContainsFunc(words, func(w string) bool { return slices.Contains(countWords, w) })
}

// contains reports whether part stands within words.
func contains(words, part []string) bool {
	for i := 0; i+len(part) <= len(words); i++ {
		if slices.Equal(words[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// secretForm is a secret known by its form; want are texts, in lower case, without one of which it cannot be
// there, since an expression costs much more than a search.
type secretForm struct {
	want []string
	re   *regexp.Regexp // the first group is the secret
}

// safe are the characters that a secret within a text may have. None of them can be part of a command line's
// structure: a mask must not hide what runs.
const safe = `A-Za-z0-9._~+/=@%!^*:-`

const schemes = `(?:bearer|basic|token|digest|negotiate|apikey|ntlm|hawk|signature|aws4-hmac-sha256)`

var secretForms = []secretForm{
	{[]string{"bearer", "basic"}, regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{4,})`)},
	{[]string{"authorization"}, regexp.MustCompile(`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:` + schemes + `[ \t]+)?([` + safe + `]{4,})`)},
	{[]string{"authorization"}, regexp.MustCompile(`(?i)\bauthorization["']?\s*[:=]\s*["']?` + schemes + `[ \t]+([\w-]+=["']?[` + safe + `]+["']?(?:,\s*[\w-]+=["']?[` + safe + `]+["']?)+)`)},
	{[]string{"curl"}, regexp.MustCompile(`(?i)\bcurl\b[^|;&\n]*?\s(?:-u|--user)[ =]*["']?([^\s:"'` + "`" + `$;|&<>()]+:[` + safe + `]+)`)},
	{[]string{"cookie"}, regexp.MustCompile(`(?i)\bcookie["']?\s*:\s*["']?([\w.-]+=[` + safe + `]*(?:;\s*[\w.-]+=[` + safe + `]*)*)`)},
	{[]string{"://"}, regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://([^\s/?#"'<>&;|()\x60]+)@`)},
	{[]string{"="}, regexp.MustCompile(`(?i)[?&;](?:[\w.-]*(?:password|passwd|pwd|secret|token|api_?key|apikey|signature)[\w.-]*|sig|key)=([` + safe + `]+)`)},
	{[]string{"password", "passwd", "secret", "token", "api_key", "apikey", "api-key"},
		regexp.MustCompile(`(?i)\b(?:[a-z0-9]+[_-])*(?:password|passwd|secret|token|api[_-]?key)["']?\s*[=:]\s*["']?([` + safe + `]{4,})`)},
	{[]string{"private key-----"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----([A-Za-z0-9+/=\s]*)`)},
	{[]string{"sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "akia", "eyj", "glpat-", "whsec_"},
		regexp.MustCompile(`\b(sk-[\w-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|` +
			`eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|glpat-[\w-]{16,}|whsec_[A-Za-z0-9+/=]{16,})`)},
}

// secretSpans finds secrets within a text, as byte ranges in order that do not touch: by their form, by the names
// of JSON, forms and options in it, and all that again below each layer of escapes.
func secretSpans(s string, redact []string) [][2]int {
	spans := layerSpans(s, redact)
	d, ok := decode(s)
	for layer := 1; ok && layer < maxLayers; layer++ {
		spans = append(spans, d.back(layerSpans(d.text, redact))...)
		var next decoded
		if next, ok = decode(d.text); ok {
			for i, at := range next.at {
				next.at[i] = d.at[at]
			}
			d = next
		}
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return a[0] - b[0] })
	out := spans[:0]
	for _, sp := range spans {
		if k := len(out) - 1; k >= 0 && sp[0] <= out[k][1] {
			out[k][1] = max(out[k][1], sp[1])
			continue
		}
		out = append(out, sp)
	}
	return out
}

// layerSpans finds secrets in a text as it stands.
func layerSpans(s string, redact []string) [][2]int {
	spans := append(memberSpans(s, redact), assignedSpans(s, redact)...)
	low := strings.ToLower(s)
	for _, f := range secretForms {
		if !slices.ContainsFunc(f.want, func(w string) bool { return strings.Contains(low, w) }) {
			continue
		}
		for _, m := range f.re.FindAllStringSubmatchIndex(s, -1) {
			if m[2] < m[3] && !slices.Contains(flags, strings.ToLower(s[m[2]:m[3]])) {
				spans = append(spans, [2]int{m[2], m[3]})
			}
		}
	}
	return spans
}

// assigned are a name and its value in a form, a query, an environment or the options of a command.
var assigned = regexp.MustCompile(`(^|[?&;]|[\s"'{(,])(?:--?)?([A-Za-z][\w.%\[\]-]{0,63})(=|[ \t]+)["']?([` + safe + `]+)`)

// assignedSpans finds the values of names that say that they are secret: user[password]=…, DB_PASSWORD=…,
// --api-key …. Behind a space only an option has a value. Outside of a query a value is no flag and not short.
func assignedSpans(s string, redact []string) (spans [][2]int) {
	if !strings.ContainsAny(s, "=") && !strings.Contains(s, "--") {
		return nil
	}
	for i := 0; i < len(s); {
		m := assigned.FindStringSubmatchIndex(s[i:])
		if m == nil {
			break
		}
		before, name, value := s[i+m[2]:i+m[3]], s[i+m[4]:i+m[5]], s[i+m[8]:i+m[9]]
		if s[i+m[6]] != '=' && (!strings.HasPrefix(s[i+m[3]:], "--") || value[0] == '-') {
			i += m[5]
			continue
		}
		if d, ok := decode(name); ok {
			name = d.text
		}
		query := before == "?" || before == "&" || before == ";" || before == "" && strings.IndexByte(s, '&') > 0
		if secretName(name, redact) && !countsTokens(name) && (query || len(value) >= 4 && !slices.Contains(flags, strings.ToLower(value))) {
			spans = append(spans, [2]int{i + m[8], i + m[9]})
		}
		i += m[9]
	}
	return spans
}

// flags are values that are no secret.
var flags = []string{"true", "false", "null", "none", "undefined"}
