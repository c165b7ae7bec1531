// Package slacktest is a Slack for tests: it keeps people, channels, threads, messages, buttons and files,
// refuses what the real one refuses, and lets a test speak as the people in it.
//
// # Words
//
// A Server has one app with one bot in one workspace. People write with Say and press with Press; what they
// do becomes an event that waits until the app acknowledges it: by echoing its envelope on a socket, or by a
// 2xx at EventsURL. What is not acknowledged comes again, in a new envelope, on whichever socket is open.
// What the bot sent stands in the channel as Messages. A Fault makes one call fail: before it had its effect,
// or after.
//
// # Ways in
//
// Start listens on loopback, for a program under test that may be killed and started again while the Server
// lives on. New serves inside the process without a socket, so that a test can run in a testing/synctest
// bubble: give Client() to the adapter.
//
// A Server is safe for concurrent use. Close ends all it started.
package slacktest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"parley/channels/channeltest/faketest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config is how a Server is made; the zero value has tokens of its own and delivers by Socket Mode.
type Config struct {
	Team          string // "": DefaultTeam
	Enterprise    string // of a workspace in a grid
	BotToken      string // "": DefaultBotToken
	AppToken      string // "": DefaultAppToken
	SigningSecret string // "": DefaultSecret
	// Scopes are those of the bot token; nil: all that the manifest asks for.
	Scopes []string
	Now    func() time.Time // nil: the system's
	// PingEvery is how often a socket is pinged; 0: 10 s.
	PingEvery time.Duration
	// AckWithin is how long an envelope may stay unacknowledged before it comes again; 0: 3 s.
	AckWithin time.Duration
	// EventsURL, if set, gets events and presses by HTTP instead of a socket. EventsClient makes the
	// requests; Retries are the pauses before each further attempt, nil: 0, 1 min, 5 min.
	EventsURL    string
	EventsClient *http.Client
	Retries      []time.Duration
	// NoStreams refuses chat.startStream, as a workspace without it would.
	NoStreams bool
	// Tiers holds the methods that change messages to the limits that are documented for them.
	Tiers bool
	// NoStatus refuses assistant.threads.setStatus, as for an app that is no assistant.
	NoStatus bool
}

// What a Server that was given none has; the tokens and the secret are what a test looks for in logs.
const (
	DefaultTeam     = "T0HOME"
	DefaultBotToken = "xoxb-1111-2222-very-secret-bot-token"
	DefaultAppToken = "xapp-1-A0APP-3333-very-secret-app-token"
	DefaultSecret   = "5f0dfe6c1e9b4e0bvery-secret-signing"
)

// The bot of the app.
const (
	BotUser = "U0BOT"
	BotID   = "B0BOT"
	AppID   = "A0APP"
)

// AllScopes are those that the manifest asks for.
var AllScopes = strings.Fields("app_mentions:read channels:history channels:read chat:write files:read files:write groups:history groups:read im:history im:read im:write mpim:history mpim:read users:read")

// Server is a Slack.
type Server struct {
	// URL is what Web API methods stand behind; it ends in "/api/".
	URL string

	cfg    Config
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	work   sync.WaitGroup
	http   *http.Server
	client *http.Client

	mu     faketest.Mutex
	users  map[string]User
	rooms  map[string]*room
	files  map[string]*upload
	lastTS int64 // microseconds
	serial int
	calls  []Call
	faults faketest.Faults[Fault]
	limits map[string]time.Time // method and channel to when it is open again
	notes  []Note
	status []Status

	queue   []*delivery // not acknowledged
	lost    []*delivery // given up
	acked   []Acked
	conns   []*conn
	nextOn  int
	twice   bool
	swapped bool
	held    bool
	chain   map[string]chan struct{} // the last first attempt by HTTP in a channel
	noRetry bool                     // the app asked for none
}

// New makes a server that is reached through Client only.
func New(cfg Config) *Server {
	s := newServer(cfg)
	l := faketest.NewPipes("slack.test:80")
	s.URL = "http://slack.test/api/"
	s.client = l.Client()
	s.serve(l)
	return s
}

// Start makes a server that listens on loopback.
func Start(cfg Config) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := newServer(cfg)
	s.URL = "http://" + l.Addr().String() + "/api/"
	s.client = &http.Client{Transport: &http.Transport{}}
	s.serve(l)
	return s, nil
}

