package mcp_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/channels/mcp"
	"parley/core"
	"parley/core/turn"
)

// byHand is a client of today that makes the rounds itself.
func (w *world) byHand(token string) *sdk.ClientSession {
	return w.dialWith(token, now, &sdk.ClientOptions{
		ElicitationHandler: says("cancel", nil), Capabilities: capabilities(says("", nil)),
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
}

func drop() *sdk.CallToolParams {
	return &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"text": "db__drop"}}
}

func (w *world) call(s *sdk.ClientSession, p *sdk.CallToolParams) *sdk.CallToolResult {
	w.t.Helper()
	res, err := s.CallTool(context.Background(), p)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// again is the call of a result made again with one answer to all it asks.
func again(res *sdk.CallToolResult, answer *sdk.ElicitResult) *sdk.CallToolParams {
	p := drop()
	p.RequestState, p.InputResponses = res.RequestState, sdk.InputResponseMap{}
	for id := range res.InputRequests {
		p.InputResponses[id] = answer
	}
	return p
}

func yes() *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}
}

// Nothing is held between the rounds: another session goes on with the call, and the answer counts once.
func TestAnotherSessionGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.call(w.byHand("bound"), drop())
	if !first.NeedsInput() || len(first.InputRequests) != 1 || first.RequestState == "" {
		t.Fatalf("%+v", first)
	}
	next := w.byHand("bound")
	for range 2 { // the second time is the same answer again
		text, o := read(t, w.call(next, again(first, yes())))
		if o.Status != core.RunCompleted || !strings.Contains(text, "dropped staging") {
			t.Errorf("%q %+v", text, o)
		}
	}
	text, _ := read(t, w.call(next, again(first, &sdk.ElicitResult{Action: "decline"})))
	_, o := read(t, w.call(next, again(first, &sdk.ElicitResult{Action: "decline"})))
	if !strings.Contains(strings.Join(o.Notes, "\n"), "already accepted by api:ana") {
		t.Errorf("another answer: %q %+v", text, o)
	}
	if n := len(w.effects()); n != 1 || w.input().State != core.InputAccepted {
		t.Errorf("it ran %d times; the input is %s", n, w.input().State)
	}
}

// What was not handed to this client for this call, or too long ago, changes nothing and sends nothing.
func TestRequestStateIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.byHand("bound")
	first := w.call(mine, drop())
	payload, mac, _ := strings.Cut(first.RequestState, ".")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		t.Fatal(err)
	}
	forged := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), `"t":"bound"`, `"t":"second"`, 1)))
	guess := hmac.New(sha256.New, make([]byte, 32))
	guess.Write([]byte(payload))
	second := w.byHand("second")
	for name, c := range map[string]struct {
		s     *sdk.ClientSession
		state string
		text  string
		later time.Duration
	}{
		"tampered":        {mine, forged + "." + mac, "db__drop", 0},
		"tampered, other": {second, forged + "." + mac, "db__drop", 0},
		"signature cut":   {mine, payload + "." + mac[:20], "db__drop", 0},
		"signature empty": {mine, payload + ".", "db__drop", 0},
		"no signature":    {mine, payload, "db__drop", 0},
		"another key":     {mine, payload + "." + base64.RawURLEncoding.EncodeToString(guess.Sum(nil)), "db__drop", 0},
		"another token":   {second, first.RequestState, "db__drop", 0},
		"another message": {mine, first.RequestState, "hello", 0},
		"answers alone":   {mine, "", "db__drop", 0},
		"rubbish":         {mine, "rubbish", "db__drop", 0},
		"too late":        {mine, first.RequestState, "db__drop", 24 * time.Hour},
	} {
		p := again(first, yes())
		p.RequestState, p.Arguments = c.state, map[string]any{"text": c.text}
		w.mu.Lock()
		w.ahead = c.later
		w.mu.Unlock()
		res := w.call(c.s, p)
		w.mu.Lock()
		w.ahead = 0
		w.mu.Unlock()
		if !res.IsError || !w.input().Pending() {
			t.Errorf("%s: %+v; the input is %s", name, res, w.input().State)
		}
	}
	if len(w.effects()) > 0 {
		t.Errorf("it ran: %q", w.effects())
	}
	if _, o := read(t, w.call(mine, again(first, yes()))); o.Status != core.RunCompleted {
		t.Errorf("the right one is refused too: %+v", o)
	}
}

