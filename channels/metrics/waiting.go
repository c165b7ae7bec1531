package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/core"
)

// ages are how long an input may have waited to count under a name; what waited longer is "older".
var ages = []struct {
	name string
	most time.Duration
}{{"5m", 5 * time.Minute}, {"1h", time.Hour}, {"1d", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}

const older = "older"

func ageOf(d time.Duration) string {
	for _, a := range ages {
		if d <= a.most {
			return a.name
		}
	}
	return older
}

// cell is inputs that began to wait in one minute.
type cell struct {
	agent  core.AgentID
	kind   core.Kind
	minute int64
}

// waiting knows what waits.
type waiting struct {
	most int
	now  func() time.Time

	mu     sync.Mutex
	where  map[core.InputID]cell
	cells  map[cell]int
	capped bool

	count, isCapped *prometheus.Desc
}

func newWaiting(most int, now func() time.Time) *waiting {
	return &waiting{
		most: most, now: now, where: map[core.InputID]cell{}, cells: map[cell]int{},
		count:    prometheus.NewDesc("parley_inputs_waiting", "Inputs that wait for a person, by how long at most.", []string{"agent", "kind", "age"}, nil),
		isCapped: prometheus.NewDesc("parley_inputs_waiting_capped", "1 where more wait than are counted.", nil, nil),
	}
}

// add tracks an input, once; false where no more are tracked.
func (w *waiting) add(in core.Input) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.where[in.ID]; known {
		return true
	}
	if len(w.where) >= w.most {
		w.capped = true
		return false
	}
	c := cell{agentOf(in), in.Kind, in.CreatedAt.Unix() / 60}
	w.where[in.ID] = c
	w.cells[c]++
	return true
}

// remove forgets an input that ended.
func (w *waiting) remove(id core.InputID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, known := w.where[id]
	if !known {
		return
	}
	delete(w.where, id)
	if w.cells[c]--; w.cells[c] == 0 {
		delete(w.cells, c)
	}
}

// Describe names what Collect gives.
func (w *waiting) Describe(ch chan<- *prometheus.Desc) {
	ch <- w.count
	ch <- w.isCapped
}

// Collect sums the cells up. An age that an agent's kind has nobody at is 0, so that no series ends.
func (w *waiting) Collect(ch chan<- prometheus.Metric) {
	type series struct {
		agent core.AgentID
		kind  core.Kind
	}
	sums := map[series]map[string]int{}
	now := w.now()
	w.mu.Lock()
	for c, n := range w.cells {
		s := series{c.agent, c.kind}
		if sums[s] == nil {
			sums[s] = map[string]int{}
		}
		sums[s][ageOf(now.Sub(time.Unix(c.minute*60, 0)))] += n
	}
	capped := 0.0
	if w.capped {
		capped = 1
	}
	w.mu.Unlock()
	for s, byAge := range sums {
		for _, a := range append([]string{older}, names()...) {
			ch <- prometheus.MustNewConstMetric(w.count, prometheus.GaugeValue, float64(byAge[a]), string(s.agent), string(s.kind), a)
		}
	}
	ch <- prometheus.MustNewConstMetric(w.isCapped, prometheus.GaugeValue, capped)
}

func names() (out []string) {
	for _, a := range ages {
		out = append(out, a.name)
	}
	return out
}
