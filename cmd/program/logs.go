package program

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

// logFlags say how the log is written. It goes to the standard error output; above the level debug no line
// holds the text of a message.
type logFlags struct{ format, level string }

func (l *logFlags) bind(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&l.format, "log-format", "text", "how the log is written: text or json")
	cmd.PersistentFlags().StringVar(&l.level, "log-level", "", "the least level that is logged: debug, info, warn or error (default info for serve, error else)")
}

// logger returns the log of a command whose default level is given.
func (l *logFlags) logger(w io.Writer, level slog.Level) (*slog.Logger, error) {
	if l.level != "" {
		if err := level.UnmarshalText([]byte(l.level)); err != nil || strings.ContainsAny(l.level, "+-") {
			return nil, misused(fmt.Errorf("there is no log level %q", l.level), "use debug, info, warn or error")
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	default:
		return nil, misused(fmt.Errorf("there is no log format %q", l.format), "use text or json")
	}
}