// An answer to an input that was not asked for settles nothing.
func TestOnlyWhatWasAskedIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.call(w.byHand("bound"), &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"text": "db__drop", "conversation": "other"}})
	s := w.byHand("bound")
	first := w.call(s, drop())
	p := again(first, nil)
	p.InputResponses = sdk.InputResponseMap{}
	for id := range other.InputRequests {
		p.InputResponses[id] = yes()
	}
	if _, o := read(t, w.call(s, p)); o.Status != core.RunInputRequired || len(w.effects()) > 0 {
		t.Errorf("%+v; ran %q", o, w.effects())
	}
}

// What the token may is looked at again when the answer comes.
func TestTheRightIsTakenAwayMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.byHand("bound")
	first := w.call(s, drop())
	w.mu.Lock()
	w.tokens["bound"] = mcp.Client{Name: "bound", Agents: []core.AgentID{"ops"}, Person: ana}
	w.mu.Unlock()
	if _, o := read(t, w.call(s, again(first, yes()))); o.Status != core.RunInputRequired || !w.input().Pending() || len(w.effects()) > 0 {
		t.Errorf("%+v", o)
	}
}

// Content that does not fit is asked for again with the reason, three times in all.
func TestMisfitIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.byHand("bound")
	p := &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"text": "site__form"}}
	res := w.call(s, p)
	for try := range 3 {
		if !res.NeedsInput() {
			t.Fatalf("try %d: %+v", try, res)
		}
		for _, r := range res.InputRequests {
			m := r.(*sdk.ElicitParams).Message
			if strings.Contains(m, "did not fit") != (try > 0) || try > 0 && !strings.Contains(m, "size") {
				t.Errorf("try %d shows %q", try, m)
			}
		}
		next := again(res, &sdk.ElicitResult{Action: "accept", Content: map[string]any{"size": "big"}})
		next.Arguments = p.Arguments
		res = w.call(s, next)
	}
	if _, o := read(t, res); o.Status != core.RunInputRequired || !w.input().Pending() || !strings.Contains(strings.Join(o.Notes, ""), "size") {
		t.Errorf("%+v", o)
	}
}

// Racing answers of many clients: one counts, and the others are told how it was settled.
func TestRacingClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.byHand("bound")
	first := w.call(s, drop())
	const clients = 12
	outcomes := make([]string, clients)
	sessions := make([]*sdk.ClientSession, clients)
	for i := range sessions {
		sessions[i] = w.byHand("bound")
	}
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			answer := yes()
			if i%2 == 0 {
				answer = &sdk.ElicitResult{Action: "decline"}
			}
			res, err := sessions[i].CallTool(context.Background(), again(first, answer))
			if err != nil {
				outcomes[i] = err.Error()
				return
			}
			_, o := read(t, res)
			outcomes[i] = strings.Join(o.Notes, ";")
		})
	}
	all.Wait()
	in := w.input()
	for i, o := range outcomes {
		told := in.State == core.InputAccepted == (i%2 == 1)
		want := fmt.Sprintf("%s is %s", in.ID, in.State)
		if !told {
			want = fmt.Sprintf("%s: it is already %s by api:ana", in.ID, in.State)
		}
		if o != want {
			t.Errorf("client %d was told %q, want %q", i, o, want)
		}
	}
	if n := len(w.effects()); n > 1 || (n == 1) != (in.State == core.InputAccepted) {
		t.Errorf("it ran %d times; the input is %s", n, in.State)
	}
}

// unanswered is a person who never answers, until the test is over: the call's end may overtake the word that
// the ask is off.
func unanswered() (never func(context.Context) (*sdk.ElicitResult, error), over func()) {
	done := make(chan struct{})
	return func(ctx context.Context) (*sdk.ElicitResult, error) {
		select {
		case <-ctx.Done():
		case <-done:
		}
		return nil, errors.New("nobody answered")
	}, func() { close(done) }
}

