package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/channels/rest"
	"parley/core"
	"parley/core/turn"
	"parley/store/bolt"
)

// waiting is an input as inbox and answer show it: what the API shows of one.
type waiting struct {
	ID           string          `json:"id"`
	Kind         core.Kind       `json:"kind"`
	State        core.InputState `json:"state"`
	Message      string          `json:"message"`
	Tool         string          `json:"tool"`
	Source       string          `json:"source"`
	Arguments    json.RawMessage `json:"arguments"`
	Hash         string          `json:"hash"`
	Questions    []core.Question `json:"questions"`
	Schema       json.RawMessage `json:"schema"`
	URL          string          `json:"url"`
	Agent        string          `json:"agent"`
	Conversation string          `json:"conversation"`
	CreatedAt    time.Time       `json:"createdAt"`
	ExpiresAt    time.Time       `json:"expiresAt"`
	Responders   struct {
		Audience []string `json:"audience"`
	} `json:"responders"`
	Settled *struct {
		By string    `json:"by"`
		At time.Time `json:"at"`
	} `json:"settled"`
}

// desk is where inputs are read and answered: a server, or the file where no server runs.
type desk interface {
	list(ctx context.Context, agent string) ([]waiting, error)
	find(ctx context.Context, id string) (waiting, error)
	// answer settles an input, whose call was shown with a hash; resumed says that its turn goes on.
	answer(ctx context.Context, in waiting, hash string, s core.Submission) (after waiting, resumed bool, err error)
	io.Closer
}

// lookAgain is what to do about a call that is no longer the one that was shown.
const lookAgain = "read it in parley inbox, then answer with the --hash shown there"

// deskFlags choose the desk.
type deskFlags struct{ server, token, config, as string }

func (f *deskFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server, "server", "", "the address of a running Parley, such as http://127.0.0.1:8484")
	cmd.Flags().StringVar(&f.token, "token", "", "a token of its configuration (default: the environment's PARLEY_TOKEN)")
	cmd.Flags().StringVar(&f.config, "config", "", "the configuration file, where no server runs")
	cmd.Flags().StringVar(&f.as, "as", "", "who you are: local:NAME; with --server anybody whom the token may speak for")
}

// open returns the desk of the flags.
func (p *program) desk(f deskFlags) (desk, error) {
	switch {
	case (f.server == "") == (f.config == ""):
		return nil, misused(errors.New("want either --server or --config"), "name a running Parley with --server URL, or its file with --config FILE --as local:NAME")
	case f.server != "":
		if f.token == "" {
			f.token, _ = p.env("PARLEY_TOKEN")
		}
		return newRemote(f)
	}
	who, err := person(f.as)
	if err == nil && who.Surface() != "local" {
		err = fmt.Errorf("person %q: want local:NAME, since only the terminal vouches here", f.as)
	}
	if err != nil {
		return nil, misused(err, "say who you are with --as local:NAME")
	}
	cfg, err := p.loadConfig(f.config)
	if err != nil {
		return nil, err
	}
	log, err := p.logs.logger(p.stderr, slog.LevelError)
	if err != nil {
		return nil, err
	}
	a, err := newApp(cfg, log)
	if errors.Is(err, bolt.ErrLocked) {
		return nil, failed(err, "a running Parley holds the file: ask it with --server URL and a token")
	}
	if err != nil {
		return nil, err
	}
	return &local{a: a, who: who}, nil
}

