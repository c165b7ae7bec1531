package program

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a string that no log, error, dump or JSON shows: it prints as ***. Reveal gives the value to
// the one place that needs it.
type Secret string

const masked = "***"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

func (Secret) String() string { return masked }

// GoString keeps the secret out of %#v.
func (Secret) GoString() string { return masked }

// Format keeps it out of every verb, %x and %d included.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, masked) }

// MarshalJSON keeps it out of every dump.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + masked + `"`), nil }

// MarshalText keeps it out of encoders of text and of map keys.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// LogValue keeps it out of structured logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }
