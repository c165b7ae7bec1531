package metrics_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/metrics"
	"parley/core"
	"parley/core/turn"
)

// log is an engine's log and rows in memory.
type log struct {
	mu     sync.Mutex
	events []core.Event
	inputs []core.Input
	news   chan struct{}
	reads  int // of inputs, by page
	fail   int // so many reads fail
}

func (l *log) Events(_ context.Context, _ core.RunID, after uint64, limit int) ([]core.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail > 0 {
		l.fail--
		return nil, turn.ErrDamaged
	}
	from := min(int(after), len(l.events))
	return slices.Clone(l.events[from:min(from+limit, len(l.events))]), nil
}

func (l *log) LastEvent(context.Context) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.events)), nil
}

func (l *log) News(core.AgentID) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.news == nil {
		l.news = make(chan struct{})
	}
	return l.news
}

func (l *log) Input(_ context.Context, id core.InputID) (core.Input, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, in := range l.inputs {
		if in.ID == id {
			return in, nil
		}
	}
	return core.Input{}, turn.ErrNotFound
}

func (l *log) Inputs(_ context.Context, f turn.InputFilter) (page []core.Input, next string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	for _, in := range l.inputs {
		if !in.Pending() || string(in.ID) <= f.After {
			continue
		}
		if len(page) == f.Limit {
			return page, string(page[len(page)-1].ID), nil
		}
		page = append(page, in)
	}
	return page, "", nil
}

func (l *log) RunByID(_ context.Context, id core.RunID) (core.Run, error) {
	if id == "child" {
		return core.Run{ID: id, Agent: "researcher"}, nil
	}
	return core.Run{}, turn.ErrNotFound
}

// tell appends events and lets the metrics read them.
func (l *log) tell(evs ...core.Event) {
	l.mu.Lock()
	for _, e := range evs {
		e.Seq, e.Conversation = uint64(len(l.events)+1), core.NewConversation("ops", "work", "C1")
		l.events = append(l.events, e)
	}
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
	l.mu.Unlock()
	synctest.Wait()
}

func (l *log) put(in core.Input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inputs = slices.DeleteFunc(l.inputs, func(o core.Input) bool { return o.ID == in.ID })
	l.inputs = append(l.inputs, in)
}

func input(id string, kind core.Kind, age time.Duration) core.Input {
	return core.Input{ID: core.InputID(id), Conversation: core.NewConversation("ops", "work", "C1"), Kind: kind, State: core.InputPending, CreatedAt: time.Now().Add(-age)}
}

// later lets time of the bubble pass.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// start runs metrics until the test ends.
func start(t *testing.T, l *log, most int) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New(metrics.Config{Turns: l, Now: time.Now, Most: most, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = m.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return m
}

// scrape reads what is served: series by name with labels.
func scrape(t *testing.T, m *metrics.Metrics) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	out := map[string]string{}
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			i := strings.LastIndexByte(line, ' ')
			out[line[:i]] = line[i+1:]
		}
	}
	return out
}

func want(t *testing.T, got map[string]string, series map[string]string) {
	t.Helper()
	for name, v := range series {
		if got[name] != v {
			t.Errorf("%s is %q, want %q", name, got[name], v)
		}
	}
}

func TestTurnsAndAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		l.tell(core.Event{Type: core.EventRunStarted}) // before the start: not counted
		m := start(t, l, 0)
		in := input("i1", core.KindApproval, 0)
		l.put(in)
		l.tell(
			core.Event{Type: core.EventRunStarted, Run: "r1"}, core.Event{Type: core.EventApproval, Input: "i1"},
			core.Event{Type: core.EventRefused, Via: "button"}, core.Event{Type: core.EventUnclear}, core.Event{Type: core.EventUndeliverable},
		)
		want(t, scrape(t, m), map[string]string{`parley_inputs_waiting{age="5m",agent="ops",kind="approval"}`: "1"})
		in.State, in.Settled = core.InputAccepted, &core.Settled{At: in.CreatedAt.Add(90 * time.Second), Answer: &core.Answer{}}
		l.put(in)
		l.tell(
			core.Event{Type: core.EventInputResolved, Input: "i1", Via: "rest"}, core.Event{Type: core.EventInputResolved, Input: "pruned"},
			core.Event{Type: core.EventRunFinished, Run: "child", Data: []byte(`{"status":"failed"}`)},
			core.Event{Type: core.EventRunFinished, Run: "r1", Data: []byte(`{"status":"completed"}`)}, core.Event{Type: core.EventSetAside, Run: "r1"},
		)
		got := scrape(t, m)
		want(t, got, map[string]string{
			`parley_turns_started_total{agent="ops"}`:                                            "1",
			`parley_turns_total{agent="ops",status="completed"}`:                                 "1",
			`parley_turns_total{agent="researcher",status="failed"}`:                             "1",
			`parley_turns_set_aside_total{agent="ops"}`:                                          "1",
			`parley_inputs_ended_total{agent="ops",kind="approval",state="accepted",via="rest"}`: "1",
			`parley_answers_refused_total{agent="ops",via="button"}`:                             "1",
			`parley_answers_unclear_total{agent="ops"}`:                                          "1",
			`parley_undeliverable_total{channel="work"}`:                                         "1",
			`parley_input_settle_seconds_sum{agent="ops",kind="approval"}`:                       "90",
			`parley_input_settle_seconds_bucket{agent="ops",kind="approval",le="60"}`:            "0",
			`parley_input_settle_seconds_bucket{agent="ops",kind="approval",le="300"}`:           "1",
			`parley_metrics_ready`:               "1",
			`parley_build_info{version="1.2.3"}`: "1",
			`parley_inputs_waiting_capped`:       "0",
		})
		for name := range got {
			if strings.HasPrefix(name, "parley_inputs_waiting{") {
				t.Errorf("nothing waits, yet there is %s", name)
			}
		}
	})
}

