package metrics

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parley/channels"
	"parley/core"
	"parley/core/turn"
)

// Turns is what is asked of the engine; *turn.Engine has it.
type Turns interface {
	Events(ctx context.Context, run core.RunID, after uint64, limit int) ([]core.Event, error)
	LastEvent(ctx context.Context) (uint64, error)
	News(id core.AgentID) <-chan struct{}
	Input(ctx context.Context, id core.InputID) (core.Input, error)
	Inputs(ctx context.Context, f turn.InputFilter) (page []core.Input, next string, err error)
	RunByID(ctx context.Context, id core.RunID) (core.Run, error)
}

// Config is what Metrics are made of. Turns and Now are needed.
type Config struct {
	Turns Turns
	Now   func() time.Time
	Log   *slog.Logger
	// Most is how many waiting inputs are tracked at once; 0 is 100,000, some 20 MB.
	Most int
	// Version is shown in parley_build_info.
	Version string
}

// Metrics counts. It observes a channels.Hub.
type Metrics struct {
	c        Config
	registry *prometheus.Registry
	waiting  *waiting

	started, turns, ended, refused, unclear, undeliverable, setAside *prometheus.CounterVec
	settle                                                           *prometheus.HistogramVec
	deliveries, retries, readings, webhooks                          *prometheus.CounterVec
	ready                                                            prometheus.Gauge
}

// settleBuckets are seconds from a second to a week.
var settleBuckets = []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600}

// New returns metrics that have counted nothing yet.
func New(c Config) (*Metrics, error) {
	if c.Turns == nil || c.Now == nil {
		return nil, errors.New("metrics: Turns and Now are needed")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Most == 0 {
		c.Most = 100_000
	}
	m := &Metrics{c: c, registry: prometheus.NewRegistry(), waiting: newWaiting(c.Most, c.Now)}
	m.define()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "parley_build_info", Help: "1, with the version of the program.", ConstLabels: prometheus.Labels{"version": c.Version},
	})
	info.Set(1)
	m.registry.MustRegister(
		m.started, m.turns, m.ended, m.refused, m.unclear, m.undeliverable, m.setAside, m.settle,
		m.deliveries, m.retries, m.readings, m.webhooks, m.ready, m.waiting, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m, nil
}

func (m *Metrics) define() {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "parley_" + name, Help: help}, labels)
	}
	m.started = counter("turns_started_total", "Turns that began.", "agent")
	m.turns = counter("turns_total", "Turns that ended, by how.", "agent", "status")
	m.ended = counter("inputs_ended_total", "Inputs that ended, by how and at which door; no door is the clock or a message.", "agent", "kind", "state", "via")
	m.refused = counter("answers_refused_total", "Answers of people who may not answer.", "agent", "via")
	m.unclear = counter("answers_unclear_total", "Replies near to an answer.", "agent")
	m.undeliverable = counter("undeliverable_total", "Prompts and replies that could not be shown.", "channel")
	m.setAside = counter("turns_set_aside_total", "Turns that cannot go on and are kept for the operator.", "agent")
	m.settle = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "parley_input_settle_seconds", Help: "From asking to a person's answer, in seconds.", Buckets: settleBuckets,
	}, []string{"agent", "kind"})
	m.deliveries = counter("deliveries_total", "Attempts to send what a channel shows, by how they ended.", "channel", "outcome")
	m.retries = counter("delivery_retries_total", "Attempts to send that failed and are made again.", "channel")
	m.readings = counter("readings_total", "Messages of channels, by what they led to.", "channel", "outcome")
	m.webhooks = counter("webhook_attempts_total", "Attempts to tell a webhook, by how they ended.", "host", "outcome")
	m.ready = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "parley_metrics_ready", Help: "1 once what waits was listed and the log is followed.",
	})
}

// Handler serves the numbers.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, MaxRequestsInFlight: 4})
}

// Delivery counts an attempt to send a row.
func (m *Metrics) Delivery(channel string, d channels.Delivered) {
	m.deliveries.WithLabelValues(channel, string(d)).Inc()
	if d == channels.DeliveredRetry {
		m.retries.WithLabelValues(channel).Inc()
	}
}

// Reading counts what a message led to.
func (m *Metrics) Reading(channel string, d core.Doing) {
	m.readings.WithLabelValues(channel, string(d)).Inc()
}

// Webhook counts an attempt to tell a webhook; outcome is one of a few words.
func (m *Metrics) Webhook(host, outcome string) { m.webhooks.WithLabelValues(host, outcome).Inc() }

var _ channels.Observer = (*Metrics)(nil)
