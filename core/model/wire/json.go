package wire

import (
	"bytes"
	"encoding/json"
)

// Text is the content of a JSON string, the digits of a number, and "" for anything else.
func Text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// IsNull reports whether a JSON value is null or absent.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// IsObject reports whether a JSON text begins as an object.
func IsObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// IsString reports whether a JSON value is that string.
func IsString(raw json.RawMessage, want string) bool {
	return len(raw) > 0 && raw[0] == '"' && Text(raw) == want
}

// Tokens keeps a wrong count of tokens from becoming a negative one.
func Tokens(n int64) int { return int(max(n, 0)) }
