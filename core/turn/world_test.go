package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"parley/core"
	"parley/core/model"
	"parley/core/tool"
	"parley/core/tool/askuser"
	"parley/core/tool/schema"
	"parley/core/turn"
	"parley/store/bolt"
)

const home = "chat"

// world is an engine on a real store, with a channel that shows what the outbox names.
type world struct {
	t     testing.TB
	path  string
	store turn.Store
	agent *turn.Agent
	gone  bool // the agent is not configured
	// agents are those beside the first.
	agents map[core.AgentID]*turn.Agent
	model  func(model.Request) (model.Response, error)
	tools  map[string]*fakeTool
	read   func(core.Input, core.Message, core.HumanInput) core.Reading

	e    *turn.Engine
	stop func()

	mu       sync.Mutex
	order    uint64
	shown    []string // what stands in the chat, oldest first
	requests []model.Request
	ids      int
	hold     bool // deliver nothing
	keep     time.Duration
	quiet    bool       // keep no record of what was said
	streams  bool       // the chat shows replies while they are written
	found    core.Place // where a person is, whom a conversation's place names
	readFile func(context.Context, core.Message, core.File) ([]byte, error)
	tracer   trace.Tracer
	unread   func(context.Context) (time.Time, error)
}

// fakeTool records each time it really runs.
type fakeTool struct {
	spec tool.Spec
	run  func(ctx *tool.Context, args json.RawMessage) (string, error)

	mu    sync.Mutex
	calls []string // idempotency key and arguments
	ids   []tool.Identity
}

func (f *fakeTool) Spec() tool.Spec { return f.spec }

func (f *fakeTool) Call(ctx *tool.Context, args json.RawMessage) (string, error) {
	f.mu.Lock()
	f.calls = append(f.calls, ctx.IdempotencyKey()+" "+string(args))
	f.ids = append(f.ids, ctx.Identity())
	f.mu.Unlock()
	if f.run == nil {
		return "done", nil
	}
	return f.run(ctx, args)
}

func (f *fakeTool) ran() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

type toolbox struct{ w *world }

func (b toolbox) List() []tool.Spec {
	var out []tool.Spec
	for _, t := range b.w.tools {
		out = append(out, t.spec)
	}
	slices.SortFunc(out, func(a, b tool.Spec) int { return strings.Compare(a.FullName(), b.FullName()) })
	return out
}

func (b toolbox) Lookup(name string) (tool.Tool, bool) {
	t, ok := b.w.tools[name]
	return t, ok
}

func need() tool.Policy {
	return func(json.RawMessage) (tool.Verdict, error) { return tool.Verdict{Need: true, Rule: "always"}, nil }
}

func newWorld(t *testing.T) *world { return newWorldAt(t, t.TempDir()) }

func newWorldAt(t testing.TB, dir string) *world {
	w := &world{t: t, path: filepath.Join(dir, "parley.db"), tools: map[string]*fakeTool{}, agents: map[core.AgentID]*turn.Agent{}, read: read}
	w.agent = &turn.Agent{ID: "ops", Name: "Ops", Model: modelFunc(w.generate), Tools: toolbox{w}, AskUser: true, Ask: true, Human: core.DefaultHumanInput()}
	w.add("db__drop", core.ToolAction, need())
	w.add("db__read", core.ToolRead, nil)
	w.add("log__write", core.ToolAction, nil)
	return w
}

func (w *world) add(name string, typ core.ToolType, p tool.Policy) *fakeTool {
	source, short, _ := strings.Cut(name, "__")
	f := &fakeTool{spec: tool.Spec{Source: source, Name: short, Type: typ, Policy: p, Schema: json.RawMessage(`{"type":"object"}`)}}
	w.tools[name] = f
	return f
}

type modelFunc func(model.Request) (model.Response, error)

func (f modelFunc) Generate(ctx context.Context, r model.Request) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, err
	}
	return f(r)
}

func (w *world) generate(r model.Request) (model.Response, error) {
	w.mu.Lock()
	if !w.quiet {
		w.requests = append(w.requests, r)
	}
	f := w.model
	w.mu.Unlock()
	return f(r)
}

