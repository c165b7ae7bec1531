package discord

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/discord/discordtest"
	"parley/core"
)

// server is a Platform over a Discord on loopback.
type server struct {
	srv  *discordtest.Server
	room map[channeltest.Room]discordtest.ID

	mu      sync.Mutex
	pending map[string]bool // what was said or pressed and is not with the engine
	late    []discordtest.ID
	crowd   []discordtest.ID // the chats of the figures
	book    *notebook
	before  int // sessions that were opened before the program that runs now
	changed chan struct{}
}

var people = map[string]discordtest.User{
	channeltest.Alice:   {ID: 101, Name: "alice"},
	channeltest.Bob:     {ID: 102, Name: "bob"},
	channeltest.Mallory: {ID: 103, Name: "mallory"},
}

func openServer(t testing.TB) *server {
	srv, err := discordtest.Start(discordtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		srv.Close()
		if c := srv.Complaints(); len(c) > 0 {
			t.Errorf("the server complains: %q", c)
		}
	})
	return &server{
		srv: srv, pending: map[string]bool{}, changed: make(chan struct{}), book: &notebook{m: map[string][]byte{}},
		room: map[channeltest.Room]discordtest.ID{
			channeltest.Direct: srv.DM(people[channeltest.Alice]), channeltest.Group: srv.Channel(srv.Guild()),
		},
	}
}

var _ channeltest.Album = (*server)(nil)

func TestSuite(t *testing.T) {
	t.Parallel()
	channeltest.Suite(t, 26, func(t testing.TB) channeltest.Platform { return openServer(t) })
}

// Caps is all there is: a typed "/help" counts as the command.
func (s *server) Caps() channeltest.Caps {
	return channeltest.Caps{Group: true, Buttons: true, Edits: true, Replies: true, Crossed: true, AtOnce: true, Slash: true, Rewords: true, Shows: true, Stores: true}
}

func (s *server) Adapter(t testing.TB, turns channels.Turns) channels.Adapter {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s.mu.Lock()
	s.before = len(s.srv.Identifies())
	s.mu.Unlock()
	return watched{s, mustNew(t, Config{
		Name: "guild", Agent: channeltest.Agent, Token: s.srv.Token(), APIURL: s.srv.URL, Client: &http.Client{Transport: transport},
		Log: slog.New(slog.DiscardHandler), Inputs: turns.Waiting, Memory: s.book,
		Chatted: func(context.Context, int) ([]core.ConversationID, error) {
			return []core.ConversationID{s.Conversation(channeltest.Direct), s.Conversation(channeltest.Group)}, nil
		},
		Waiting: func(context.Context) ([]core.ConversationID, error) {
			return []core.ConversationID{s.Conversation(channeltest.Direct), s.Conversation(channeltest.Group)}, nil
		},
	})}
}

func (s *server) Person(name string) core.PersonID {
	return personID(snowflake(people[name].ID))
}

func (s *server) Conversation(room channeltest.Room) core.ConversationID {
	return core.NewConversation(channeltest.Agent, "guild", core.Place(s.room[room].String()))
}

// connected waits for a session of the program that runs now.
func (s *server) connected() bool {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return s.srv.Wait(ctx, func() bool { return len(s.srv.Identifies()) > before && s.srv.Live() > 0 }) == nil
}

// Say waits for the program's session: what is said to a bot that is away is another test's matter.
func (s *server) Say(t testing.TB, said channeltest.Saying) string {
	t.Helper()
	if !s.connected() {
		t.Error("the program does not connect")
	}
	at, text := s.room[said.Room], said.Text
	if said.Room == channeltest.Group && !said.Overheard {
		text = "<@" + discordtest.BotID.String() + "> " + text
	}
	var how []discordtest.Said
	if _, id, ok := parseMessageID(said.ReplyTo); ok {
		how = append(how, discordtest.Reply(discordtest.ID(id)))
	}
	if said.Late {
		how = append(how, discordtest.Unheard())
	}
	if said.Picture != nil {
		how = append(how, discordtest.Attach("picture.png", "image/png", said.Picture))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.srv.Say(people[said.Who], at, text, how...)
	if said.Late {
		s.late = append(s.late, id)
	} else {
		s.pending[messageID(snowflake(at), snowflake(id))] = true
	}
	return messageID(snowflake(at), snowflake(id))
}

func (s *server) Press(t testing.TB, who string, room channeltest.Room, message, reply string) {
	t.Helper()
	if !s.connected() {
		t.Error("the program does not connect")
	}
	_, id, _ := parseMessageID(message)
	for _, m := range s.srv.Sent(s.room[room]) {
		for _, b := range m.Buttons {
			if m.ID == discordtest.ID(id) && replyOf(b) == reply {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.pending[s.srv.PressID(people[who], s.room[room], m.ID, b.CustomID).String()] = true
				return
			}
		}
	}
	t.Logf("message %s shows no button %q any more", message, reply)
}

func replyOf(b discordtest.Button) string {
	if b.Value != "" {
		return b.Value
	}
	_, _, reply, _ := parseCustomID(b.CustomID)
	return reply
}

func (s *server) Reword(_ testing.TB, _ string, room channeltest.Room, message, text string) {
	_, id, _ := parseMessageID(message)
	s.srv.Edit(s.room[room], discordtest.ID(id), text)
}

func (s *server) Shown(room channeltest.Room) (out []channeltest.Seen) {
	for _, m := range s.srv.Sent(s.room[room]) {
		seen := channeltest.Seen{ID: messageID(snowflake(s.room[room]), snowflake(m.ID)), Text: unescape(m.Content), Edited: m.Edits > 0}
		for _, b := range m.Buttons {
			if b.URL == "" {
				seen.Buttons = append(seen.Buttons, replyOf(b))
			}
		}
		out = append(out, seen)
	}
	return out
}

func (s *server) Discard(room channeltest.Room, message string) {
	_, id, _ := parseMessageID(message)
	s.srv.Discard(s.room[room], discordtest.ID(id))
}

func (s *server) Stall() { s.srv.Fail(discordtest.Download, discordtest.Fault{Hang: true}) }

func (s *server) Secrets() []string { return []string{discordtest.DefaultToken, "attachment-secret"} }

func (s *server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.late {
		s.pending[messageID(snowflake(s.room[channeltest.Direct]), snowflake(id))] = true
		s.srv.Hear(s.room[channeltest.Direct], id)
	}
	s.late = nil
}

func (s *server) Quiet(t testing.TB) {
	t.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for {
		s.mu.Lock()
		n, changed := len(s.pending), s.changed
		s.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("not taken: %v", s.pending)
		}
	}
}

func (s *server) took(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, id)
	close(s.changed)
	s.changed = make(chan struct{})
}

// watched tells the platform what the engine has taken: Discord itself is never told.
type watched struct {
	s *server
	*Adapter
}

func (w watched) Run(ctx context.Context, sink channels.Sink) error {
	return w.Adapter.Run(ctx, watchedSink{w.s, sink})
}

type watchedSink struct {
	s *server
	channels.Sink
}

func (w watchedSink) Message(ctx context.Context, m core.Message) error {
	err := w.Sink.Message(ctx, m)
	w.s.took(m.ID)
	return err
}

func (w watchedSink) Press(ctx context.Context, p channels.Press) (channels.PressOutcome, error) {
	out, err := w.Sink.Press(ctx, p)
	w.s.took(p.ID)
	return out, err
}
