package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"parley/core/tool/mcp"
	"parley/core/tool/oauth"
	"parley/store/bolt"
)

// loginTime is how long a person has to log in.
const loginTime = 15 * time.Minute

func (p *program) loginCommand() *cobra.Command {
	var config, agent, server string
	var paste bool
	cmd := &cobra.Command{
		Use:   "login --config FILE --agent A --server NAME",
		Short: "Log in to an MCP server that wants OAuth",
		Long: `Prints an address to open in a browser, waits for the browser to come back, and keeps the login in the store
of the configuration, where parley serve finds and renews it. The server is one of the agent's mcpServers with
"oauth": {"grant": "authorization_code"}.

Where the browser is on another machine, use --paste: log in there, and paste the address at which it ends.

The store is held by one program at a time: stop parley serve before.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.login(cmd.Context(), loginWords{config, agent, server, paste})
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "the configuration file")
	cmd.Flags().StringVar(&agent, "agent", "", "the agent that has the server")
	cmd.Flags().StringVar(&server, "server", "", "the name of the server")
	cmd.Flags().BoolVar(&paste, "paste", false, "read the address at which the browser ends from the input")
	return cmd
}

// loginWords are what the command was given.
type loginWords struct {
	config, agent, server string
	paste                 bool
}

func (p *program) login(ctx context.Context, words loginWords) (err error) {
	ctx, done := untilStopped(ctx)
	defer done()
	cfg, err := p.loadConfig(words.config)
	if err != nil {
		return err
	}
	m, err := cfg.loginServer(words)
	if err != nil {
		return err
	}
	store, err := bolt.Open(cfg.Store.Path, bolt.Options{LockTimeout: time.Second})
	switch {
	case errors.Is(err, bolt.ErrLocked):
		return failed(err, "parley runs with this store: stop it, log in, and start it again")
	case err != nil:
		return failed(err, storeHint(err))
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	cfg.logins = loginPlace{memory: store}
	o := cfg.login(words.agent, m)
	o.HTTPClient = outboundClient(cfg)
	fetch := oauth.Browser(p.stdout)
	if words.paste {
		fetch = oauth.Paste(p.stdout, p.stdin)
	}
	limit, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	if err := oauth.Login(limit, *o, fetch); err != nil {
		return failed(fmt.Errorf("log in to %s: %w", m.Name, err), "nothing was changed; see docs/tools.md about oauth, and --paste where the browser is elsewhere")
	}
	fmt.Fprintf(p.stdout, "Logged in to %s. The login is kept in %s.\n", m.Name, cfg.Store.Path)
	return p.tryLogin(ctx, o, m)
}

// tryLogin lists the tools of the server with the new login.
func (p *program) tryLogin(ctx context.Context, o *oauth.Config, m MCPConfig) error {
	s, err := mcp.New(mcp.Config{Name: m.Name, URL: m.URL, Headers: reveal(m.Headers), HTTPClient: o.HTTPClient, Approval: m.Approval.build(), OAuth: o})
	if err != nil {
		return err
	}
	look, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	if err := s.Check(look); err != nil {
		return failed(err, "the login is kept; parley doctor tries the server again")
	}
	fmt.Fprintf(p.stdout, "The server answers: it has %d tools.\n", len(s.List()))
	return s.Close()
}

// loginServer finds the server to log in to.
func (c *Config) loginServer(words loginWords) (MCPConfig, error) {
	a, ok := c.Agents[words.agent]
	if !ok {
		return MCPConfig{}, misused(fmt.Errorf("there is no agent %q", words.agent), "name one with --agent: "+known(c.Agents))
	}
	i := slices.IndexFunc(a.MCPServers, func(m MCPConfig) bool { return m.Name == words.server })
	switch {
	case i < 0:
		var names []string
		for _, m := range a.MCPServers {
			if m.OAuth != nil {
				names = append(names, m.Name)
			}
		}
		return MCPConfig{}, misused(fmt.Errorf("agent %s has no MCP server %q", words.agent, words.server), "name one with --server: "+strings.Join(names, ", "))
	case a.MCPServers[i].OAuth == nil:
		return MCPConfig{}, misused(fmt.Errorf("the MCP server %s has no oauth in the configuration", words.server), `add "oauth": {"grant": "authorization_code"} to it`)
	case a.MCPServers[i].OAuth.Grant != oauth.AuthorizationCode:
		return MCPConfig{}, misused(fmt.Errorf("the MCP server %s has the grant %s, which needs no login", words.server, a.MCPServers[i].OAuth.Grant), "parley doctor tries it")
	}
	return a.MCPServers[i], nil
}

// loginPlace is where logins are kept.
type loginPlace struct {
	memory oauth.Memory
	// frozen says that what is read there cannot be replaced.
	frozen bool
}

// oauth is how tokens for a server are had, as far as its own configuration tells.
func (m MCPConfig) oauth() oauth.Config {
	o := m.OAuth
	return oauth.Config{
		Server: m.URL, Grant: o.Grant, ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), PrivateKey: o.PrivateKey.Reveal(),
		KeyID: o.KeyID, Issuer: o.Issuer, Scopes: o.Scopes, Redirect: o.Redirect,
	}
}

// login is how an agent has tokens for a server, nil where it needs none.
func (c *Config) login(agent string, m MCPConfig) *oauth.Config {
	if m.OAuth == nil {
		return nil
	}
	o := m.oauth()
	o.Memory, o.Frozen, o.Now = c.logins.memory, c.logins.frozen, time.Now
	o.Key = "oauth/" + agent + "/" + m.Name
	o.Hint = fmt.Sprintf("stop parley and run parley login --config FILE --agent %s --server %s", agent, m.Name)
	return &o
}

// lateStore is the store of a program that makes its sources before it opens it.
type lateStore struct{ store atomic.Pointer[bolt.Store] }

var errNoStore = errors.New("the store is not open yet")

// Recall implements oauth.Memory.
func (l *lateStore) Recall(ctx context.Context, key string) ([]byte, bool, error) {
	if s := l.store.Load(); s != nil {
		return s.Recall(ctx, key)
	}
	return nil, false, errNoStore
}

// Remember implements oauth.Memory.
func (l *lateStore) Remember(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if s := l.store.Load(); s != nil {
		return s.Remember(ctx, key, value, ttl)
	}
	return errNoStore
}

// lookTime is how long a look at a login waits for the store, which a running program holds all the time.
const lookTime = 100 * time.Millisecond

// storedLogins looks into a store file for one login at a time, and changes nothing.
type storedLogins struct{ path string }

// Recall implements oauth.Memory.
func (l storedLogins) Recall(ctx context.Context, key string) ([]byte, bool, error) {
	s, err := bolt.Open(l.path, bolt.Options{ReadOnly: true, LockTimeout: lookTime})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer s.Close()
	return s.Recall(ctx, key)
}

// Remember implements oauth.Memory.
func (l storedLogins) Remember(context.Context, string, []byte, time.Duration) error {
	return errors.New("the store is only looked at")
}
