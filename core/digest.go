package core

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
)

var digestCoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Digest is a short hash of parts: 16 letters and digits. Each part counts with its length, so that no
// two lists of parts share one.
func Digest(parts ...string) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return digestCoding.EncodeToString(h.Sum(nil)[:10])
}
