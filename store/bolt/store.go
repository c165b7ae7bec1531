package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"parley/core"
	"parley/core/turn"
)

// Errors of the embedded store beside those of the port.
var (
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly says that the file was opened to read.
	ErrReadOnly = errors.New("the store is open read-only")
	// ErrLocked says that another program, or this one, has the file open.
	ErrLocked = errors.New("the file is in use")
	// ErrFormat says that the file is not a store of Parley.
	ErrFormat = errors.New("not a store of Parley")
	// ErrVersion says that a newer program wrote the file.
	ErrVersion = errors.New("written by a newer version of Parley")
)

// Store is an open file. It is safe for concurrent use.
type Store struct {
	db       *bbolt.DB
	path     string
	file     os.FileInfo
	clock    func() time.Time
	readOnly bool
	instance string // random for each opening
	wake     chan struct{}
	queue    queue
	memo     memo
	closing  sync.Once

	commits, updates, keys atomic.Uint64
}

// Stats counts what the store did since it was opened.
type Stats struct {
	Commits uint64 // transactions that became durable; each is two fdatasync
	Updates uint64 // closures that were handed in and ended, whether well or not
	Keys    uint64 // keys looked up or stepped over
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	return Stats{Commits: s.commits.Load(), Updates: s.updates.Load(), Keys: s.keys.Load()}
}

// Now is the store's clock.
func (s *Store) Now() time.Time { return s.clock() }

// Wake receives a hint when a conversation may have become due.
func (s *Store) Wake() <-chan struct{} { return s.wake }

func (s *Store) hint() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Update runs f in one transaction and returns once it is durable. A panic of f comes out here and
// nowhere else.
func (s *Store) Update(ctx context.Context, at turn.Scope, f func(turn.Tx) error) error {
	if at.Conversation == "" {
		return errors.New("store: update without a conversation")
	}
	return s.submit(ctx, at, func(t *tx) error { return f(t) })
}

// View runs f on one consistent state.
func (s *Store) View(ctx context.Context, conversation core.ConversationID, f func(turn.Reader) error) error {
	return s.read(ctx, conversation, func(t *tx) error { return f(t) })
}

func (s *Store) read(ctx context.Context, conv core.ConversationID, f func(*tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case damage:
			err = r.err()
		default:
			panic(r)
		}
	}()
	err = s.db.View(func(btx *bbolt.Tx) error {
		return f(&tx{s: s, btx: btx, conv: conv, now: s.clock()})
	})
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return fmt.Errorf("store: read: %w", ErrClosed)
	}
	return err
}

// Close writes what is queued, lazy updates too, and gives the file back. It may be called again.
func (s *Store) Close() error {
	s.closeQueue()
	var err error
	s.closing.Do(func() {
		err = s.db.Close()
		leave(s.file)
	})
	if err != nil {
		return fmt.Errorf("store: close %s: %w", s.path, err)
	}
	return nil
}

var _ turn.Store = (*Store)(nil)
