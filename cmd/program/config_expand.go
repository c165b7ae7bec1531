package program

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// expand replaces ${NAME} by the environment and file:PATH by a file's content, in every string of a
// parsed value: a value that is put in can therefore never change the structure. "$${" stands for "${".
// Keys are left alone, and what is put in is not expanded again.
type expand struct {
	env func(string) (string, bool)
	dir string // of the configuration file: file:PATH is relative to it
	ps  *problems
	// raw keeps the text as written of each value that was expanded, so that errors show that and not
	// what may be a secret.
	raw map[Path]string
}

const maxValueFile = 1 << 20

var variable = regexp.MustCompile(`\$\$\{|\$\{([^}]*)(\}?)`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (e *expand) value(at Path, v any) any {
	switch v := v.(type) {
	case string:
		out := e.text(at, v)
		if out != v {
			e.raw[at] = v
		}
		return out
	case []any:
		for i := range v {
			v[i] = e.value(at.index(i), v[i])
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			v[k] = e.value(at.key(k), v[k])
		}
	}
	return v
}

func (e *expand) text(at Path, s string) string {
	before := len(e.ps.list)
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		if m == "$${" {
			return "${"
		}
		name := variable.FindStringSubmatch(m)
		if name[2] == "" || !variableName.MatchString(name[1]) {
			e.ps.add(at, "%q is no variable: want ${NAME}, or $${ for the two characters ${", m)
			return m
		}
		v, ok := e.env(name[1])
		if !ok {
			e.ps.add(at, "the environment variable %s is not set", name[1])
		}
		return v
	})
	if !strings.HasPrefix(s, "file:") || len(e.ps.list) > before {
		return out
	}
	text, err := e.file(strings.TrimPrefix(out, "file:"))
	if err != nil {
		e.ps.add(at, "%v", err)
	}
	return text
}

// file reads a value from a file and takes one newline off its end.
func (e *expand) file(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("file: names no file: want file:PATH")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxValueFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the file: %w", err)
	case len(b) > maxValueFile:
		return "", fmt.Errorf("the file %s is larger than 1 MB", path)
	case !utf8.Valid(b):
		return "", fmt.Errorf("the file %s is not UTF-8 text", path)
	}
	text := strings.TrimSuffix(string(b), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}
