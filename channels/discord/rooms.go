package discord

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// lookAgain is how long an unanswered question about a channel is left alone.
const lookAgain = time.Minute

// room is what is known of a channel.
type room struct {
	kind  int
	guild snowflake
	// ours says that it is a thread that we are part of; joined, that this is known either way.
	ours, joined bool
	// asked is when Discord was last asked about it in vain.
	asked time.Time
	// last is the newest message in it when Discord last told of the channel.
	last snowflake
}

// rooms are the channels, threads and roles that the gateway has told of.
type rooms struct {
	mu    sync.Mutex
	byID  map[snowflake]room
	roles map[snowflake]snowflake // by server, our role there
}

func newRooms() *rooms {
	return &rooms{byID: map[snowflake]room{}, roles: map[snowflake]snowflake{}}
}

func (r *rooms) get(id snowflake) (room, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.byID[id]
	return x, ok
}

// change alters what is known of a channel.
func (r *rooms) change(id snowflake, f func(*room)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.byID[id]
	f(&x)
	r.byID[id] = x
}

// join remembers that we are part of a thread: whoever writes in one is.
func (r *rooms) join(id snowflake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x, ok := r.byID[id]; ok {
		x.ours, x.joined = true, true
		r.byID[id] = x
	}
}

func (r *rooms) ourRoles() (out []snowflake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, role := range r.roles {
		out = append(out, role)
	}
	slices.Sort(out)
	return out
}

func (r *rooms) learn(me snowflake, c channel, guild snowflake) {
	if c.ID == 0 {
		return
	}
	if c.Guild != 0 {
		guild = c.Guild
	}
	r.change(c.ID, func(x *room) {
		x.kind, x.guild, x.last = c.Type, guild, c.Last
		if isThread(c.Type) && (set(c.Member) || me != 0 && c.Owner == me) {
			x.ours, x.joined = true, true
		}
	})
}

func (r *rooms) forget(id snowflake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, id)
}

// guild is what GUILD_CREATE and its kin tell, as far as it matters.
type guild struct {
	ID       snowflake `json:"id"`
	Channels []channel `json:"channels"`
	Threads  []channel `json:"threads"`
	Roles    []role    `json:"roles"`
	// Unavailable says that the server tells nothing yet.
	Unavailable bool `json:"unavailable"`
	// Members of THREAD_LIST_SYNC are our own memberships.
	Members []struct {
		Thread snowflake `json:"id"`
	} `json:"members"`
	Guild snowflake `json:"guild_id"`
	Role  *role     `json:"role"`
}

type role struct {
	ID          snowflake `json:"id"`
	Permissions string    `json:"permissions"`
	Tags        struct {
		Bot snowflake `json:"bot_id"`
	} `json:"tags"`
}

// membership is a change of who is in a thread.
type membership struct {
	Thread  snowflake   `json:"id"`
	User    snowflake   `json:"user_id"`
	Removed []snowflake `json:"removed_member_ids"`
	Added   []struct {
		User snowflake `json:"user_id"`
	} `json:"added_members"`
}

// hear takes what an event says about channels, threads and roles. Events of other kinds are none of its
// business; one that cannot be read changes nothing.
func (r *rooms) hear(me snowflake, kind string, data json.RawMessage) error {
	switch kind {
	case "GUILD_CREATE", "THREAD_LIST_SYNC", "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE":
		var g guild
		if err := json.Unmarshal(data, &g); err != nil {
			return err
		}
		r.hearGuild(me, kind, g)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		var c channel
		if err := json.Unmarshal(data, &c); err != nil {
			return err
		}
		r.learn(me, c, 0)
	case "CHANNEL_DELETE", "THREAD_DELETE":
		var c channel
		if err := json.Unmarshal(data, &c); err != nil {
			return err
		}
		r.forget(c.ID)
	case "THREAD_MEMBER_UPDATE", "THREAD_MEMBERS_UPDATE":
		var m membership
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		r.hearMembers(me, kind, m)
	}
	return nil
}

func (r *rooms) hearGuild(me snowflake, kind string, g guild) {
	id := g.ID
	if g.Guild != 0 {
		id = g.Guild
	}
	for _, c := range slices.Concat(g.Channels, g.Threads) {
		r.learn(me, c, id)
	}
	for _, m := range g.Members {
		r.join(m.Thread)
	}
	if g.Role != nil && kind != "GUILD_CREATE" {
		g.Roles = append(g.Roles, *g.Role)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range g.Roles {
		if me != 0 && x.Tags.Bot == me {
			r.roles[id] = x.ID
		}
	}
}

func (r *rooms) hearMembers(me snowflake, kind string, m membership) {
	switch {
	case slices.Contains(m.Removed, me):
		r.change(m.Thread, func(x *room) { x.ours, x.joined = false, true })
	case kind == "THREAD_MEMBER_UPDATE", slices.ContainsFunc(m.Added, func(a struct {
		User snowflake `json:"user_id"`
	}) bool {
		return a.User == me
	}):
		r.change(m.Thread, func(x *room) { x.ours, x.joined = true, true })
	}
}
