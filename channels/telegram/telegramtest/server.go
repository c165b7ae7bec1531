// Package telegramtest is a Bot API server for tests: it keeps chats, messages, buttons and updates, refuses
// what the real one refuses, and lets a test speak as the people in them.
//
// # Words
//
// A Server has one bot. People write with Say, press with Press; what they do becomes an update that waits
// until the bot confirms it, by getUpdates with a higher offset or by a webhook that answered 2xx. What the
// bot sent stands in the chat as Messages. A Fault makes one call fail: before it had its effect, or after.
//
// # Ways in
//
// Start listens on loopback, for a program under test that may be killed and started again while the Server
// lives on. Through serves any handler inside the process, without a socket, so that a test can run in a
// testing/synctest bubble: give http.Client{Transport: Through(server)} to the adapter.
//
// A Server is safe for concurrent use. Close ends all it started.
package telegramtest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"parley/channels/channeltest/faketest"
	"strings"
	"sync"
	"time"
)

// Config is how a Server is made; the zero value is a bot in privacy mode with a token and name of its own.
type Config struct {
	Token    string // "": DefaultToken
	Username string // "": "relay_bot"
	// NoDrafts makes it a server that does not know sendMessageDraft.
	NoDrafts bool
	// HearsAll turns privacy mode off.
	HearsAll bool
	Now      func() time.Time // nil: the system's
	// HookClient makes webhook requests; nil: one of its own. HookRetry is the pause after one that failed; 0: 20 ms.
	HookClient *http.Client
	HookRetry  time.Duration
}

// DefaultToken is the bot token of a Server that was given none; its second half is a secret to look for.
const DefaultToken = "4242:AAE-very-secret-bot-token-0123456789"

// botID is the bot's user id.
const botID = 4242

// Server is a Bot API server.
type Server struct {
	// URL is what stands before "/bot<token>", once Start has returned.
	URL string

	cfg  Config
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup
	http *http.Server

	mu        faketest.Mutex
	chats     map[int64]*room
	presses   map[string]*Answer
	files     map[string]*kept
	commands  string
	calls     []Call
	faults    faketest.Faults[Fault]
	queue     []*waiting // updates that are not confirmed
	confirmed []int64
	allowed   map[string]bool // nil: all
	lastID    int64           // of an update
	lastPress int64
	poller    chan struct{} // closed to end the poll that waits
	hook      *hook
}

// New makes a server that does not listen.
func New(cfg Config) *Server {
	if cfg.Token == "" {
		cfg.Token = DefaultToken
	}
	if cfg.Username == "" {
		cfg.Username = "relay_bot"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.HookClient == nil {
		cfg.HookClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	if cfg.HookRetry <= 0 {
		cfg.HookRetry = 20 * time.Millisecond
	}
	s := &Server{
		cfg: cfg, chats: map[int64]*room{}, presses: map[string]*Answer{}, files: map[string]*kept{},
		lastID: 1000,
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Start makes a server that listens on loopback.
func Start(cfg Config) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := New(cfg)
	s.URL = "http://" + l.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.work.Go(func() { _ = s.http.Serve(l) }) // it ends with ErrServerClosed
	return s, nil
}

// Close ends every request and goroutine of the server.
func (s *Server) Close() {
	s.stop()
	if s.http != nil {
		_ = s.http.Close() // the listener is gone either way
	}
	s.work.Wait()
}

// Token is the bot's token.
func (s *Server) Token() string { return s.cfg.Token }

// Bot is the bot as a user.
func (s *Server) Bot() User { return User{ID: botID, Username: s.cfg.Username, IsBot: true} }

// Call is a request that the bot made.
type Call struct {
	Method string
	Params map[string]string
	At     time.Time
	// Status is what it was answered, 0 where the connection broke.
	Status int
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

// refusal is an answer with ok false.
type refusal struct {
	Code       int
	Text       string
	RetryAfter int
	MigrateTo  int64
}

func bad(text string) *refusal { return &refusal{Code: 400, Text: "Bad Request: " + text} }

// ServeHTTP answers Bot API requests.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, "/file/bot"+s.cfg.Token+"/"); ok {
		s.serveFile(w, r, path)
		return
	}
	token, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || !strings.HasPrefix(r.URL.Path, "/bot") || token != s.cfg.Token {
		s.write(w, nil, &refusal{Code: 401, Text: "Unauthorized"})
		return
	}
	p, err := readParams(r)
	if err != nil {
		s.write(w, nil, bad(err.Error()))
		return
	}
	fault, n := s.begin(method, p)
	if fault == nil {
		result, no := s.call(r.Context(), method, p)
		s.end(n, s.write(w, result, no))
		return
	}
	if fault.Applied {
		s.call(r.Context(), method, p)
	}
	s.end(n, fault.play(s, w, r))
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

func (s *Server) end(n, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[n].Status = status
	s.mu.Note()
}

func (s *Server) write(w http.ResponseWriter, result any, no *refusal) int {
	w.Header().Set("Content-Type", "application/json")
	if no == nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result}) // a client that went away
		return http.StatusOK
	}
	out := map[string]any{"ok": false, "error_code": no.Code, "description": no.Text}
	more := map[string]any{}
	if no.RetryAfter > 0 {
		more["retry_after"] = no.RetryAfter
	}
	if no.MigrateTo != 0 {
		more["migrate_to_chat_id"] = no.MigrateTo
	}
	if len(more) > 0 {
		out["parameters"] = more
	}
	w.WriteHeader(no.Code)
	_ = json.NewEncoder(w).Encode(out) // a client that went away
	return no.Code
}

// call does what a method does.
func (s *Server) call(ctx context.Context, method string, p params) (any, *refusal) {
	switch method {
	case "getUpdates":
		return s.getUpdates(ctx, p)
	case "deleteWebhook":
		return s.deleteWebhook(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.mu.Note()
	switch method {
	case "getMe":
		return map[string]any{
			"id": botID, "is_bot": true, "first_name": "Relay", "username": s.cfg.Username,
			"can_join_groups": true, "can_read_all_group_messages": s.cfg.HearsAll,
		}, nil
	case "setWebhook":
		return s.setWebhook(p)
	case "getWebhookInfo":
		return s.webhookInfo(), nil
	case "sendMessage":
		return s.sendMessage(p)
	case "sendDocument":
		return s.sendDocument(p)
	case "editMessageText", "editMessageCaption", "editMessageReplyMarkup":
		return s.edit(method, p)
	case "answerCallbackQuery":
		return s.answerPress(p)
	case "deleteMessage":
		return s.deleteMessage(p)
	case "sendMessageDraft":
		return s.sendDraft(p)
	case "getFile":
		return s.getFile(p)
	case "sendChatAction":
		return s.chatAction(p)
	case "setMyCommands":
		s.commands = p.str("commands")
		return true, nil
	}
	return nil, &refusal{Code: 404, Text: "Not Found: method not found"}
}
