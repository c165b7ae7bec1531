package discord

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"parley/channels"
	"parley/core"
)

const (
	// maxAge is how old a message may be that is fetched where nothing waits for it.
	maxAge = 24 * time.Hour
	// maxPlaces is how many channels of servers, and how many chats, are looked at after a gap, beside those where
	// an input waits.
	maxPlaces = 200
	// atOnce is how many channels are fetched side by side: far from the 50 calls a second that a bot has.
	atOnce = 4
	// guildsWait is how long the servers may take to tell their channels before chats are asked about.
	guildsWait = 10 * time.Second
)

// gap is a time without a session: what was said then is to be fetched, channel by channel.
//
//	READY ─▶ servers to be told, chats to be listed ─▶ channels to be fetched ─▶ nothing left: the mark moves on
type gap struct {
	// from is the mark when the session began.
	from snowflake
	// first says that the bot was never heard of before: nothing was missed but answers to what waits.
	first bool
	// waits are the channels where an input waits.
	waits func() map[snowflake]core.ConversationID

	mu      sync.Mutex
	guilds  map[snowflake]bool // to be told yet
	told    chan struct{}      // closed once none is left
	covered map[snowflake]bool // the channels that are, or need not be, fetched
	places  int
	over    int // places beyond the most
	left    int // what is not done: servers, the list of chats, channels
}

func newGap(guilds []snowflake, first bool) *gap {
	g := &gap{first: first, guilds: map[snowflake]bool{}, told: make(chan struct{}), covered: map[snowflake]bool{}}
	for _, id := range guilds {
		g.guilds[id] = true
	}
	g.left = 1 + len(g.guilds)
	if len(g.guilds) == 0 {
		close(g.told)
	}
	return g
}

// expects reports whether a server is still to tell its channels.
func (g *gap) expects(guild snowflake) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.guilds[guild]
}

// tell notes that a server has told its channels; expected says that it was to do so.
func (g *gap) tell(guild snowflake) (expected bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if expected = g.guilds[guild]; expected {
		delete(g.guilds, guild)
		if len(g.guilds) == 0 {
			close(g.told)
		}
	}
	return expected
}

// cover takes a channel, once: it is to be fetched, or has nothing to be fetched.
func (g *gap) cover(id snowflake) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.covered[id] {
		return false
	}
	g.covered[id] = true
	return true
}

// admit takes a channel among those that are looked at, of which there may be so many.
func (g *gap) admit(id snowflake) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.covered[id]:
		return false
	case g.places >= maxPlaces:
		g.over++
		return false
	}
	g.places++
	g.covered[id] = true
	return true
}

// enter adds something to be done, leave takes something off and reports that nothing is left.
func (g *gap) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left++
}

func (g *gap) leave() (done bool, over int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left--
	if done = g.left == 0; done {
		over, g.over = g.over, 0
	}
	return done, over
}

// began is called when a new session stands, in the reader: what came before it must be fetched.
func (w *worker) began(guilds []snowflake) {
	w.offered.Do(func() { w.put("commands", func(context.Context) { w.a.offerCommands(w.run) }) })
	g := newGap(guilds, w.a.heard.begin(snowflakeOf(w.a.now())))
	g.waits = sync.OnceValue(func() map[snowflake]core.ConversationID { return w.waiting(w.run) })
	w.a.heard.open(g)
	w.gap.Store(g)
	w.put("backfill", func(context.Context) {
		w.a.keep(w.run) // the first session says where hearing begins
		w.chats(w.run, g)
	})
}

// chats has those channels fetched that no server told of: where an input waits, and what the store knows, which
// are direct chats and threads that were archived meanwhile.
func (w *worker) chats(ctx context.Context, g *gap) {
	late := time.NewTimer(guildsWait)
	defer late.Stop()
	select {
	case <-g.told:
	case <-late.C:
	case <-ctx.Done():
		return
	}
	for id := range g.waits() {
		if g.cover(id) {
			w.fetchLater(g, id)
		}
	}
	for _, id := range w.known(ctx, g) {
		if g.cover(id) {
			w.fetchLater(g, id)
		}
	}
	w.leave(g)
}