func newServer(cfg Config) *Server {
	for p, v := range map[*string]string{
		&cfg.Team: DefaultTeam, &cfg.BotToken: DefaultBotToken, &cfg.AppToken: DefaultAppToken, &cfg.SigningSecret: DefaultSecret,
	} {
		if *p == "" {
			*p = v
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Scopes == nil {
		cfg.Scopes = AllScopes
	}
	if cfg.PingEvery <= 0 {
		cfg.PingEvery = 10 * time.Second
	}
	if cfg.AckWithin <= 0 {
		cfg.AckWithin = 3 * time.Second
	}
	if cfg.Retries == nil {
		cfg.Retries = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if cfg.EventsClient == nil {
		cfg.EventsClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	s := &Server{
		cfg: cfg, users: map[string]User{}, rooms: map[string]*room{}, files: map[string]*upload{},
		limits: map[string]time.Time{}, chain: map[string]chan struct{}{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.users[BotUser] = User{ID: BotUser, Team: cfg.Team, Bot: true}
	return s
}

func (s *Server) serve(l net.Listener) {
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.work.Go(func() { _ = s.http.Serve(l) }) // it ends with ErrServerClosed
}

// Client reaches the server, wherever it listens.
func (s *Server) Client() *http.Client { return s.client }

// Close ends every request, socket and goroutine of the server.
func (s *Server) Close() {
	s.stop()
	s.mu.Lock()
	open := append([]*conn(nil), s.conns...)
	s.mu.Unlock()
	for _, c := range open {
		c.close()
	}
	_ = s.http.Close() // the listener is gone either way
	s.client.CloseIdleConnections()
	s.cfg.EventsClient.CloseIdleConnections()
	s.work.Wait()
}

// Secrets are all that must appear in no error and no log line.
func (s *Server) Secrets() []string {
	return []string{s.cfg.BotToken, s.cfg.AppToken, s.cfg.SigningSecret, "response-url-secret", "socket-ticket-secret", "upload-url-secret"}
}

// Call is a request that the app made.
type Call struct {
	Method string
	Params map[string]string
	At     time.Time
	// Error is what it was refused with, "" for nothing.
	Error string
}

// Calls lists the requests made so far, oldest first, of one method where it is not "".
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			out = append(out, c)
		}
	}
	return out
}

// Wait returns once cond holds, which is tried again after every change, or with the error of ctx.
func (s *Server) Wait(ctx context.Context, cond func() bool) error { return s.mu.Wait(ctx, cond) }

// ServeHTTP answers Web API methods, uploads, downloads and sockets.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/socket":
		s.socket(w, r)
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		s.receiveFile(w, r)
	case strings.HasPrefix(r.URL.Path, "/files-pri/"):
		s.serveFile(w, r)
	case strings.HasPrefix(r.URL.Path, "/api/"):
		s.method(w, r, strings.TrimPrefix(r.URL.Path, "/api/"))
	default:
		http.NotFound(w, r)
	}
}

// method answers one call of the Web API.
func (s *Server) method(w http.ResponseWriter, r *http.Request, method string) {
	p, err := readParams(r)
	if err != nil {
		write(w, http.StatusOK, refuse("invalid_form_data"))
		return
	}
	fault, n := s.begin(method, p)
	if fault != nil && !fault.Applied {
		s.end(n, "fault")
		fault.play(s, w, r)
		return
	}
	out := s.answer(method, p)
	if fault != nil {
		s.end(n, "fault after it was done")
		fault.play(s, w, r)
		return
	}
	text, _ := out["error"].(string)
	s.end(n, text)
	status := http.StatusOK
	if wait, ok := out["retry_after"].(int); ok {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		status = http.StatusTooManyRequests
		delete(out, "retry_after")
	}
	w.Header().Set("X-OAuth-Scopes", strings.Join(s.cfg.Scopes, ","))
	write(w, status, out)
}

// begin records a call and takes the fault that is meant for it.
func (s *Server) begin(method string, p params) (*Fault, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := make(map[string]string, len(p.values))
	for k := range p.values {
		shown[k] = p.values.Get(k)
	}
	s.calls = append(s.calls, Call{Method: method, Params: shown, At: s.cfg.Now()})
	s.mu.Note()
	return s.faults.Take(method), len(s.calls) - 1
}

func (s *Server) end(n int, refused string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[n].Error = refused
	s.mu.Note()
}

func write(w http.ResponseWriter, status int, out map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // a client that went away
}

// refuse is an answer with ok false.
func refuse(code string) map[string]any { return map[string]any{"ok": false, "error": code} }
