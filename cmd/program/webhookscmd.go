package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"parley/channels/webhook"
	"parley/store/bolt"
)

func (p *program) webhooksCommand() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:   "webhooks --config FILE [list | retry ID... | retry all]",
		Short: "List what webhooks could not deliver, and try it again",
		Long: `Lists how each webhook of the configuration stands, with its dead letters: the messages that were given up.
retry hands them to the next start of Parley, which tries them anew; so does "retry all" with a webhook
that was disabled by 410 Gone. Both work on the store file while no Parley runs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.webhooks(cmd.Context(), config, p.listLetters) },
	}
	cmd.PersistentFlags().StringVar(&config, "config", "", "the configuration file")
	cmd.AddCommand(
		&cobra.Command{
			Use:   "list",
			Short: "List how each webhook stands, with its dead letters",
			Args:  cobra.NoArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return p.webhooks(cmd.Context(), config, p.listLetters) },
		},
		&cobra.Command{
			Use:   "retry ID... | retry all",
			Short: "Try dead letters again at the next start",
			Args:  cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return p.webhooks(cmd.Context(), config, func(ctx context.Context, cfg *Config, m webhook.Memory) error {
					return p.retryLetters(ctx, cfg, m, args)
				})
			},
		},
	)
	return cmd
}

// webhooks does something with the store of a configuration that has webhooks.
func (p *program) webhooks(ctx context.Context, config string, do func(context.Context, *Config, webhook.Memory) error) (err error) {
	cfg, err := p.loadConfig(config)
	if err != nil {
		return err
	}
	if len(cfg.Webhooks) == 0 {
		return misused(fmt.Errorf("%s has no webhooks", config), "docs/webhooks.md says how to add one")
	}
	if _, err := os.Stat(cfg.Store.Path); err != nil { // opening it would make one
		return failed(fmt.Errorf("open the store: %w", err), "parley serve makes it when it first runs")
	}
	store, err := bolt.Open(cfg.Store.Path, bolt.Options{})
	if errors.Is(err, bolt.ErrLocked) {
		return failed(err, "a running Parley holds the file, and names each letter it gives up in its log and counts them at /metrics: stop it first")
	}
	if err != nil {
		return failed(err, storeHint(err))
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(ctx, cfg, store)
}

// listLetters prints a paragraph for each webhook.
func (p *program) listLetters(ctx context.Context, cfg *Config, m webhook.Memory) error {
	for i, w := range cfg.Webhooks {
		s, known, err := webhook.Look(ctx, m, w.URL)
		if err != nil {
			return failed(err, "")
		}
		name := fmt.Sprintf("webhooks[%d] %s", i, w.hook().Address()) // addresses may differ by what is not shown
		line := fmt.Sprintf("%s: %s, %s\n", name, counted(len(s.Dead), "dead letter"), counted(len(s.Pending), "message")+" on the way")
		switch {
		case !known:
			line = fmt.Sprintf("%s: nothing was sent yet\n", name)
		case s.Disabled != "":
			line += fmt.Sprintf("   disabled: %s\n", s.Disabled)
		}
		for _, l := range s.Dead {
			line += fmt.Sprintf("   %s  %s  input %s  %s, last %s: %s\n", l.ID, l.Type, l.Input, counted(l.Tries, "try", "tries"), l.NextAt.UTC().Format(time.RFC3339), l.Error)
		}
		if _, err := fmt.Fprint(p.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// counted is a number with its noun.
func counted(n int, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprint(n, " ", many[0])
	default:
		return fmt.Sprint(n, " ", one, "s")
	}
}

// retryLetters hands the dead letters of the ids, or all, to the next start. An id may be dead at several
// webhooks; one that is dead nowhere changes nothing at any.
func (p *program) retryLetters(ctx context.Context, cfg *Config, m webhook.Memory, ids []string) error {
	all := slices.Equal(ids, []string{"all"})
	dead := map[string][]string{} // by address
	found := map[string]bool{}
	n := 0 // first those that waited at a webhook that was disabled, then also the dead
	for _, w := range cfg.Webhooks {
		s, known, err := webhook.Look(ctx, m, w.URL)
		if err != nil {
			return failed(err, "")
		}
		for _, l := range s.Dead {
			if all || slices.Contains(ids, l.ID) {
				dead[w.URL], found[l.ID] = append(dead[w.URL], l.ID), true
			}
		}
		if all && known && s.Disabled != "" && dead[w.URL] == nil {
			dead[w.URL] = []string{}
		}
		if s.Disabled != "" && dead[w.URL] != nil {
			n += len(s.Pending)
		}
	}
	for _, id := range ids {
		if !all && !found[id] {
			return failed(fmt.Errorf("no webhook has a dead letter %q", id), "parley webhooks list prints their ids")
		}
	}
	for _, w := range cfg.Webhooks {
		these, ok := dead[w.URL]
		if !ok {
			continue
		}
		revived, err := webhook.Revive(ctx, m, w.URL, these...)
		if err != nil {
			return failed(err, "what was printed by parley webhooks list may have changed: look again")
		}
		n += revived
	}
	_, err := fmt.Fprintf(p.stdout, "%s will be tried again when Parley starts.\n", counted(n, "message"))
	return err
}