// known are the channels in which people spoke with the bot before, as the store has them.
func (w *worker) known(ctx context.Context, g *gap) (out []snowflake) {
	if g.first || w.a.chatted == nil {
		return nil
	}
	list, err := w.a.chatted(ctx, maxPlaces)
	if err != nil && ctx.Err() == nil {
		w.log.Error("discord: direct messages sent while the bot was away may be missed: the chats could not be listed", "err", err)
	}
	for _, c := range list {
		_, name, place := c.Parts()
		if id, err := parsePlace(place); err == nil && name == w.a.name {
			out = append(out, id)
		}
	}
	return out
}

// tells has the channels of a server fetched that say more than was heard there. It runs in the reader: what comes
// live stands behind.
func (w *worker) tells(x guild) {
	g := w.gap.Load()
	if g == nil {
		return
	}
	expected := g.expects(x.ID)
	defer w.toldAll(x.ID) // once its channels are covered: then the chats are gone through
	if g.first {
		return
	}
	since := snowflake(0) // a new server, or one that comes back: only where something was heard before
	if expected {
		since = g.from
	}
	all := slices.Concat(x.Channels, x.Threads)
	slices.SortFunc(all, func(a, b channel) int { return cmp.Compare(b.Last, a.Last) })
	for _, c := range all {
		from := w.a.heard.after(c.ID, since)
		switch {
		case from == 0, c.Last <= from, !holdsMessages(c.Type):
			g.cover(c.ID)
		case !expected:
			w.fetchLater(g, c.ID)
		case g.admit(c.ID):
			w.fetchLater(g, c.ID)
		}
	}
}

// toldAll notes that a server tells nothing more: it has, or the bot is in it no more.
func (w *worker) toldAll(guild snowflake) {
	if g := w.gap.Load(); g != nil && g.tell(guild) {
		w.leave(g)
	}
}

// ahead has a channel fetched before the first live message of it is handed in, where nobody looked there since
// the gap: a direct chat or thread that only now is known.
func (w *worker) ahead(m *message) {
	if g := w.gap.Load(); g != nil && m.Channel != 0 && !g.first && g.cover(m.Channel) {
		w.fetchBefore(g, m.Channel, m.ID)
	}
}

// made notes that a channel is new: nothing was said there before.
func (w *worker) made(id snowflake) {
	if g := w.gap.Load(); g != nil {
		g.cover(id)
	}
}

// fetchLater fetches a channel in its lane.
func (w *worker) fetchLater(g *gap, id snowflake) { w.fetchBefore(g, id, math.MaxUint64) }

// fetchBefore is fetchLater up to a message that comes live.
func (w *worker) fetchBefore(g *gap, id, before snowflake) {
	g.enter()
	w.put(id.String(), func(context.Context) {
		w.catchUp(w.run, g, id, before)
		if w.run.Err() == nil { // else the mark stays, and the next process fetches it
			w.leave(g)
		}
	})
}

// leave takes something off a gap; with the last of it the mark moves on.
func (w *worker) leave(g *gap) {
	done, over := g.leave()
	if !done {
		return
	}
	w.a.heard.close(g)
	if over > 0 {
		w.log.Warn("discord: messages sent while the bot was away may be missed: only the newest channels were looked at", "looked", maxPlaces, "left", over)
	}
}

// tend stores every minute how far the bot has heard, and has fetched again what could not be, until ctx ends.
func (w *worker) tend(ctx context.Context) {
	for channels.Sleep(ctx, keepEvery) == nil {
		if w.a.Ready() == nil {
			w.a.heard.settle(w.a.now())
		}
		w.a.keep(ctx)
		if g := w.gap.Load(); g != nil {
			for _, id := range w.a.heard.due() {
				w.fetchLater(g, id)
			}
		}
	}
}
