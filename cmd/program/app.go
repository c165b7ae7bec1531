package program

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"parley/channels"
	"parley/channels/metrics"
	"parley/channels/webhook"
	"parley/core"
	"parley/core/tool/mcp"
	"parley/core/turn"
	"parley/store/bolt"
)

// How long what is in flight may go on after the program was told to stop: tool calls, then sends, then
// everything. What is cut is in the store and goes on at the next start.
const (
	toolGrace = 7 * time.Second
	sendGrace = 5 * time.Second
	stopBound = 10 * time.Second
)

// app is the program at work: the store, the engine over it, and the channels that feed it.
//
//	newApp ──▶ addTerminal | addChannels ──▶ run ──▶ close
type app struct {
	cfg    *Config
	log    *slog.Logger
	store  *bolt.Store
	engine *turn.Engine
	// channels and the handlers of those that receive by HTTP.
	channels []channels.Channel
	hooks    map[string]http.Handler
	// deaf says that nothing is served by HTTP: the terminal has the store to itself.
	deaf bool
	// hub is there once the app runs.
	hub *channels.Hub
	// servers are the MCP servers whose tools the agents have.
	servers []*mcp.Source
	// told are the webhooks, nil for none; there once the app runs.
	told *webhook.Hooks
	// put are the agents that were defined by the API.
	put *putAgents
	// traces sends spans away; nil where no collector is configured.
	traces *sdktrace.TracerProvider
	now    func() time.Time
}

// tryEveryPart is what to do about a part of the configuration that cannot be made.
const tryEveryPart = "parley doctor tries every part of a configuration"

// newApp opens the store and builds the engine. The caller closes the app.
func newApp(cfg *Config, log *slog.Logger) (*app, error) {
	a := &app{cfg: cfg, log: log, hooks: map[string]http.Handler{}, now: time.Now}
	late := &lateStore{}
	cfg.logins = loginPlace{memory: late}
	shop, err := newWorkshop(cfg, log, a.now)
	if err != nil {
		return nil, misused(err, tryEveryPart)
	}
	agents, servers, err := shop.fileAgents()
	if err != nil {
		return nil, misused(err, tryEveryPart)
	}
	a.servers = servers
	a.store, err = bolt.Open(cfg.Store.Path, bolt.Options{})
	if err != nil {
		return nil, failed(err, storeHint(err))
	}
	late.store.Store(a.store)
	if a.put, err = newPutAgents(context.Background(), shop, a.store); err != nil {
		return nil, errors.Join(failed(err, ""), a.store.Close())
	}
	a.engine, err = turn.New(turn.Config{
		Store: a.store,
		Agents: func(id core.AgentID) (*turn.Agent, bool) {
			ag, ok := agents[id]
			if put := a.put.find(string(id)); put != nil {
				ag, ok = put.agent, true
			}
			if ok && len(ag.Human.Approvers) > 0 {
				ag = a.canonical(ag)
			}
			return ag, ok
		},
		Deps:      a.deps(),
		ReadFile:  a.readFile,
		Tracer:    a.tracer(),
		NewID:     newID,
		Log:       log,
		Grace:     toolGrace,
		Silent:    silent,
		Streams:   cfg.streams,
		Retention: time.Duration(cfg.Store.RetentionDays) * 24 * time.Hour,
		Unread:    a.unread,
	})
	if err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	return a, nil
}

// unread is when the oldest thing happened that a webhook is still to be told of.
func (a *app) unread(ctx context.Context) (time.Time, error) {
	if a.told == nil {
		return time.Time{}, nil
	}
	return a.told.Unread(ctx)
}

// readFile reads a file that a person sent. Only a model request asks for it, and so only a running app.
func (a *app) readFile(ctx context.Context, m core.Message, f core.File) ([]byte, error) {
	return a.hub.ReadFile(ctx, m, f)
}

// newID is 16 letters and digits that nobody guesses.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

// addTerminal adds the terminal as a channel, open to the one person who sits there. The app then listens to
// nobody else.
func (a *app) addTerminal(t channels.Adapter, who core.PersonID) {
	a.deaf = true
	a.channels = append(a.channels, channels.Channel{Adapter: t, Access: channels.Access{Allow: []core.PersonID{who}}})
}

// run works until ctx ends or every channel has ended by itself, and returns within stopBound after that.
func (a *app) run(ctx context.Context) error {
	counts, err := metrics.New(metrics.Config{Turns: a.engine, Now: a.now, Log: a.log, Version: versionText()})
	if err != nil {
		return err
	}
	hub, err := channels.NewHub(channels.Config{
		Turns: a.engine, Channels: a.channels, Now: a.now, Log: a.log, Grace: sendGrace, Observer: counts, Memory: a.store,
	})
	if err != nil {
		return err
	}
	a.hub = hub // before the engine works
	hooks, err := a.webhooks(counts)
	if err != nil {
		return err
	}
	a.told = hooks // before the engine works
	server, err := a.listen(hub, counts)
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	parts := map[string]func(context.Context) error{"engine": a.work, "agents": a.put.run, "log": a.tellStory}
	if len(a.channels) > 0 {
		parts["channels"] = hub.Run
	}
	if server != nil {
		parts["http"], parts["relays"], parts["metrics"] = server.run, a.relays, counts.Run
	}
	if hooks != nil {
		parts["webhooks"] = hooks.Run
	}
	for i, s := range a.servers {
		parts[fmt.Sprintf("mcp server %d", i)] = s.Run
	}
	return a.together(work, stop, parts)
}

// ended is the end of one part.
type ended struct {
	part string
	err  error
}

// together runs the parts until the first ends, then stops the others and waits for them.
func (a *app) together(ctx context.Context, stop func(), parts map[string]func(context.Context) error) error {
	done := make(chan ended, len(parts))
	for name, part := range parts {
		go func() { done <- ended{name, part(ctx)} }()
	}
	var errs []error
	told, bound := ctx.Done(), (<-chan time.Time)(nil)
	for left := len(parts); left > 0; left-- {
		select {
		case e := <-done:
			if e.err != nil {
				errs = append(errs, e.err)
			}
			a.log.Debug("a part ended", "part", e.part)
		case <-told:
			left++ // nothing ended yet
			told, bound = nil, time.After(stopBound)
			continue
		case <-bound:
			a.log.Warn("stopped before everything had ended: what was in flight is in the store and goes on at the next start")
			return errors.Join(errs...)
		}
		stop()
	}
	return errors.Join(errs...)
}

// close gives the store back. What has not ended by now is in it.
func (a *app) close() error {
	if a.traces != nil {
		ctx, cancel := context.WithTimeout(context.Background(), sendGrace)
		defer cancel()
		_ = a.traces.Shutdown(ctx) // what was not sent is logged
	}
	closed := make(chan error, 1)
	go func() { closed <- a.store.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(stopBound):
		return fmt.Errorf("close the store: it is still in use after %s: nothing that was acknowledged is lost", stopBound)
	}
}

// storeHint says what to do about a store that cannot be opened.
func storeHint(err error) string {
	switch {
	case errors.Is(err, bolt.ErrLocked):
		return "one program at a time holds a store file: stop the other, or name another file"
	case errors.Is(err, turn.ErrDamaged):
		return "keep the file as it is, then see docs/operations.md: restore a backup, or run parley store check on a copy"
	default:
		return ""
	}
}
