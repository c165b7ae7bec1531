package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"parley/core/tool"
)

// TestAnswersRepeatNoSecret: values of the configured headers are masked in results and errors, which stay what they are.
func TestAnswersRepeatNoSecret(t *testing.T) {
	t.Parallel()
	s := &Source{hide: hider(map[string]string{"Authorization": "Bearer hunter2-hunter2", "X-Key": "hunter2", "X-Short": "ok"})}
	text, err := s.told("got Bearer hunter2-hunter2, hunter2-hunter2 and hunter2, ok?", fmt.Errorf("hunter2: %w", tool.ErrNotStarted))
	if text != "got [secret], [secret] and [secret], ok?" {
		t.Errorf("text %q", text)
	}
	if strings.Contains(err.Error(), "hunter2") || !errors.Is(err, tool.ErrNotStarted) {
		t.Errorf("error %v", err)
	}
	if _, err := s.told("x", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// TestPlacesAreShownWithoutKeys: an address may hold one in its query.
func TestPlacesAreShownWithoutKeys(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"https://u:p@example.com/a?key=hunter2#x": "https://example.com/a?…", "https://example.com/a": "https://example.com/a", "shop.yaml": "shop.yaml", "a?b": "a?b",
	} {
		if got := shown(spec); got != want {
			t.Errorf("%s: %s", spec, got)
		}
	}
	inner := errors.New("refused")
	if got := bare(&url.Error{Op: "Get", URL: "https://example.com?key=hunter2", Err: inner}); got != inner {
		t.Errorf("%v", got)
	}
}