// What waits grows older without a read of the store, and a scrape never reads it.
func TestAges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		for i, age := range []time.Duration{0, 10 * time.Minute, 2 * time.Hour, 2 * 24 * time.Hour, 30 * 24 * time.Hour} {
			l.put(input(fmt.Sprint("i", i), core.KindForm, age))
		}
		m := start(t, l, 0)
		count := func(ages map[string]string) {
			t.Helper()
			series := map[string]string{}
			for a, n := range ages {
				series[fmt.Sprintf(`parley_inputs_waiting{age="%s",agent="ops",kind="form"}`, a)] = n
			}
			want(t, scrape(t, m), series)
		}
		count(map[string]string{"5m": "1", "1h": "1", "1d": "1", "7d": "1", "older": "1"})
		reads := l.reads
		later(25 * time.Hour)
		count(map[string]string{"5m": "0", "1h": "0", "1d": "0", "7d": "4", "older": "1"})
		if l.reads != reads {
			t.Errorf("%d further reads of what waits", l.reads-reads)
		}
	})
}

// The list at the start takes pages, and events about what it has seen count nothing twice.
func TestStartUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{fail: 1}
		for i := range 1234 {
			l.put(input(fmt.Sprintf("i%06d", i), core.KindURL, 0))
		}
		m := start(t, l, 0)
		const name = `parley_inputs_waiting{age="5m",agent="ops",kind="url"}`
		want(t, scrape(t, m), map[string]string{name: "1234"})
		l.tell(core.Event{Type: core.EventElicitation, Input: "i000007"})
		later(2 * time.Second) // after the failure
		l.tell(core.Event{Type: core.EventInputResolved, Input: "i000009"}, core.Event{Type: core.EventInputResolved, Input: "i000009"})
		want(t, scrape(t, m), map[string]string{name: "1233"})
		if l.reads != 3 {
			t.Errorf("%d pages were read, want 3", l.reads)
		}
	})
}

func TestCap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		for i := range 5 {
			l.put(input(fmt.Sprint("i", i), core.KindURL, 0))
		}
		m := start(t, l, 3)
		l.tell(core.Event{Type: core.EventInputResolved, Input: "i4"})
		want(t, scrape(t, m), map[string]string{`parley_inputs_waiting{age="5m",agent="ops",kind="url"}`: "3", "parley_inputs_waiting_capped": "1"})
	})
}

func TestObserved(t *testing.T) {
	t.Parallel()
	m, err := metrics.New(metrics.Config{Turns: &log{}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	m.Delivery("work", channels.DeliveredSent)
	m.Delivery("work", channels.DeliveredRetry)
	m.Delivery("work", channels.DeliveredDropped)
	m.Reading("work", core.DoUnclear)
	m.Webhook("hooks.example.com", "dead")
	want(t, scrape(t, m), map[string]string{
		`parley_deliveries_total{channel="work",outcome="sent"}`:                 "1",
		`parley_deliveries_total{channel="work",outcome="retry"}`:                "1",
		`parley_deliveries_total{channel="work",outcome="dropped"}`:              "1",
		`parley_delivery_retries_total{channel="work"}`:                          "1",
		`parley_readings_total{channel="work",outcome="unclear"}`:                "1",
		`parley_webhook_attempts_total{host="hooks.example.com",outcome="dead"}`: "1",
	})
}

// No label can name a conversation, a person, a run, an input or a tool.
func TestLabels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		m := start(t, l, 0)
		l.put(input("i1", core.KindApproval, 0))
		l.tell(core.Event{Type: core.EventRunStarted, Run: "r1"}, core.Event{Type: core.EventApproval, Input: "i1"})
		allowed := []string{"agent", "kind", "age", "status", "state", "via", "channel", "outcome", "host", "le", "version", "quantile", "cause", "code"}
		label := regexp.MustCompile(`[{,](\w+)="`)
		for name := range scrape(t, m) {
			if !strings.HasPrefix(name, "parley_") {
				continue
			}
			for _, found := range label.FindAllStringSubmatch(name, -1) {
				if !slices.Contains(allowed, found[1]) {
					t.Errorf("%s has the label %s", name, found[1])
				}
			}
		}
	})
}
