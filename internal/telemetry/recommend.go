package telemetry

import "github.com/prometheus/client_golang/prometheus"

// SourcesLost counts the sources of recommendations that could not be asked.
// What it returns is a hook.
func SourcesLost(registry prometheus.Registerer, names []string) func(source string) {
	lost := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "feedgate_recommend_sources_lost_total",
		Help: "Sources of recommendations that could not be asked, by source: the others answered.",
	}, []string{"source"})
	for _, name := range names {
		lost.WithLabelValues(name)
	}
	registry.MustRegister(lost)
	return func(source string) { lost.WithLabelValues(source).Inc() }
}

// Learner are the metrics of the learner. The methods are hooks.
type Learner struct {
	learned  prometheus.Counter
	failed   prometheus.Counter
	lost     prometheus.Counter
	building prometheus.Gauge
	serving  prometheus.Gauge
}

// NewLearner registers the metrics.
func NewLearner(registry prometheus.Registerer) *Learner {
	l := &Learner{
		learned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "feedgate_recommend_learned_total", Help: "People whose engagements were counted on the boards of recommendFeed.",
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "feedgate_recommend_learning_failures_total", Help: "Steps of learning that have to be tried again.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "feedgate_recommend_boards_lost_total", Help: "Times that the boards of recommendFeed were found lost; they are built anew.",
		}),
		building: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "feedgate_recommend_building", Help: "1 while this process builds new boards.",
		}),
		serving: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "feedgate_recommend_epoch_seconds", Help: "When the boards that serve were begun, in seconds since 1970; 0 while there are none.",
		}),
	}
	registry.MustRegister(l.learned, l.failed, l.lost, l.building, l.serving)
	return l
}

// Learned counts people.
func (l *Learner) Learned(users int) { l.learned.Add(float64(users)) }

// Failed counts a step to be tried again.
func (l *Learner) Failed() { l.failed.Inc() }

// Lost counts a loss of the boards in use.
func (l *Learner) Lost() { l.lost.Inc() }

// Building notes whether new boards are being built.
func (l *Learner) Building(under bool) {
	l.building.Set(0)
	if under {
		l.building.Set(1)
	}
}

// Serving notes the epoch (ms) of the boards that serve.
func (l *Learner) Serving(epoch int64) { l.serving.Set(float64(epoch) / 1000) }