func (p *program) inboxCommand() *cobra.Command {
	var f deskFlags
	var agent string
	cmd := &cobra.Command{
		Use:   "inbox (--server URL | --config FILE --as local:NAME)",
		Short: "List what waits for an answer",
		Long: `Lists what waits: with --server everything that the token sees, with --config what waits for you, where
no server runs. Answer with parley answer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.inbox(cmd.Context(), f, agent) },
	}
	f.bind(cmd)
	cmd.Flags().StringVar(&agent, "agent", "", "of this agent only")
	return cmd
}

func (p *program) inbox(ctx context.Context, f deskFlags, agent string) (err error) {
	d, err := p.desk(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	all, err := d.list(ctx, agent)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(p.stdout, "Nothing waits.")
		return err
	}
	for _, in := range all {
		if _, err := fmt.Fprint(p.stdout, in); err != nil {
			return err
		}
	}
	return nil
}

// String is some lines of what is asked. Text of others stands in quotes, as JSON writes it.
func (in waiting) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s  asked %s", in.ID, in.Kind, in.Agent, in.CreatedAt.Local().Format(time.DateTime))
	if !in.ExpiresAt.IsZero() {
		fmt.Fprintf(&b, ", expires %s", in.ExpiresAt.Local().Format(time.DateTime))
	}
	fmt.Fprintf(&b, "\n    in %s, for %s\n", in.Conversation, strings.Join(in.Responders.Audience, ", "))
	if in.Tool != "" {
		fmt.Fprintf(&b, "    call %s %s\n", strings.TrimPrefix(in.Source+"__"+in.Tool, "__"), cmp.Or(string(in.Arguments), "{}"))
	}
	if in.Kind == core.KindApproval && in.Hash != "" {
		fmt.Fprintf(&b, "    hash %s\n", in.Hash)
	}
	if in.Message != "" {
		fmt.Fprintf(&b, "    %s\n", quoted(in.Message))
	}
	for _, q := range in.Questions {
		fmt.Fprintf(&b, "    %s: %s", q.ID, quoted(q.Prompt))
		for _, o := range q.Options {
			fmt.Fprintf(&b, " | %s", quoted(o.Label))
		}
		fmt.Fprintln(&b)
	}
	if len(in.Schema) > 0 {
		fmt.Fprintf(&b, "    form %s\n", in.Schema)
	}
	if in.URL != "" {
		fmt.Fprintf(&b, "    open %s\n", quoted(in.URL))
	}
	return b.String()
}

// quoted is a text on one line that no terminal takes for anything else.
func quoted(s string) string { return fmt.Sprintf("%+q", s) }

// local is the file of a configuration. It settles; the turn goes on when Parley runs.
type local struct {
	a   *app
	who core.PersonID
}

func (l *local) Close() error { return l.a.close() }

func shown(in core.Input) (w waiting, err error) {
	raw, err := rest.Show(in)
	if err == nil {
		err = json.Unmarshal(raw, &w)
	}
	return w, err
}

func (l *local) list(ctx context.Context, agent string) (out []waiting, err error) {
	f := turn.InputFilter{Responder: l.who, Agent: core.AgentID(agent)}
	for {
		page, next, err := l.a.engine.Inputs(ctx, f)
		if err != nil {
			return nil, failed(err, "")
		}
		for _, in := range page {
			if !l.a.engine.MayAnswer(in, l.who) {
				continue
			}
			w, err := shown(in)
			if err != nil {
				return nil, err
			}
			out = append(out, w)
		}
		if f.After = next; next == "" {
			return out, nil
		}
	}
}

func (l *local) find(ctx context.Context, id string) (waiting, error) {
	in, err := l.a.engine.Input(ctx, core.InputID(id))
	if errors.Is(err, turn.ErrNotFound) || err == nil && !l.a.engine.MayAnswer(in, l.who) {
		return waiting{}, failed(fmt.Errorf("nothing that %s may answer has the id %q", l.who, id), "parley inbox lists what waits")
	}
	if err != nil {
		return waiting{}, failed(err, "")
	}
	return shown(in)
}

func (l *local) answer(ctx context.Context, in waiting, hash string, s core.Submission) (waiting, bool, error) {
	done, err := l.a.engine.SettleAll(ctx, []turn.Settlement{{Input: core.InputID(in.ID), From: l.who, Via: "terminal", Submission: s, Step: -1, Hash: hash}})
	if err != nil {
		hint := ""
		var no *core.AnswerError
		if errors.As(err, &no) {
			err = no
			if no.Current != nil && no.Current.Pending() {
				hint = lookAgain
			}
		}
		return waiting{}, false, failed(err, hint)
	}
	w, err := shown(done[0].Input)
	return w, done[0].Resumed != "", err
}
