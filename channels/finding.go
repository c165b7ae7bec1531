package channels

import "context"

// Level says how much a finding matters.
type Level string

// The levels. A failure keeps a prompt or an answer from arriving.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelFail Level = "fail"
)

// Finding is one line of an examination: what was found, and what to do about it, "" for nothing.
type Finding struct {
	Level Level
	What  string
	Fix   string
}

// Checker is implemented by adapters that can examine their set-up without running. No finding holds a secret.
type Checker interface {
	Check(ctx context.Context) []Finding
}
