package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"parley/channels"
)

// The operations of the gateway.
const (
	opDispatch     = 0
	opHeartbeat    = 1
	opIdentify     = 2
	opResume       = 6
	opReconnect    = 7
	opInvalid      = 9
	opHello        = 10
	opHeartbeatAck = 11
)

const (
	dialTimeout  = 20 * time.Second
	helloTimeout = 20 * time.Second
	readyTimeout = 60 * time.Second
	writeTimeout = 10 * time.Second
	byeTimeout   = time.Second
	maxFrame     = 64 << 20 // bytes: a large server's GUILD_CREATE takes several millions
	// closeKeep ends a connection of ours so that its session can be resumed; 1000 and 1001 would end it too.
	closeKeep = 4000
)

// Why a connection ended, beside a close code and a network failure.
var (
	errSilent  = errors.New("the gateway stopped answering heartbeats")
	errNoHello = errors.New("the gateway said no Hello")
	errNoReady = errors.New("the gateway did not confirm the session")
	errAsked   = errors.New("the gateway asked for a new connection")
)

// invalidError is op 9: the session is not to be had, or not yet.
type invalidError struct{ resumable bool }

func (e *invalidError) Error() string {
	if e.resumable {
		return "the gateway could not resume the session now"
	}
	return "the gateway does not know the session any more"
}

// frame is what goes over the gateway.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

// socket is one connection of the gateway. It lives within one call of serve.
type socket struct {
	conn  *websocket.Conn
	seq   func() int64
	write sync.Mutex
	acked atomic.Bool
	cause context.CancelCauseFunc // ends the connection, with the reason
}

// dialSocket connects. Its errors hold no secret: there is none in a gateway's address.
func dialSocket(ctx context.Context, dial func(context.Context, string, string) (net.Conn, error), address string) (*websocket.Conn, error) {
	within, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	d := websocket.Dialer{NetDialContext: dial, Proxy: http.ProxyFromEnvironment, ReadBufferSize: 16 << 10}
	conn, resp, err := d.DialContext(within, address, nil)
	if err != nil && resp != nil {
		return nil, fmt.Errorf("discord gateway: answered %s: %w", resp.Status, err)
	}
	if err != nil {
		return nil, fmt.Errorf("discord gateway: %w", bare(err))
	}
	conn.SetReadLimit(maxFrame)
	return conn, nil
}

// serve greets the gateway with what hello returns and hands every event to hear, until the connection ends;
// it says why. confirmed is told once the session stands, by hear returning true. Nothing of it is left then.
func serve(ctx context.Context, conn *websocket.Conn, seq func() int64, hello frame, hear func(frame) (confirmed bool)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &socket{conn: conn, seq: seq, cause: end}
	s.acked.Store(true)
	gone := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() { s.bye(ctx); close(gone) })
	var beats sync.WaitGroup
	err := s.run(ctx, &beats, hello, hear)
	if ctx.Err() != nil { // ended by us: the read failed since the connection was closed
		err = context.Cause(ctx)
	}
	end(err)
	if unhook() {
		_ = conn.Close() // it is of no use any more, whatever that says
	} else {
		<-gone
	}
	beats.Wait()
	return err
}

func (s *socket) run(ctx context.Context, beats *sync.WaitGroup, hello frame, hear func(frame) bool) error {
	late := time.AfterFunc(helloTimeout, func() { s.cause(errNoHello) })
	defer func() { late.Stop() }()
	for greeted := false; ; {
		f, err := s.read()
		if err != nil {
			return err
		}
		switch f.Op {
		case opHello:
			var h struct {
				Every float64 `json:"heartbeat_interval"`
			}
			if err := json.Unmarshal(f.Data, &h); err != nil || h.Every < 1 {
				return fmt.Errorf("discord gateway: a Hello without an interval: %w", orMissing(err))
			}
			if greeted {
				continue
			}
			greeted = true
			late.Stop()
			late = time.AfterFunc(readyTimeout, func() { s.cause(errNoReady) })
			beats.Go(func() { s.beat(ctx, time.Duration(h.Every*float64(time.Millisecond))) })
			if err := s.send(hello); err != nil {
				return err
			}
		case opDispatch:
			if hear(f) {
				late.Stop()
			}
		case opHeartbeat:
			if err := s.heartbeat(); err != nil {
				return err
			}
		case opHeartbeatAck:
			s.acked.Store(true)
		case opReconnect:
			return errAsked
		case opInvalid:
			return &invalidError{resumable: string(f.Data) == "true"}
		}
	}
}

func orMissing(err error) error {
	if err == nil {
		return errors.New("it is missing")
	}
	return err
}

// read takes the next frame that can be understood.
func (s *socket) read() (frame, error) {
	for {
		kind, data, err := s.conn.ReadMessage()
		if err != nil {
			return frame{}, fmt.Errorf("discord gateway: %w", err)
		}
		var f frame
		if kind == websocket.TextMessage && json.Unmarshal(data, &f) == nil {
			return f, nil
		}
	}
}

// beat sends heartbeats: the first after a part of the interval, so that many bots do not come at once. A
// heartbeat that was not answered by the time of the next means that the connection is dead.
func (s *socket) beat(ctx context.Context, every time.Duration) {
	wait := time.Duration(rand.Float64() * float64(every))
	for channels.Sleep(ctx, wait) == nil {
		wait = every
		if !s.acked.Swap(false) {
			s.cause(errSilent)
			return
		}
		if err := s.heartbeat(); err != nil {
			s.cause(err)
			return
		}
	}
}

func (s *socket) heartbeat() error {
	d := json.RawMessage("null")
	if n := s.seq(); n > 0 {
		d = json.RawMessage(fmt.Sprint(n))
	}
	return s.send(frame{Op: opHeartbeat, Data: d})
}

// send writes a frame; a peer that does not read ends the connection.
func (s *socket) send(f frame) error {
	s.write.Lock()
	defer s.write.Unlock()
	stuck := time.AfterFunc(writeTimeout, func() { _ = s.conn.Close() }) // the write then says that it failed
	defer stuck.Stop()
	out := struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
	}{f.Op, f.Data}
	if err := s.conn.WriteJSON(out); err != nil {
		return fmt.Errorf("discord gateway: %w", err)
	}
	return nil
}

// bye closes the connection: for good where the program ends, else so that the session can be resumed.
func (s *socket) bye(ctx context.Context) {
	code := closeKeep
	if errors.Is(context.Cause(ctx), context.Canceled) {
		code = websocket.CloseNormalClosure
	}
	late := time.AfterFunc(byeTimeout, func() { _ = s.conn.Close() })
	defer late.Stop()
	_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Time{}) // a courtesy
	_ = s.conn.Close()
}
