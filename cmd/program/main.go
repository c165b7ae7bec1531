package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/core/tool"
	"parley/core/tool/js"
)

// The exit codes; doc.go says what they mean.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitBroken      = 3
	exitInterrupted = 130
)

// Option adds to the program what a configuration file cannot hold.
type Option func(*program)

// Tools gives tools written in Go to an agent of the configuration. They are offered beside those of its
// sources, under the name source__name; one that needs an approval asks as every other call does.
func Tools(agent string, tools ...tool.Tool) Option {
	return func(p *program) {
		p.tools = append(p.tools, agentTools{agent, tools})
	}
}

type agentTools struct {
	agent string
	tools []tool.Tool
}

// Main is the whole command line, with the arguments, streams and environment of this process. It ends the
// process with one of the exit codes above and does not return. Call it first in main: the program starts
// its own binary anew to run the model's JavaScript.
func Main(options ...Option) {
	if js.IsChild() { // apart from all else
		js.Main()
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, options...))
}

// program is what a subcommand has of the world.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) (string, bool)
	logs           logFlags
	tools          []agentTools
}

// run is the whole program: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) (string, bool), options ...Option) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	for _, o := range options {
		o(p)
	}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitDone
	}
	var f *failure
	if !errors.As(err, &f) { // what cobra itself says is about the command line
		f = &failure{code: exitUsage, err: err, hint: "see " + cmd.CommandPath() + " --help"}
	}
	if f.err != nil {
		fmt.Fprintf(stderr, "parley: %v\n", f.err)
	}
	if f.hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", f.hint)
	}
	return f.code
}

// root builds the commands anew, so that nothing is left of an earlier run.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "A chat bot whose agents stop, ask a person, and go on from the answer",
		Long: `Parley hosts agents in chats. An agent that needs a person stops: its turn is in a file and
nowhere else. The next message of someone who may answer is the answer, and the turn goes on,
after any number of restarts.

To see it work, without a file, a key or a network: parley demo`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	p.logs.bind(root)
	root.AddCommand(p.demoCommand(), p.chatCommand(), p.serveCommand(), p.inboxCommand(), p.answerCommand(), p.doctorCommand(), p.loginCommand(), p.storeCommand(), p.webhooksCommand(), p.configCommand(), p.versionCommand())
	return root
}

// failure is an error with its exit code and a hint of what to do.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func failed(err error, hint string) error { return &failure{code: exitFailed, err: err, hint: hint} }

func misused(err error, hint string) error { return &failure{code: exitUsage, err: err, hint: hint} }

// loadConfig reads the configuration that a command was given.
func (p *program) loadConfig(path string) (*Config, error) {
	if strings.TrimSpace(path) == "" {
		return nil, misused(errors.New("no configuration was given"), "name one with --config FILE; config.example.json is one to start from")
	}
	cfg, err := loadConfig(path, p.env)
	var ce *ConfigError
	switch {
	case errors.As(err, &ce):
		return nil, misused(err, "parley config schema prints what the file may hold")
	case err != nil:
		return nil, misused(err, "name a file with --config FILE")
	}
	for _, t := range p.tools {
		if _, ok := cfg.Agents[t.agent]; !ok {
			return nil, misused(fmt.Errorf("this program has tools for the agent %q, which is not in %s", t.agent, path), "its agents are "+known(cfg.Agents))
		}
		if cfg.tools == nil {
			cfg.tools = map[string][]tool.Tool{}
		}
		cfg.tools[t.agent] = append(cfg.tools[t.agent], t.tools...)
	}
	return cfg, nil
}
