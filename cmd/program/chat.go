package program

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"parley/channels"
	"parley/channels/terminal"
	"parley/core"
)

func (p *program) chatCommand() *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat --config FILE --agent AGENT --as local:NAME [--conversation NAME]",
		Short: "Talk to an agent of a configuration in the terminal",
		Long: `Talks to one agent of a configuration, as local:NAME. What waits in the conversation is shown at the
start, and a later chat under the same names goes on with it. Ctrl-D leaves.

When the standard input is no terminal, each of its lines is a message, and every line of output begins
with say:, ask:, note: or you:. The program ends with exit code 0 at the end of the input, once the turn
has ended or waits.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.chat(cmd, o) },
	}
	cmd.Flags().StringVar(&o.config, "config", "", "the configuration file")
	cmd.Flags().StringVar(&o.agent, "agent", "", "the agent to talk to")
	cmd.Flags().StringVar(&o.as, "as", "", "who you are: local:NAME")
	cmd.Flags().StringVar(&o.conversation, "conversation", "default", "which of your conversations with the agent")
	return cmd
}

type chatOptions struct{ config, agent, as, conversation string }

var conversationName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check finds what is wrong with the options, given the configuration.
func (o chatOptions) check(cfg *Config) (core.PersonID, error) {
	if _, ok := cfg.Agents[o.agent]; !ok {
		return "", misused(fmt.Errorf("there is no agent %q in %s", o.agent, o.config), "use --agent with one of "+known(cfg.Agents))
	}
	who, err := person(o.as)
	if err == nil && who.Surface() != "local" {
		err = fmt.Errorf("person %q: want local:NAME, since only the terminal vouches here", o.as)
	}
	if err != nil {
		return "", misused(err, "say who you are with --as local:NAME")
	}
	if !conversationName.MatchString(o.conversation) {
		return "", misused(fmt.Errorf("conversation %q: want letters, digits, dot, underscore and hyphen, at most 64", o.conversation), "use --conversation NAME")
	}
	return who, nil
}

func (p *program) chat(cmd *cobra.Command, o chatOptions) error {
	cfg, err := p.loadConfig(o.config)
	if err != nil {
		return err
	}
	who, err := o.check(cfg)
	if err != nil {
		return err
	}
	return p.talk(cmd, cfg, terminal.Config{Agent: core.AgentID(o.agent), Person: who, Session: o.conversation}, nil)
}

// talk runs one conversation in the terminal. welcome is said first.
func (p *program) talk(cmd *cobra.Command, cfg *Config, t terminal.Config, welcome []string) (err error) {
	ctx, done := untilStopped(cmd.Context())
	defer done()
	log, err := p.logs.logger(p.stderr, slog.LevelWarn)
	if err != nil {
		return err
	}
	a, err := newApp(cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	t.Name, t.In, t.Out = reserved, p.stdin, p.stdout
	t.Interactive, t.Columns = isTerminal(p.stdin), func() int { return columns(p.stdout) }
	t.Turns, t.Now, t.NewID = a.engine, a.now, newID
	adapter, err := terminal.New(t)
	if err != nil {
		return err
	}
	for _, line := range welcome {
		if !t.Interactive {
			line = string(channels.VoiceNote) + ": " + line
		}
		if _, err := fmt.Fprintln(p.stdout, line); err != nil {
			return failed(fmt.Errorf("write to the terminal: %w", err), "")
		}
	}
	a.addTerminal(adapter, t.Person)
	err = a.run(ctx)
	if t.Interactive {
		fmt.Fprintln(p.stdout) // the shell's prompt on a line of its own
	}
	return err
}

// columns is how wide the terminal is that w writes to; 0 where it is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
