package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	slackapi "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// What bounds connections that end at once: the library forgets its pauses after each that opens. More than
// that many in a minute end Run, and whoever started it waits.
const (
	mostConnects = 6
	flapWindow   = time.Minute
	ackTimeout   = 30 * time.Second
)

var errGap = errors.New("slack: the socket is down")

// listen keeps a socket open until ctx ends or only the operator can help. The library dials again after
// every break, and after 30 s without a ping.
func (p *postman) listen(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	s := &socket{postman: p, client: p.api.socket(), ctx: ctx}
	ended := make(chan error, 1)
	s.work.Go(func() { ended <- s.client.RunContext(ctx) })
	defer s.work.Wait()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return s.broken("connect", err)
		case evt := <-s.client.Events:
			if err := s.on(evt); err != nil {
				return err
			}
		}
	}
}

// socket is one run of the library's client.
type socket struct {
	*postman
	client   *socketmode.Client
	ctx      context.Context
	work     sync.WaitGroup
	connects []time.Time
	up       bool
}

// on handles one event of the library. It never waits for the sink: what is behind it belongs to other
// conversations.
func (s *socket) on(evt socketmode.Event) error {
	switch evt.Type {
	case socketmode.EventTypeConnecting:
		if s.up {
			s.log.Warn("slack: the socket is down, connecting again")
		}
		s.up = false
		s.setReady(errGap)
	case socketmode.EventTypeConnected:
		s.up = true
		s.setReady(nil)
		return s.steady()
	case socketmode.EventTypeConnectionError:
		if e, ok := evt.Data.(*slackapi.ConnectionErrorEvent); ok {
			return s.refused(e)
		}
	case socketmode.EventTypeErrorBadMessage:
		if e, ok := evt.Data.(*socketmode.ErrorBadMessage); ok {
			s.raw(e.Message)
		}
	case socketmode.EventTypeIncomingError:
		s.log.Warn("slack: a frame could not be read")
	case socketmode.EventTypeErrorWriteFailed:
		s.log.Warn("slack: an acknowledgement was not sent; the event comes again")
	default:
		if evt.Request != nil {
			s.envelope(evt.Request.Type, evt.Request.EnvelopeID, evt.Request.Payload)
		}
	}
	return nil
}

// steady ends a client whose connections end as soon as they are made.
func (s *socket) steady() error {
	now := s.now()
	kept := s.connects[:0]
	for _, at := range s.connects {
		if now.Sub(at) < flapWindow {
			kept = append(kept, at)
		}
	}
	s.connects = append(kept, now)
	if len(s.connects) > mostConnects {
		return fmt.Errorf("slack: %d sockets in a minute were closed at once: Socket Mode may be off, or more than ten processes use this app token", mostConnects)
	}
	return nil
}

// refused handles a failed attempt to connect: the library goes on trying by itself.
func (s *socket) refused(e *slackapi.ConnectionErrorEvent) error {
	failed := s.api.failure(s.ctx, "apps.connections.open", false, e.ErrorObj)
	if fatal := s.fatal(failed, appSide); fatal != nil {
		return fatal
	}
	s.setReady(failed)
	s.log.Warn("slack: could not connect, trying again", "after", e.Backoff.Round(time.Millisecond), "err", failed)
	return nil
}

// broken is what the end of the library's client means.
func (s *socket) broken(what string, err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if err == nil {
		return errGap
	}
	failed := s.api.failure(s.ctx, "apps.connections.open", false, err)
	if fatal := s.fatal(failed, appSide); fatal != nil {
		return fatal
	}
	return fmt.Errorf("%s: %w", what, failed)
}

// raw takes a message that the library cannot read. It is acknowledged like any other: it would be no
// clearer the next time.
func (s *socket) raw(message json.RawMessage) {
	var e envelope
	if err := json.Unmarshal(message, &e); err != nil || e.ID == "" {
		s.log.Warn("slack: skipped a frame that is no envelope")
		return
	}
	s.envelope(e.Type, e.ID, e.Payload)
}

// envelope hands an event or a press over, and acknowledges it once it is taken; all else at once.
func (s *socket) envelope(kind, id string, payload json.RawMessage) {
	if kind != "events_api" && kind != "interactive" {
		s.log.Debug("slack: ignored an envelope", "type", kind)
		s.ack(id)
		return
	}
	j, err := s.take(kind, payload)
	switch {
	case err != nil:
		s.log.Warn("slack: not taken, Slack brings it again", "envelope", id, "err", err)
	case j == nil:
		s.ack(id)
	default:
		s.work.Go(func() {
			select {
			case <-j.done:
				if j.err == nil {
					s.send(id)
				}
			case <-s.ctx.Done():
			}
		})
	}
}

func (s *socket) ack(id string) { s.work.Go(func() { s.send(id) }) }

// send acknowledges an envelope. It goes out on whichever connection is open.
func (s *socket) send(id string) {
	within, cancel := context.WithTimeout(s.ctx, ackTimeout)
	defer cancel()
	if err := s.client.AckCtx(within, id, nil); err != nil && s.ctx.Err() == nil {
		s.log.Warn("slack: an envelope was not acknowledged in time; it comes again", "envelope", id)
	}
}
