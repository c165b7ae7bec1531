// Package discordtest is a Discord for tests: REST and gateway, with servers, channels, threads, people and
// messages. It refuses what the real one refuses, and lets a test speak as the people and break the wire.
//
// # Words
//
// A Server has one bot. People write with Say, press with Press and use commands with Command; what they do
// is an event of every session that the bot has opened. A session outlives its connection and keeps its
// events for a resume, until the test lets the server forget it. What the bot sent stands in the channel as
// Messages. A Fault makes one call fail, before it had its effect or after; a Plan makes one connection of the
// gateway behave as none should.
//
// # Ways in
//
// Start listens on loopback, for a program under test that may be killed and started again while the Server
// lives on. Dial connects inside the process, without a socket, so that a test can run in a testing/synctest
// bubble: give it to an http.Transport and to the adapter.
//
// A request that Discord would take though it is unwise, such as a message that could ping everybody, is
// refused and stands in Complaints. A Server is safe for concurrent use. Close ends all it started.
package discordtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"parley/channels/channeltest/faketest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ID is a snowflake.
type ID uint64

func (id ID) String() string { return strconv.FormatUint(uint64(id), 10) }

// MarshalJSON writes an id as text, as Discord does; 0 is null.
func (id ID) MarshalJSON() ([]byte, error) {
	if id == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + id.String() + `"`), nil
}

// Config is how a Server is made; the zero value is a bot with a token of its own that may read everything.
type Config struct {
	Token string // "": DefaultToken
	// ContentOff switches the Message Content Intent off in the portal.
	ContentOff bool
	Now        func() time.Time // nil: the system's
	// Heartbeat is the interval that Hello names; 0: 41250 ms.
	Heartbeat time.Duration
	// Starts is how many sessions may be opened; 0: 1000.
	Starts int
	// PerFive is how many messages a channel takes in five seconds; 0: any number.
	PerFive int
}

// DefaultToken is the bot token of a Server that was given none; its last part is a secret to look for.
const DefaultToken = "MTA0MjQy.GxSecret.very-secret-bot-token-0123456789abc"

// Who the bot is, and its role in every server.
const (
	BotID ID = 4242
	appID ID = 4243
)

// host is the name by which the server is reached through Dial.
const host = "discord.test"

// Server is a Discord.
type Server struct {
	// URL is the address of the API, version included.
	URL string

	cfg   Config
	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	work  sync.WaitGroup
	https []*http.Server
	pipes *faketest.Pipes

	mu         faketest.Mutex
	lastID     ID
	channels   map[ID]*channel
	guilds     []ID
	away       map[ID]bool // servers with an outage
	users      map[ID]User
	acts       map[ID]*Interaction
	calls      []Call
	faults     faketest.Faults[Fault]
	complaints []string
	commands   string
	sessions   map[string]*session
	conns      []*conn
	plans      []Plan
	identifies []Identify
	resumes    []Resume
	beats      int
	starts     int
}

// New makes a server that is reached by Dial alone.
func New(cfg Config) *Server {
	if cfg.Token == "" {
		cfg.Token = DefaultToken
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = 41250 * time.Millisecond
	}
	if cfg.Starts <= 0 {
		cfg.Starts = 1000
	}
	s := &Server{
		URL: "http://" + host + "/api/v9", cfg: cfg, channels: map[ID]*channel{}, away: map[ID]bool{},
		users: map[ID]User{}, acts: map[ID]*Interaction{}, sessions: map[string]*session{},
		pipes: faketest.NewPipes(host), starts: cfg.Starts,
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.listen(s.pipes)
	return s
}

// Start makes a server that listens on loopback too.
func Start(cfg Config) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := New(cfg)
	s.URL = "http://" + l.Addr().String() + "/api/v9"
	s.listen(l)
	return s, nil
}

func (s *Server) listen(l net.Listener) {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.https = append(s.https, srv)
	s.work.Go(func() { _ = srv.Serve(l) }) // it ends with ErrServerClosed
}

// Dial connects to the server whatever the address.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return s.pipes.Dial(ctx, network, address)
}

