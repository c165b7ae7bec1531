package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/channels"
	"parley/core"
)

// lookTimeout bounds a question about a channel: its conversation waits.
const lookTimeout = 5 * time.Second

// worker hands what one Run receives to the sink.
type worker struct {
	*lanes
	a    *Adapter
	sink channels.Sink
	// run ends when the program does; the lanes live on for a grace.
	run     context.Context
	offered sync.Once
	// gap is what the present session has to fetch, nil before the first.
	gap      atomic.Pointer[gap]
	fetching chan struct{} // holds one for each channel that is being fetched
	failing  atomic.Bool   // the last page could not be had
	// quietTill is when Discord takes calls again, in nanoseconds.
	quietTill atomic.Int64
}

func newWorker(a *Adapter, sink channels.Sink, ctx context.Context) *worker {
	return &worker{lanes: newLanes(ctx, a.log), a: a, sink: sink, run: ctx, fetching: make(chan struct{}, atOnce)}
}

// reader is how messages are read now.
func (w *worker) reader() reader {
	me, roles := w.a.self(), w.a.rooms.ourRoles()
	return reader{me: me, ours: mentionsOf(me.user, roles), roles: roles, agent: w.a.agent, channel: w.a.name}
}

// hear takes one event. It runs in the gateway's reader and must not wait.
func (w *worker) hear(f frame) {
	switch f.Type {
	case "MESSAGE_CREATE":
		var m message
		if err := json.Unmarshal(f.Data, &m); err != nil {
			w.log.Error("discord: skipped a message that cannot be read", "seq", f.Seq, "err", err)
			return
		}
		w.ahead(&m)
		w.a.heard.took(&m)
		w.put(m.Channel.String(), func(ctx context.Context) { w.live(ctx, &m) })
	case "INTERACTION_CREATE":
		var i interaction
		if err := json.Unmarshal(f.Data, &i); err != nil {
			w.log.Error("discord: skipped an interaction that cannot be read", "seq", f.Seq, "err", err)
			return
		}
		w.interaction(i)
	case "GUILD_CREATE":
		var g guild
		if err := json.Unmarshal(f.Data, &g); err != nil {
			w.log.Warn("discord: skipped an event that cannot be read", "kind", f.Type, "seq", f.Seq, "err", err)
			return
		}
		w.a.rooms.hearGuild(w.a.self().user, f.Type, g)
		if !g.Unavailable {
			w.tells(g)
		}
	case "GUILD_DELETE":
		var g guild
		if err := json.Unmarshal(f.Data, &g); err == nil && !g.Unavailable {
			w.toldAll(g.ID)
		}
	case "CHANNEL_CREATE", "THREAD_CREATE":
		var c channel
		if err := json.Unmarshal(f.Data, &c); err == nil && (f.Type == "CHANNEL_CREATE" || c.New) {
			w.made(c.ID)
		}
		w.learn(f)
	default:
		w.learn(f)
	}
}

// learn takes what an event says about where people speak.
func (w *worker) learn(f frame) {
	if err := w.a.rooms.hear(w.a.self().user, f.Type, f.Data); err != nil {
		w.log.Warn("discord: skipped an event that cannot be read", "kind", f.Type, "seq", f.Seq, "err", err)
	}
}

// live hands in what the gateway told. One over which it panics is not told again.
func (w *worker) live(ctx context.Context, m *message) {
	ok := true
	defer func() { w.a.heard.gave(m, ok) }()
	ok = w.message(ctx, m)
}

// message hands one message in, and reports false where the program ended before that was done. Discord sends it
// once: where storing fails the Hub tells the person, and what they were told of is not fetched again.
func (w *worker) message(ctx context.Context, m *message) (done bool) {
	r := w.reader()
	if why := r.refuse(m); why != "" {
		w.log.Debug("discord: message not for the agent", "message", m.ID.String(), "why", why)
		return true
	}
	in, why := r.message(m, w.room(ctx, m))
	if in == nil {
		w.log.Debug("discord: message not for the agent", "message", m.ID.String(), "why", why)
		return true
	}
	w.a.names.learn(m.Author)
	for _, u := range m.Mentions {
		w.a.names.learn(&u)
	}
	err := w.sink.Message(ctx, *in)
	if err != nil {
		w.log.Error("discord: a message was not stored", "conversation", in.Conversation, "message", in.ID, "err", err)
	}
	return err == nil || ctx.Err() == nil
}

