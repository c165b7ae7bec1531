package core

import (
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// formats are the string formats that are checked, each with what is wanted in a person's words.
var formats = map[string]struct {
	want string
	fits func(string) bool
}{
	"email":     {"an email address such as name@example.com", isEmail},
	"uri":       {"a full address such as https://example.com", isURI},
	"date":      {"a date such as 2026-12-24", layout(time.DateOnly)},
	"date-time": {"a date and time such as 2026-12-24T18:30:00Z", layout(time.RFC3339)},
	"time":      {"a time such as 18:30:00Z", layout("15:04:05Z07:00")},
	"uuid":      {"a UUID such as 123e4567-e89b-12d3-a456-426614174000", isUUID},
	"ipv4":      {"an IPv4 address such as 192.0.2.1", func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }},
	"ipv6": {"an IPv6 address such as 2001:db8::1", func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && a.Zone() == ""
	}},
	"hostname": {"a host name such as www.example.com", isHostname},
}

// checkFormat says what is wanted where s is not of the format, else "". Unknown formats only annotate.
func checkFormat(format, s string) string {
	f, ok := formats[format]
	if !ok || f.fits(s) {
		return ""
	}
	return "want " + f.want
}

func layout(l string) func(string) bool {
	return func(s string) bool {
		_, err := time.Parse(l, s)
		return err == nil && !strings.Contains(s, ",") // time.Parse takes a comma before fractions
	}
}

func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" || a.Address != s {
		return false // a name or angle brackets around it
	}
	_, domain, _ := strings.Cut(s[strings.LastIndex(s, "@"):], "@")
	return isHostname(domain) || strings.HasPrefix(domain, "[")
}

func isURI(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>\"{}|\\^`", r)
	}) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		return false
	}
	if strings.HasPrefix(s[len(u.Scheme):], "://") {
		return u.Host != "" || u.Scheme == "file"
	}
	return u.Opaque != "" || u.Path != ""
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}

func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return false
			}
		}
	}
	return true
}
