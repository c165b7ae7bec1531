package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
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
	cmd.Flags().StringVar(&f.as, "as", "", "who you are: local:NAME; with --server a person as PLATFORM:ID: inbox lists what they may answer, answer answers for them")
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
		Long: `Lists what waits: with --server everything that the token sees, or with --as what that person may answer; with
--config what waits for you, where no server runs. Answer with parley answer.`,
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
		fmt.Fprintln(&b, how(q))
	}
	b.WriteString(in.fields())
	if in.URL != "" {
		fmt.Fprintf(&b, "    open %s\n", quoted(in.URL))
	}
	return b.String()
}

// how says what a question takes beside one of its options, and what it takes by default.
func how(q core.Question) string {
	var notes []string
	if q.Multi {
		notes = append(notes, "several may be chosen")
	}
	if q.FreeText {
		notes = append(notes, "or your own words")
	}
	if q.HasDefaults() {
		var labels []string
		for _, d := range q.Defaults {
			i := slices.IndexFunc(q.Options, func(o core.Option) bool { return o.Value == d })
			if i >= 0 {
				d = q.Options[i].Label
			}
			labels = append(labels, quoted(d))
		}
		notes = append(notes, "default "+cmp.Or(strings.Join(labels, ", "), "none of these"))
	}
	if len(notes) == 0 {
		return ""
	}
	return "  (" + strings.Join(notes, "; ") + ")"
}

// fields are those of a form, one a line; a form that cannot be read is shown as it is.
func (in waiting) fields() string {
	if len(in.Schema) == 0 {
		return ""
	}
	form, err := core.ParseForm(in.Schema)
	if err != nil {
		return fmt.Sprintf("    form %s\n", in.Schema)
	}
	var b strings.Builder
	for _, f := range form.Fields {
		fmt.Fprintf(&b, "    field %s: %s", quoted(f.Name), cmp.Or(f.Format, string(f.Type)))
		for i, o := range f.Enum {
			fmt.Fprintf(&b, "%s%s", map[bool]string{true: " of ", false: " | "}[i == 0], quoted(o.Value))
		}
		b.WriteString(bounds(f))
		if !f.Required {
			b.WriteString(" (may be left out)")
		}
		if f.Description != "" {
			fmt.Fprintf(&b, "  %s", quoted(f.Description))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// bounds are those of a number.
func bounds(f core.FormField) string {
	at := func(word string, n *float64) string {
		if n == nil {
			return ""
		}
		return fmt.Sprintf(" %s %v", word, *n)
	}
	return at("from", f.Min) + at("to", f.Max)
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
