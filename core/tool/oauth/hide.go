package oauth

import (
	"slices"
	"strings"
	"sync"
)

const masked = "[secret]"

// hidden are the secrets that texts are cleared of: those of the configuration, and the tokens in use and some
// before, which an answer may still quote.
type hidden struct {
	fixed []string
	mu    sync.Mutex
	list  []string
}

const maxHidden = 64

func (h *hidden) add(secrets ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range secrets {
		if slash := strings.ReplaceAll(s, "/", `\/`); slash != s {
			secrets = append(secrets, slash) // as some write it in JSON
		}
	}
	for _, s := range secrets {
		if worthHiding(s) && !slices.Contains(h.list, s) {
			h.list = append(h.list, s)
		}
	}
	if n := len(h.list) - maxHidden; n > 0 {
		h.list = slices.Delete(h.list, 0, n)
	}
}

// worthHiding reports whether a secret is long enough that masking it does not garble every text.
func worthHiding(s string) bool { return len(s) >= 4 }

func (h *hidden) clear(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, list := range [][]string{h.fixed, h.list} {
		for _, s := range list {
			text = strings.ReplaceAll(text, s, masked)
		}
	}
	return text
}
