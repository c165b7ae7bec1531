package mcp

import (
	"regexp"
	"strings"

	"parley/core"
)

const (
	maxSource = 24
	maxFull   = 64
)

// plainSource is a source name that stays as it is: it has no "__" and no "_" at its end, so that the first
// "__" of a full name always ends the source.
var plainSource = regexp.MustCompile(`^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$`)

// sourceName is how a source is called before the names of its tools.
func sourceName(name string) string {
	if len(name) <= maxSource && plainSource.MatchString(name) {
		return name
	}
	plain := strings.Trim(regexp.MustCompile(`[^a-zA-Z0-9-]+`).ReplaceAllString(name, "-"), "-")
	return cut(plain, maxSource-7) + "-" + short(name)
}

var plainTool = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// toolName is a tool's name as a model takes it: the server's own, or one made valid that no other name of
// the server is made into.
func toolName(source, name string) string {
	most := maxFull - len(source) - len("__")
	if len(name) <= most && plainTool.MatchString(name) {
		return name
	}
	plain := strings.Map(func(r rune) rune {
		if r < 128 && plainTool.MatchString(string(r)) {
			return r
		}
		return '_'
	}, name)
	return cut(plain, most-7) + "-" + short(name)
}

func cut(s string, most int) string { return s[:min(len(s), most)] }

// short tells two names apart that would be made into one.
func short(name string) string { return core.Digest("mcp name", name)[:6] }