// start opens the store and runs an engine and the channel until the returned stop.
func (w *world) start() {
	if w.store == nil {
		s, err := bolt.Open(w.path, bolt.Options{Clock: time.Now})
		if err != nil {
			w.t.Fatal(err)
		}
		w.store = s
	}
	w.run(w.store)
}

func (w *world) run(store turn.Store) {
	e, err := turn.New(turn.Config{
		Store: store, Retention: w.keep, Unread: w.unread, ReadFile: w.readFile, Tracer: w.tracer, Streams: func(channel string) bool { return w.streams && channel == home },
		Agents: func(id core.AgentID) (*turn.Agent, bool) {
			if a, ok := w.agents[id]; ok {
				return a, true
			}
			return w.agent, id == "ops" && !w.gone
		},
		Deps: turn.Deps{Read: w.read, Prepare: schema.Prepare, AskSpecs: askuser.Specs, ParseAsk: parseAsk},
		NewID: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ids++
			return fmt.Sprintf("%016d", w.ids)
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.e = e
	ctx, cancel := context.WithCancel(w.t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = e.Run(ctx) })
	all.Go(func() { w.deliver(ctx) })
	if !w.quiet {
		synctest.Wait()
	}
	w.stop = func() { cancel(); all.Wait(); w.stop = nil }
}

// restart ends the process's part: what is not stored is gone.
func (w *world) restart() {
	w.close()
	w.start()
}

func (w *world) close() {
	if w.stop != nil {
		w.stop()
	}
	if w.store != nil {
		if err := w.store.Close(); err != nil {
			w.t.Error(err)
		}
		w.store = nil
	}
}

func parseAsk(name string, args json.RawMessage) (string, []core.Question, []string) {
	return askuser.Parse(name, args, strings.ToLower)
}

// deliver shows every row of the outbox as one line.
func (w *world) deliver(ctx context.Context) {
	wake, end := w.e.Wake(home)
	defer end()
	for {
		for w.deliverSome(ctx) {
		}
		timer := time.NewTimer(time.Hour)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (w *world) deliverSome(ctx context.Context) bool {
	w.mu.Lock()
	held := w.hold
	w.mu.Unlock()
	if held {
		return false
	}
	rows, _, err := w.e.Outbox(ctx, home, 50)
	if err != nil || len(rows) == 0 {
		return false
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, row := range rows {
		all.Go(func() { w.show(ctx, row) })
	}
	return true
}

func (w *world) show(ctx context.Context, row core.Out) {
	if _, _, place := row.Conversation.Parts(); w.found != "" && strings.Contains(string(place), ":") {
		for range 2 { // as after a kill between the first and its receipt
			if err := w.e.Forward(ctx, row, w.found); err != nil && ctx.Err() == nil {
				w.t.Errorf("forward: %v", err)
			}
		}
		return
	}
	s, err := w.e.Show(ctx, row)
	if err != nil {
		return
	}
	w.mu.Lock()
	w.order += 10
	r := core.Receipt{Order: w.order, Messages: []string{strconv.FormatUint(w.order, 10)}, At: time.Now()}
	line := lineOf(s)
	r.Prompted = strings.Contains(line, "ask ")
	for _, in := range s.Edits {
		w.shown = append(w.shown, "edit "+string(in.Kind)+" "+string(in.State))
	}
	if line != "" {
		w.shown = append(w.shown, line)
	}
	w.mu.Unlock()
	_ = w.e.Sent(ctx, row, r)
}

// lineOf tells what a row shows, in few words.
func lineOf(s turn.Shown) string {
	var b []string
	switch s.Row.Kind {
	case core.OutReply:
		if s.Run.Text != "" {
			b = append(b, "say "+s.Run.Text)
		}
		if s.Run.Status == core.RunFailed {
			b = append(b, "failed "+s.Run.Reason)
		}
	case core.OutNote:
		return "note " + string(s.Row.Note)
	case core.OutEdit:
		return ""
	}
	if s.Input != nil && s.Input.Pending() && s.Input.Draft.Step == s.Row.Step {
		b = append(b, fmt.Sprintf("ask %s %s%s #%d", s.Input.Kind, s.Input.Purpose, s.Input.Tool, s.Row.Step))
	}
	return strings.Join(b, " | ")
}

func conv() core.ConversationID { return core.NewConversation("ops", home, "1") }

// message is the next message of a person in the chat.
func (w *world) message(who core.PersonID, text string) core.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.order += 10
	return core.Message{
		ID: strconv.FormatUint(w.order, 10), Conversation: conv(), From: who, Text: text,
		Order: w.order, SentAt: time.Now(), Addressed: true,
	}
}

// say sends a message and waits until the conversation stands still.
func (w *world) say(who core.PersonID, text string) turn.Accepted {
	w.t.Helper()
	acc := w.send(w.message(who, text))
	w.idle()
	return acc
}

func (w *world) send(m core.Message) turn.Accepted {
	w.t.Helper()
	acc, err := w.e.Accept(w.t.Context(), m)
	if err != nil {
		w.t.Fatalf("accept %q: %v", m.Text, err)
	}
	return acc
}

func (w *world) idle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer cancel()
	if err := w.e.Idle(ctx, conv()); err != nil {
		w.t.Fatalf("the conversation does not come to rest: %v; shown %q", err, w.lines())
	}
	synctest.Wait()
}

func (w *world) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.shown)
}

