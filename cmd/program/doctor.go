package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"parley/channels"
	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/tool/oauth"
	"parley/core/turn"
	"parley/store/bolt"
)

// doctorTime bounds what one thing takes to be examined.
const doctorTime = 20 * time.Second

func (p *program) doctorCommand() *cobra.Command {
	var config string
	var policy bool
	cmd := &cobra.Command{
		Use:   "doctor --config FILE",
		Short: "Examine a configuration against the world, one line a check",
		Long: `Asks each platform, model and tool server of a configuration whether it would work, and says what to do
about what would not. It receives no message and runs no tool. The exit code is 1 if anything would keep a
prompt or an answer from arriving.

With --policy it prints for each tool of each agent whether a person must approve its calls, and why.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), config, policy) },
	}
	cmd.Flags().StringVar(&config, "config", "", "the configuration file")
	cmd.Flags().BoolVar(&policy, "policy", false, "print the verdict for each tool")
	return cmd
}

// report prints findings and remembers whether one was a failure.
type report struct {
	out    io.Writer
	failed bool
}

func (r *report) add(what string, findings ...channels.Finding) {
	for _, f := range findings {
		r.failed = r.failed || f.Level == channels.LevelFail
		line := fmt.Sprintf("%-4s  %s: %s", f.Level, what, f.What)
		if f.Fix != "" {
			line += "\n      do: " + f.Fix
		}
		fmt.Fprintln(r.out, line)
	}
}

func (r *report) err(what string, err error, fix string) {
	if err == nil {
		r.add(what, channels.Finding{Level: channels.LevelOK, What: "works"})
		return
	}
	r.add(what, channels.Finding{Level: channels.LevelFail, What: err.Error(), Fix: fix})
}

// server says how an MCP server is. A login that the running program holds cannot be looked at.
func (r *report) server(what string, err error) {
	var login *oauth.LoginError
	switch {
	case errors.As(err, &login):
		r.add(what, channels.Finding{Level: channels.LevelFail, What: "not connected: " + login.Why, Fix: login.Hint})
	case errors.Is(err, oauth.ErrFrozen):
		r.add(what, channels.Finding{Level: channels.LevelOK, What: "logged in; the token has run out and parley renews it when it runs, so that its tools cannot be listed here"})
	case errors.Is(err, bolt.ErrLocked):
		r.add(what, channels.Finding{Level: channels.LevelOK, What: "parley runs with this store: its log says whether the login works"})
	default:
		r.err(what, err, "check url or command, headers and outbound.allowPrivate")
	}
}

func (p *program) doctor(ctx context.Context, config string, policy bool) error {
	cfg, err := p.loadConfig(config)
	if err != nil {
		return err
	}
	r := &report{out: p.stdout}
	for _, w := range cfg.Warnings {
		r.add("configuration", channels.Finding{Level: channels.LevelWarn, What: w})
	}
	a := &app{cfg: cfg, log: slog.New(slog.DiscardHandler), now: time.Now}
	a.examineStore(r)
	a.examineModels(ctx, r)
	a.examineSources(ctx, r, policy)
	a.examineChannels(ctx, r)
	if r.failed {
		return failed(fmt.Errorf("something would keep a prompt or an answer from arriving"), "see the lines that begin with fail")
	}
	return nil
}

// examineStore opens the file for reading: one that a running program holds is in use, which is well.
func (a *app) examineStore(r *report) {
	s, err := bolt.Open(a.cfg.Store.Path, bolt.Options{ReadOnly: true, LockTimeout: time.Second})
	switch {
	case err == nil:
		defer s.Close()
		r.add("store", channels.Finding{Level: channels.LevelOK, What: a.cfg.Store.Path + " can be opened"})
		a.examineOrphans(r, s)
	case errors.Is(err, fs.ErrNotExist):
		r.add("store", channels.Finding{Level: channels.LevelOK, What: a.cfg.Store.Path + " is not there yet and is made at the first start"})
	case errors.Is(err, bolt.ErrLocked):
		r.add("store", channels.Finding{Level: channels.LevelOK, What: "in use: " + err.Error()})
	default:
		r.add("store", channels.Finding{Level: channels.LevelFail, What: err.Error(), Fix: storeHint(err)})
	}
}

func (a *app) examineModels(ctx context.Context, r *report) {
	for _, id := range slices.Sorted(maps.Keys(a.cfg.Models)) {
		m, err := buildModel(id, a.cfg.Models[id], a.log)
		if err == nil {
			err = a.tryModel(ctx, m)
		}
		r.err("model "+id, err, "check provider, model, apiKey and baseURL")
	}
}

// tryModel asks for one short reply: only that shows that key, name and address are right.
func (a *app) tryModel(ctx context.Context, m model.Model) error {
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	if retry, ok := m.(*model.Retry); ok {
		m = retry.Model // a look, not a siege
	}
	_, err := m.Generate(ctx, model.Request{
		System:   "Answer with the single word ok.",
		Messages: []model.Message{{Role: model.RoleUser, Text: "Are you there?"}},
	})
	return err
}

func (a *app) examineSources(ctx context.Context, r *report, policy bool) {
	e := &effects{path: a.cfg.Store.Path + ".effects", now: a.now}
	client := outboundClient(a.cfg)
	a.cfg.logins = loginPlace{memory: storedLogins{a.cfg.Store.Path}, frozen: true}
	for _, id := range slices.Sorted(maps.Keys(a.cfg.Agents)) {
		from, err := buildSources(ctx, a.cfg, id, a.cfg.Agents[id], e, client, a.log)
		if err != nil {
			r.err("agent "+id, err, "")
			continue
		}
		for _, s := range from.run {
			look, cancel := context.WithTimeout(ctx, doctorTime)
			r.server("agent "+id+", MCP server "+s.Name(), s.Check(look))
			cancel()
		}
		for _, o := range from.loaded {
			r.add("agent "+id, channels.Finding{Level: channels.LevelOK, What: fmt.Sprintf("an OpenAPI source offers %d tools", len(o.List()))})
			for _, rule := range o.Unmatched() {
				r.add("agent "+id, channels.Finding{Level: channels.LevelWarn, What: "the approval rule " + rule + " matches no tool", Fix: "check its spelling; it applies as soon as the tool exists"})
			}
		}
		if policy {
			printPolicy(r.out, id, from.set)
		}
		for _, s := range from.run {
			s.Close()
		}
	}
}

// printPolicy tells for each tool whether its calls need a person. The verdict of a rule that looks at the
// arguments is the one for none.
func printPolicy(out io.Writer, agent string, set tool.Set) {
	for _, spec := range set.List() {
		verdict := "runs without asking"
		if v := tool.Decide(spec.Policy, []byte("{}")); v.Need {
			verdict = "asks for approval"
			if v.Rule != "" {
				verdict += " (rule: " + v.Rule + ")"
			}
			if spec.ApproversOnly {
				verdict += ", approvers only"
			}
		}
		fmt.Fprintf(out, "policy  %s: %s (%s): %s\n", agent, spec.FullName(), spec.Type, verdict)
	}
}

func (a *app) examineChannels(ctx context.Context, r *report) {
	for _, ch := range a.cfg.Channels {
		what := "channel " + ch.Name
		adapter, _, err := a.adapterOf(ch)
		if err != nil {
			r.err(what, err, "")
			continue
		}
		checker, ok := adapter.(channels.Checker)
		if !ok {
			continue
		}
		look, cancel := context.WithTimeout(ctx, doctorTime)
		r.add(what, checker.Check(look)...)
		cancel()
	}
}

// examineOrphans lists what waits for an agent or a channel that the configuration no longer has.
func (a *app) examineOrphans(r *report, s *bolt.Store) {
	has := map[string]bool{reserved: true, "api": true, "mcp": true}
	for _, ch := range a.cfg.Channels {
		has[ch.Name] = true
	}
	for id, n := range a.orphans(s, has) {
		r.add("store", channels.Finding{
			Level: channels.LevelWarn, What: fmt.Sprintf("%d inputs wait in vain: the configuration has no %s", n, id),
			Fix: "bring it back under that name, or let them expire",
		})
	}
}

// orphans counts pending inputs by the agent or channel that is gone. It looks at the oldest thousand.
func (a *app) orphans(s *bolt.Store, channel map[string]bool) map[string]int {
	const most = 1000
	out := map[string]int{}
	stored, err := definitions{s}.all(context.Background())
	if err != nil {
		return out
	}
	gone := func(id core.AgentID) bool { return !a.hasAgent(id) && stored[string(id)] == nil }
	page, _, err := s.Inputs(context.Background(), turn.InputFilter{Limit: most})
	if err != nil {
		return out
	}
	for _, in := range page {
		agent, ch, _ := in.Conversation.Parts()
		if gone(agent) {
			out["agent "+string(agent)]++
		} else if !channel[ch] {
			out["channel "+ch]++
		}
		if in.Agent != "" && in.Agent != agent && gone(in.Agent) {
			out["agent "+string(in.Agent)]++
		}
	}
	return out
}

func (a *app) hasAgent(id core.AgentID) bool {
	_, ok := a.cfg.Agents[string(id)]
	return ok
}
