package core

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// CallHash is the short hash that a person sees beside a call and that is checked again before it runs.
// It is over the exact bytes of the frozen arguments and spec, the hash of the tool's schema and target.
func CallHash(tool string, args json.RawMessage, spec string) string {
	return Digest("call", tool, string(args), spec)
}

// DeniedDigest names a call that a person declined, whatever the order of its keys and the spelling of
// its numbers: the same call proposed again in that run is refused unasked.
func DeniedDigest(tool string, args json.RawMessage) string {
	return Digest("denied", tool, canonical(args))
}

// SameJSON reports whether a and b are the same JSON value. The order of keys, white space, escapes and
// the spelling of numbers do not count. Bytes that are no JSON are the same only if they are equal.
func SameJSON(a, b json.RawMessage) bool { return canonical(a) == canonical(b) }

// canonical writes a JSON value in one form: sorted keys, no white space, numbers as digits and exponent.
func canonical(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if !json.Valid(raw) || dec.Decode(&v) != nil {
		return "!" + string(raw) // no JSON value begins so
	}
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, k)
			b.WriteByte(':')
			writeCanonical(b, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, e)
		}
		b.WriteByte(']')
	case json.Number:
		if d, ok := parseDecimal(v.String()); ok {
			b.WriteString(d.String())
		} else {
			b.WriteString(v.String())
		}
	default: // string, bool, nil: always marshals
		raw, _ := json.Marshal(v)
		b.Write(raw)
	}
}