// wantLines compares what was shown since the last call.
func (w *world) wantLines(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	got := w.shown
	w.shown = nil
	w.mu.Unlock()
	if !slices.Equal(got, want) {
		w.t.Errorf("shown:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (w *world) waiting() []core.Input {
	w.t.Helper()
	ins, err := w.e.Waiting(w.t.Context(), conv())
	if err != nil {
		w.t.Fatal(err)
	}
	return ins
}

// results are the outcomes of the tool messages of the last model request.
func (w *world) results() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	if len(w.requests) == 0 {
		return nil
	}
	for _, m := range w.requests[len(w.requests)-1].Messages {
		if m.Result != nil {
			out = append(out, m.Result.Content)
		}
	}
	return out
}

var inputFilter = turn.InputFilter{Limit: 5}

// inBubble runs f with virtual time.
func inBubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		f(t, w)
	})
}

// calls makes a reply that calls tools by "name {json}".
func calls(text string, specs ...string) model.Response {
	r := model.Response{Text: text, Stop: model.StopTools}
	for i, s := range specs {
		name, args, _ := strings.Cut(s, " ")
		r.Calls = append(r.Calls, model.Call{ID: fmt.Sprintf("p%d", i+1), Name: name, Arguments: json.RawMessage(args)})
	}
	return r
}

// script answers each request of a run with the next reply: where it is follows from the messages alone.
func script(replies ...model.Response) func(model.Request) (model.Response, error) {
	return func(r model.Request) (model.Response, error) {
		n := 0
		for _, m := range r.Messages {
			switch m.Role {
			case model.RoleUser:
				n = 0
			case model.RoleAssistant:
				n++
			}
		}
		if n < len(replies) {
			return replies[n], nil
		}
		return model.Response{Text: "end", Stop: model.StopEnd}, nil
	}
}

// slowModel answers when its context ends.
type slowModel struct{}

func (slowModel) Generate(ctx context.Context, _ model.Request) (model.Response, error) {
	<-ctx.Done()
	return model.Response{}, ctx.Err()
}

// diverge makes the open run's journal one of another program.
func diverge(t *testing.T, w *world) {
	t.Helper()
	err := w.store.Update(t.Context(), turn.Scope{Conversation: conv()}, func(tx turn.Tx) error {
		c, err := tx.Conversation()
		if err != nil {
			return err
		}
		steps, err := tx.Journal(c.Open)
		if err != nil {
			return err
		}
		return tx.Append(c.Open, len(steps), core.Step{Name: "from another program"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stepNames are the steps of the conversation's last run, with its id as RUN.
func stepNames(t *testing.T, w *world) (names []string) {
	t.Helper()
	err := w.store.View(t.Context(), conv(), func(r turn.Reader) error {
		c, err := r.Conversation()
		if err != nil {
			return err
		}
		steps, err := r.Journal(c.Last)
		for _, s := range steps {
			names = append(names, strings.ReplaceAll(s.Name, string(c.Last), "RUN"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// pass lets virtual time pass.
func (w *world) pass(d time.Duration) { <-time.After(d) }