// Close ends every request, connection and goroutine of the server.
func (s *Server) Close() {
	s.stop()
	for _, srv := range s.https {
		_ = srv.Close() // the listener is gone either way
	}
	s.mu.Lock()
	for _, c := range s.conns {
		_ = c.ws.Close()
	}
	s.mu.Unlock()
	s.work.Wait()
}

// Token is the bot's token.
func (s *Server) Token() string { return s.cfg.Token }

// Bot is the bot as a user.
func (s *Server) Bot() User { return User{ID: BotID, Name: "relay_bot", Bot: true} }

// Wait returns once cond holds, which is tried again after every change, or with the error of ctx.
func (s *Server) Wait(ctx context.Context, cond func() bool) error { return s.mu.Wait(ctx, cond) }

// next makes an id of now, above every one before it. s.mu is held.
func (s *Server) next() ID {
	id := ID(s.cfg.Now().UnixMilli()-1420070400000) << 22
	s.lastID = max(id, s.lastID+1)
	return s.lastID
}

// complain records what no careful program sends. s.mu is held.
func (s *Server) complain(format string, args ...any) *refusal {
	text := fmt.Sprintf(format, args...)
	s.complaints = append(s.complaints, text)
	return bad(text)
}

// Complaints lists requests that were unwise: a test of a sender fails where there are any.
func (s *Server) Complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.complaints...)
}

// Commands is the body that the bot last offered its commands with, "" for none.
func (s *Server) Commands() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}

// Call is a request that the bot made.
type Call struct {
	Route string // one of the routes
	Path  string
	Body  string // the JSON, also of a request with files
	At    time.Time
	// Status is what it was answered, 0 where the connection broke.
	Status int
}

// Calls lists the requests made so far, oldest first, of one route where it is not "".
func (s *Server) Calls(route string) (out []Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if route == "" || c.Route == route {
			out = append(out, c)
		}
	}
	return out
}

// refusal is an answer that is an error.
type refusal struct {
	Status, Code int
	Text         string
	RetryAfter   float64 // seconds
	Global       bool
	Errors       map[string]any
}

// bad is an invalid form.
func bad(text string) *refusal {
	return &refusal{Status: 400, Code: 50035, Text: "Invalid Form Body", Errors: map[string]any{"_errors": []any{map[string]string{"code": "INVALID", "message": text}}}}
}

func gone(code int, what string) *refusal {
	return &refusal{Status: 404, Code: code, Text: "Unknown " + what}
}

// ServeHTTP answers REST calls and takes in connections of the gateway.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v9/")
	if strings.HasPrefix(r.URL.Path, "/attachments/") {
		s.serveFile(w, r)
		return
	}
	if !ok {
		s.serveGateway(w, r)
		return
	}
	k, err := readCall(r, path)
	if err != nil {
		s.write(w, nil, bad(err.Error()))
		return
	}
	fault, n := s.begin(k)
	if fault == nil {
		result, no := s.call(k)
		s.end(n, s.write(w, result, no))
		return
	}
	if fault.Applied {
		s.call(k)
	}
	s.end(n, fault.play(s, w, r))
}

// begin records a call and takes the fault that is meant for it.
func (s *Server) begin(k *restCall) (*Fault, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{Route: k.route, Path: k.path, Body: string(k.body), At: s.cfg.Now()})
	s.mu.Note()
	return s.faults.Take(k.route), len(s.calls) - 1
}

func (s *Server) end(n, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[n].Status = status
	s.mu.Note()
}

func (s *Server) write(w http.ResponseWriter, result any, no *refusal) int {
	if no == nil && result == nil {
		w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent
	}
	w.Header().Set("Content-Type", "application/json")
	if no == nil {
		_ = json.NewEncoder(w).Encode(result) // a client that went away
		return http.StatusOK
	}
	out := map[string]any{"message": no.Text, "code": no.Code}
	if no.Status == http.StatusTooManyRequests {
		out["retry_after"], out["global"] = no.RetryAfter, no.Global
		w.Header().Set("Retry-After", strconv.Itoa(int(no.RetryAfter)+1))
	}
	if no.Errors != nil {
		out["errors"] = no.Errors
	}
	w.WriteHeader(no.Status)
	_ = json.NewEncoder(w).Encode(out) // a client that went away
	return no.Status
}
