package program

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"parley/channels"
)

func (p *program) serveCommand() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Run the channels and the API of a configuration",
		Long: `Runs every channel of a configuration, and the REST API where it has api.listen, until it is stopped.

SIGTERM or Ctrl-C stops it gracefully: it receives nothing more and lets what is in flight finish for
up to ten seconds; what has not finished goes on at the next start. A second signal ends it at once.
Nothing that was acknowledged is lost either way.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd, config) },
	}
	cmd.Flags().StringVar(&config, "config", "", "the configuration file")
	return cmd
}

func (p *program) serve(cmd *cobra.Command, config string) (err error) {
	ctx, done := untilStopped(cmd.Context())
	defer done()
	cfg, err := p.loadConfig(config)
	if err != nil {
		return err
	}
	log, err := p.logs.logger(p.stderr, slog.LevelInfo)
	if err != nil {
		return err
	}
	if len(cfg.Channels) == 0 && cfg.API.Listen == "" {
		return misused(errors.New("the configuration has no channels and no api.listen, so there is nothing to serve"), "add a channel, or use parley chat")
	}
	for _, w := range cfg.Warnings {
		log.Warn(w)
	}
	a, err := newApp(cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := a.addChannels(); err != nil {
		return err
	}
	log.Info("parley serves", "version", versionText(), "store", cfg.Store.Path, "channels", len(cfg.Channels))
	if err := a.run(ctx); err != nil {
		return channelFailure(err)
	}
	log.Info("parley stopped")
	return nil
}

// channelFailure says what the operator must do about channels that stopped for good.
func channelFailure(err error) error {
	var perm *channels.Permanent
	if errors.As(err, &perm) {
		return failed(fmt.Errorf("every channel has stopped: %w", err), perm.Hint)
	}
	return err
}
