package mcp

import (
	"errors"

	"parley/core/tool"
)

func isNotStarted(err error) bool { return errors.Is(err, tool.ErrNotStarted) }
func isUnknown(err error) bool    { return errors.Is(err, tool.ErrUnknownOutcome) }