// room is where a message stands. What the gateway did not tell is asked for, once.
func (w *worker) room(ctx context.Context, m *message) room {
	x, known := w.a.rooms.get(m.Channel)
	direct := m.Guild == 0 && (m.ChannelType == nil || *m.ChannelType == typeDirect)
	switch {
	case !known && m.ChannelType != nil:
		x = room{kind: *m.ChannelType, guild: m.Guild}
		w.a.rooms.change(m.Channel, func(r *room) { r.kind, r.guild = x.kind, x.guild })
	case !known && direct:
		return room{kind: typeDirect}
	case !known:
		x, _ = w.a.look(ctx, m.Channel)
	}
	if isThread(x.kind) && !x.joined {
		x = w.a.lookThread(ctx, m.Channel, x)
	}
	return x
}

// look asks what a channel is. One that cannot be seen is not asked about again for a while.
func (a *Adapter) look(ctx context.Context, id snowflake) (room, error) {
	within, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var c channel
	if err := a.api.get(within, "look at a channel", discordgo.EndpointChannel(id.String()), &c); err != nil {
		return room{}, err
	}
	c.ID = id
	a.rooms.learn(a.self().user, c, c.Guild)
	x, _ := a.rooms.get(id)
	return x, nil
}

// lookThread asks whether we are part of a thread.
func (a *Adapter) lookThread(ctx context.Context, id snowflake, x room) room {
	if !x.asked.IsZero() && a.now().Sub(x.asked) < lookAgain {
		return x
	}
	within, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := a.api.get(within, "look for us in a thread", discordgo.EndpointThreadMember(id.String(), "@me"), nil)
	e := isCall(err)
	a.rooms.change(id, func(r *room) {
		r.asked = a.now()
		switch {
		case err == nil:
			r.ours, r.joined = true, true
		case e != nil && e.Status == http.StatusNotFound:
			r.ours, r.joined = false, true
		}
		x = *r
	})
	return x
}

// interaction answers a press or a command. Discord gives three seconds for that, whatever the store does.
func (w *worker) interaction(i interaction) {
	r := w.reader()
	w.a.names.learn(i.who())
	switch i.Type {
	case interactionComponent:
		p, ok := r.press(i)
		w.put("press "+i.ID.String(), func(ctx context.Context) {
			w.answer(ctx, i, func() string {
				if !ok {
					return ""
				}
				return w.press(ctx, p)
			})
		})
	case interactionCommand:
		m, ok := r.command(i)
		settled := make(chan string, 1)
		if ok { // among the messages of its conversation, in their order
			w.put(i.Channel.String(), func(ctx context.Context) {
				line := unstored
				defer func() { settled <- line }()
				line = w.command(ctx, *m)
			})
		} else {
			settled <- notACommand
		}
		w.put("command "+i.ID.String(), func(ctx context.Context) {
			w.answer(ctx, i, func() string {
				select {
				case line := <-settled:
					return line
				case <-ctx.Done():
					return unstored
				}
			})
		})
	default:
		w.log.Debug("discord: an interaction of a kind that is not offered", "kind", i.Type)
	}
}

func (w *worker) press(ctx context.Context, p channels.Press) string {
	out, err := w.sink.Press(ctx, p)
	if err != nil {
		w.log.Error("discord: a press was not stored", "input", p.Input, "err", err)
		if out.Line == "" {
			return unstored
		}
	}
	return out.Line
}

func (w *worker) command(ctx context.Context, m core.Message) string {
	if err := w.sink.Message(ctx, m); err != nil {
		w.log.Error("discord: a command was not stored", "conversation", m.Conversation, "err", err)
		return unstored
	}
	return heardYou
}
