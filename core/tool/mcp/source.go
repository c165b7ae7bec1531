package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"parley/core/tool"
	"parley/core/tool/oauth"
)

// Source is one MCP server. It is safe for concurrent use.
type Source struct {
	cfg    Config
	name   string // before the names of its tools
	target string
	hide   func(string) string
	log    *slog.Logger
	keeper *oauth.Keeper // of the tokens; nil for a server that wants none

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	// retry wakes a Run that waits to connect again: a call needs the server.
	retry chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when what is below changes
	running bool
	ended   chan struct{} // closed when Run has returned
	cur     *session
	tries   int   // attempts to connect that have ended
	failure error // of the last of them, nil once connected
	listed  bool
	tools   map[string]*mcpTool
	specs   []tool.Spec
	warned  map[string]bool // what was said about listed tools
	alone   bool            // calls have a session to themselves
	older   bool            // connect with the handshake of older servers first
}

// New returns the source of one MCP server, not yet connected. The error lists what is wrong with the
// configuration, one a line.
func New(c Config) (*Source, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("MCP server %q: %w", c.Name, err)
	}
	c = c.withDefaults()
	hide := hider(c)
	shown := hide(target(c))
	var keeper *oauth.Keeper
	if c.OAuth != nil {
		var err error
		if keeper, err = oauth.New(c.oauth()); err != nil {
			return nil, fmt.Errorf("MCP server %q: oauth: %w", c.Name, err)
		}
		fixed := hide
		hide = func(s string) string { return keeper.Hide(fixed(s)) }
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Source{
		cfg: c, name: sourceName(c.Name), target: shown, hide: hide, log: c.Log.With("mcp", c.Name), keeper: keeper,
		ctx: ctx, stop: stop, retry: make(chan struct{}, 1), changed: make(chan struct{}),
		tools: map[string]*mcpTool{}, warned: map[string]bool{},
	}, nil
}

// Name is the name of the source as it stands before the names of its tools.
func (s *Source) Name() string { return s.name }

// Run connects, keeps the list of tools and connects again until ctx ends or Close is called. It returns
// once all it started has ended; the error is one of the caller, who ran it twice.
func (s *Source) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if !s.begin() {
		return fmt.Errorf("run MCP server %s: it runs already", s.cfg.Name)
	}
	defer s.end()
	var open sync.WaitGroup // sessions that are not closed yet
	defer open.Wait()
	wait := s.cfg.Retry
	for ctx.Err() == nil {
		x, err := s.open(ctx)
		s.attempted(x, err)
		switch {
		case err == nil:
			wait = s.cfg.Retry
			s.log.Debug("connected to the MCP server", "protocol", x.protocol)
			s.keep(ctx, x)
			s.drop(x)
			open.Go(func() { x.closeWhenIdle(ctx) })
		case ctx.Err() == nil && needsLogin(err) != nil:
			s.warnOnce("the MCP server needs a login; the tools known of it stay", "err", err.Error())
			wait = longestRetry // a call looks at once
		case ctx.Err() == nil:
			s.log.Warn("the MCP server cannot be reached", "err", err, "retry", wait)
		}
		s.pause(ctx, wait, s.retry)
		wait = min(2*wait, longestRetry)
	}
	return nil
}

func (s *Source) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running || s.ctx.Err() != nil {
		return false
	}
	s.running, s.ended = true, make(chan struct{})
	s.notify()
	return true
}

func (s *Source) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	close(s.ended)
	s.notify()
}

// notify tells those who wait that something changed. The lock is held.
func (s *Source) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Close ends Run and waits for it.
func (s *Source) Close() error {
	s.stop()
	s.mu.Lock()
	running, ended := s.running, s.ended
	s.mu.Unlock()
	if running {
		<-ended
	}
	return nil
}

// open connects and lists the tools.
func (s *Source) open(ctx context.Context) (*session, error) {
	x, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.list(ctx, x); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// attempted records how an attempt to connect ended.
func (s *Source) attempted(x *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cur, s.failure = x, err
	s.tries++
	s.notify()
}

func (s *Source) drop(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur == x {
		s.cur, s.failure = nil, errLost
		s.notify()
	}
}

var errLost = errors.New("the connection was lost")

// keep lists the tools again when they change, until the session is lost.
func (s *Source) keep(ctx context.Context, x *session) {
	refresh := time.NewTicker(s.cfg.Refresh)
	defer refresh.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.lost:
			return
		case <-x.changed:
		case <-refresh.C:
		}
		if err := s.list(ctx, x); err != nil {
			s.log.Warn("the tools of the MCP server cannot be listed; those known stay", "err", err)
			if !errors.Is(err, errAnswered) {
				return
			}
		}
		s.pause(ctx, listPause, x.lost) // however often the server says that they changed
	}
}

// listPause is the least time between two lists.
const listPause = 100 * time.Millisecond

// pause waits, until it is ended early.
func (s *Source) pause(ctx context.Context, d time.Duration, early <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-early:
	}
}

// Ready reports whether the server's tools have been listed at least once.
func (s *Source) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// Check says why the server cannot be used, nil if it can. Where Run runs, it waits for the attempt in
// progress; otherwise it connects, lists the tools and disconnects.
func (s *Source) Check(ctx context.Context) error {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if running {
		_, err := s.current(ctx)
		return err
	}
	x, err := s.open(ctx)
	if err != nil {
		return err
	}
	x.close()
	return nil
}

// current returns the live session. Where there is none it asks for an attempt and waits for its end.
func (s *Source) current(ctx context.Context) (*session, error) {
	first := true
	var before int
	for {
		s.mu.Lock()
		x, changed, tries, failure, running := s.cur, s.changed, s.tries, s.failure, s.running
		s.mu.Unlock()
		if first {
			first, before = false, tries
		}
		switch {
		case x != nil && !x.broken():
			return x, nil
		case !running:
			return nil, fmt.Errorf("MCP server %s is not running", s.cfg.Name)
		case tries > before && failure != nil:
			return nil, failure
		}
		select {
		case s.retry <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("reach MCP server %s: %w", s.cfg.Name, ctx.Err())
		case <-changed:
		}
	}
}

// List returns the specs of the server's tools as last listed, sorted by full name.
func (s *Source) List() []tool.Spec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]tool.Spec(nil), s.specs...)
}

// Lookup finds a tool by its full name. It does not block.
func (s *Source) Lookup(fullName string) (tool.Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tools[fullName]
	if !ok {
		return nil, false
	}
	return t, true
}
