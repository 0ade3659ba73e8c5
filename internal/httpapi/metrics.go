package httpapi

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"feedgate/feed"
)

// Metrics are what /metrics shows. Make one before the stores: their hooks
// report to it.
type Metrics struct {
	registry *prometheus.Registry
	requests map[string]prometheus.Observer
	other    prometheus.Observer
	errors   *prometheus.CounterVec
	trips    *prometheus.CounterVec
	commands *prometheus.CounterVec
	batches  *prometheus.HistogramVec
	events   *prometheus.CounterVec
	sockets  *socketMetrics
	streams  *streamMetrics
}

// NewMetrics makes metrics with a registry of their own.
func NewMetrics() *Metrics {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "feedgate_request_duration_seconds",
		Help:    "Time from reading a GraphQL request to its response, by kind of operation.",
		Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10},
	}, []string{"operation"})
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "feedgate_errors_total", Help: "Errors shown to clients, by code.",
		}, []string{"code"}),
		trips: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "feedgate_round_trips_total", Help: "Awaited commands and pipelines, by store.",
		}, []string{"store"}),
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "feedgate_record_commands_total", Help: "Commands to the record, by name.",
		}, []string{"command"}),
		batches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "feedgate_loader_batch_keys",
			Help:    "Keys in one batch of a loader, by loader.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000},
		}, []string{"loader"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "feedgate_events_total", Help: "Events that operators should see, by name.",
		}, []string{"event"}),
	}
	m.requests = map[string]prometheus.Observer{
		"query":    durations.WithLabelValues("query"),
		"mutation": durations.WithLabelValues("mutation"),
	}
	m.other = durations.WithLabelValues("invalid")
	m.registry.MustRegister(durations, m.errors, m.trips, m.commands, m.batches, m.events,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.sockets, m.streams = newLiveMetrics(m.registry)
	return m
}

// Registry is where others add metrics of their own.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// RoundTrips gives the hook that counts a store's round trips, called once for
// each.
func (m *Metrics) RoundTrips(store string) func() { return m.trips.WithLabelValues(store).Inc }

// RecordCommand counts a command to the record.
func (m *Metrics) RecordCommand(name string) { m.commands.WithLabelValues(name).Inc() }

// Event counts an event of the domain.
func (m *Metrics) Event(e feed.Event) { m.events.WithLabelValues(string(e)).Inc() }

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *Metrics) done(kind string, took time.Duration) {
	o, ok := m.requests[kind]
	if !ok {
		o = m.other
	}
	o.Observe(took.Seconds())
}

func (m *Metrics) fail(code feed.Code) { m.errors.WithLabelValues(string(code)).Inc() }

func (m *Metrics) batch(loader string, size int) {
	m.batches.WithLabelValues(loader).Observe(float64(size))
}
