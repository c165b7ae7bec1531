package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley/channels/terminal"
	"parley/core"
)

func (p *program) demoCommand() *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "demo [--store FILE]",
		Short: "Try Parley in the terminal: no configuration, no key, no network",
		Long: `A chat in the terminal with a scripted model. Its tools ask for an approval, three questions, a form
and a step on a web page; say "help" there to see how. Leave in the middle, even with kill -9, start it
again, and answer then.

Each time a tool really runs it appends one line to FILE.effects.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("store") && strings.TrimSpace(store) == "" {
				return misused(errors.New("--store names no file"), "name one, or leave --store out to use the demo's own")
			}
			return p.demo(cmd, store)
		},
	}
	cmd.Flags().StringVar(&store, "store", "", "the file that keeps everything (default $XDG_STATE_HOME/parley/demo.db)")
	return cmd
}

// demoAgent is who the demo talks to, demoPerson who sits at the terminal.
const (
	demoAgent  = "demo"
	demoPerson = core.PersonID("local:you")
)

func (p *program) demo(cmd *cobra.Command, store string) error {
	path, err := p.demoStore(store)
	if err != nil {
		return err
	}
	cfg := &Config{
		Store:  StoreConfig{Path: path},
		Models: map[string]ModelConfig{demoAgent: {Provider: "scripted"}},
		Agents: map[string]AgentConfig{demoAgent: {Name: "Demo", Model: demoAgent, Builtins: []string{"demo"}, Ask: true}},
	}
	return p.talk(cmd, cfg, terminal.Config{Agent: demoAgent, Person: demoPerson}, []string{
		"Parley demo. Everything is kept in " + path,
		"What the tools really do is written to " + path + ".effects",
		`Say "help" for what to try. Leave with Ctrl-D (or kill it) and start it again: what waits will wait.`,
	})
}

// demoStore is the demo's file; its own folder is made if there is none.
func (p *program) demoStore(path string) (string, error) {
	if path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("find the store: %w", err)
		}
		return abs, nil
	}
	state, ok := p.env("XDG_STATE_HOME")
	if !ok || !filepath.IsAbs(state) { // the specification tells to ignore relative ones
		home, ok := p.env("HOME")
		if !ok || home == "" {
			return "", failed(errors.New("neither XDG_STATE_HOME nor HOME says where to keep the demo's file"), "name one with --store FILE")
		}
		state = filepath.Join(home, ".local", "state")
	}
	dir := filepath.Join(state, "parley")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", failed(fmt.Errorf("make the folder of the demo's file: %w", err), "name another place with --store FILE")
	}
	return filepath.Join(dir, "demo.db"), nil
}