// An older client's open ask ends when the input is answered at another door.
func TestAnsweredElsewhereMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	never, over := unanswered()
	s := w.dial("bound", old, func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		_, err := w.e.Settle(context.Background(), turn.Settlement{
			Input: w.input().ID, From: ana, Via: "rest", Submission: core.Submission{Action: core.ActionAccept}, Step: -1,
		})
		if err != nil {
			t.Error(err)
		}
		return never(ctx)
	})
	t.Cleanup(over)
	text, o := w.send(s, "db__drop")
	if in := w.input(); in.State != core.InputAccepted || in.Settled.Via != "rest" || o.Status != core.RunCompleted {
		t.Errorf("%q %+v; settled %+v", text, o, in.Settled)
	}
}

// The endpoint's end ends an open call; the input waits on.
func TestCloseEndsOpenCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	never, over := unanswered()
	s := w.dial("bound", old, func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		w.closed = true
		w.end.Close()
		return never(ctx)
	})
	t.Cleanup(over)
	res, err := s.CallTool(t.Context(), drop())
	if err != nil || !res.IsError || !w.input().Pending() {
		t.Errorf("%+v %v; the input is %s", res, err, w.input().State)
	}
}

// memory is what LoadKey needs of a store.
type memory map[string][]byte

func (m memory) Recall(_ context.Context, k string) ([]byte, bool, error) {
	v, ok := m[k]
	return v, ok, nil
}
func (m memory) Remember(_ context.Context, k string, v []byte, _ time.Duration) error {
	m[k] = v
	return nil
}

func TestLoadKey(t *testing.T) {
	t.Parallel()
	m := memory{}
	one, err := mcp.LoadKey(t.Context(), m, []byte(strings.Repeat("a", 32)))
	if err != nil {
		t.Fatal(err)
	}
	two, err := mcp.LoadKey(t.Context(), maps.Clone(m), []byte(strings.Repeat("b", 32)))
	if err != nil || string(one) != string(two) {
		t.Errorf("%q then %q, %v", one, two, err)
	}
}

// FuzzRequestState: whatever comes as requestState never panics, settles nothing and sends nothing.
func FuzzRequestState(f *testing.F) {
	w := newWorld(f)
	s := w.byHand("bound")
	first := w.call(s, drop())
	f.Add("rubbish.rubbish")
	f.Add(strings.ToUpper(first.RequestState))
	f.Fuzz(func(t *testing.T, state string) {
		if state == first.RequestState || state == "" {
			return
		}
		p := again(first, yes())
		p.RequestState = state
		res, err := s.CallTool(context.Background(), p)
		if err == nil && !res.IsError || len(w.effects()) > 0 {
			t.Errorf("%+v %v", res, err)
		}
	})
}

// FuzzBody: whatever is sent with a good token, of either generation, is answered, settles nothing and runs nothing.
func FuzzBody(f *testing.F) {
	w := newWorld(f)
	w.call(w.byHand("bound"), drop())
	in := w.input()
	for _, body := range []string{
		"", "{", "[]", "null", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_message","arguments":{"text":" "}}}`,
		`{"jsonrpc":"2.0","id":"` + string(in.ID) + `","result":{"action":"accept","content":{"approve":true}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_message","arguments":{"text":"db__drop"},"requestState":"x.y","inputResponses":{"001-` + string(in.ID) + `":{"action":"accept","content":{"approve":true}}}}}`,
	} {
		f.Add(body, now)
		f.Add(body, old)
		f.Add(body, "")
	}
	f.Fuzz(func(t *testing.T, body, version string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/agents/ops/mcp", strings.NewReader(body))
		r.Header = http.Header{
			"Authorization": {"Bearer bound"}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {version}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"send_message"},
		}
		rec := httptest.NewRecorder()
		w.end.ServeHTTP(rec, r)
		if rec.Code >= 500 {
			t.Errorf("status %d: %s", rec.Code, rec.Body)
		}
		after, err := w.e.Input(context.Background(), in.ID)
		if err != nil || after.State.Settled() || after.State == core.InputCancelled || len(w.effects()) > 0 {
			t.Errorf("the input is %s, %v; ran %q", after.State, err, w.effects())
		}
	})
}
