package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"parley/channels"
	"parley/core"
)

var _ channels.Finder = (*Adapter)(nil)

// Find is the private chat with a person, whose id it shares. They must have written to the bot once.
func (a *Adapter) Find(_ context.Context, who core.PersonID) (core.Place, error) {
	number, ours := strings.CutPrefix(string(who), "telegram:")
	if id, err := strconv.ParseInt(number, 10, 64); !ours || err != nil || id <= 0 {
		return "", &channels.SendError{Permanent: true, Err: fmt.Errorf("telegram: %s is nobody in Telegram", who)}
	}
	return core.Place(number), nil
}
