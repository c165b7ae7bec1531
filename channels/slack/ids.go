package slack

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/core"
)

// surface is what the ids of this platform's people begin with.
const surface = "slack:"

func personID(team, user string) core.PersonID { return core.PersonID(surface + team + "/" + user) }

// placeOf is the place of a channel, or of a thread in it.
func placeOf(channel, thread string) core.Place {
	if thread == "" {
		return core.Place(channel)
	}
	return core.Place(channel + "/" + thread)
}

var (
	validChannel = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,63}$`)
	validTS      = regexp.MustCompile(`^[0-9]{1,12}\.[0-9]{6}$`)
	validUser    = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,63}$`)
)

func parsePlace(p core.Place) (channel, thread string, err error) {
	channel, thread, threaded := strings.Cut(string(p), "/")
	if !validChannel.MatchString(channel) || threaded && !validTS.MatchString(thread) {
		return "", "", fmt.Errorf("slack: %q is no place: want a channel id such as C0123, or channel/thread", p)
	}
	return channel, thread, nil
}

func messageID(channel, ts string) string { return channel + ":" + ts }

func parseMessageID(id string) (channel, ts string, ok bool) {
	channel, ts, ok = strings.Cut(id, ":")
	return channel, ts, ok && validChannel.MatchString(channel) && validTS.MatchString(ts)
}

// orderOf is a timestamp as microseconds: the platform's own order of messages.
func orderOf(ts string) uint64 {
	sec, micro, _ := strings.Cut(ts, ".")
	s, err1 := strconv.ParseUint(sec, 10, 40)
	m, err2 := strconv.ParseUint(micro, 10, 32)
	if err1 != nil || err2 != nil {
		return 0
	}
	return s*1e6 + m
}

func timeOf(ts string) time.Time { return time.UnixMicro(int64(orderOf(ts))).UTC() }

// recent remembers the values of the keys that were set last.
type recent[V any] struct {
	mu    sync.Mutex
	most  int
	m     map[string]V
	older map[string]V // those of the generation before
}

func newRecent[V any](most int) *recent[V] { return &recent[V]{most: most, m: map[string]V{}} }

func (r *recent[V]) get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.m[key]
	if !ok {
		v, ok = r.older[key]
	}
	return v, ok
}

func (r *recent[V]) set(key string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(key, v)
}

func (r *recent[V]) put(key string, v V) {
	if len(r.m) >= r.most {
		r.older, r.m = r.m, map[string]V{}
	}
	r.m[key] = v
}

// claim sets the key where it has no value, and returns the value it has then.
func (r *recent[V]) claim(key string, v V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.m[key]; ok {
		return old
	}
	if old, ok := r.older[key]; ok {
		return old
	}
	r.put(key, v)
	return v
}

func (r *recent[V]) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.m, key)
	delete(r.older, key)
}
