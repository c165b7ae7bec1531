package wire

import (
	"strings"
	"testing"

	"parley/core/model"
)

func TestToolNames(t *testing.T) {
	t.Parallel()
	names := []string{"db__drop", "files.read", "files_read", "files/read", strings.Repeat("a", 65), strings.Repeat("a", 66), "größe", "", "_"}
	var specs []model.ToolSpec
	for _, n := range names {
		specs = append(specs, model.ToolSpec{Name: n})
	}
	seen := map[string]string{}
	for _, n := range names {
		w := ToolName(n)
		if len(w) > maxName || !usableName(w) {
			t.Errorf("%q goes as %q", n, w)
		}
		if other, dup := seen[w]; dup {
			t.Errorf("%q and %q both go as %q", n, other, w)
		}
		seen[w] = n
		if got := OwnName(w, specs); got != n {
			t.Errorf("%q comes back as %q", n, got)
		}
	}
	if ToolName("db__drop") != "db__drop" {
		t.Error("a name that is allowed was changed")
	}
	if OwnName("invented", specs) != "invented" {
		t.Error("an unknown name was changed")
	}
}

func usableName(s string) bool {
	for i := range len(s) {
		if !nameByte(s[i]) {
			return false
		}
	}
	return s != ""
}
