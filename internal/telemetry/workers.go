// Package telemetry turns what parts of feedgate report into metrics. The
// parts know nothing of it: they call hooks.
package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"feedgate/feed"
)

// Workers are the metrics of the workers. The methods are hooks.
type Workers struct {
	tasks     *prometheus.CounterVec
	delivered *prometheus.CounterVec
	duties    *prometheus.CounterVec
	fanout    *prometheus.HistogramVec
	lag       prometheus.Gauge
	repairs   *prometheus.CounterVec
}

// NewWorkers registers the metrics.
func NewWorkers(registry prometheus.Registerer) *Workers {
	w := &Workers{
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "feedgate_fanout_tasks_total", Help: "Fan-out tasks, by lane and outcome: executed, retried, buried.",
		}, []string{"lane", "outcome"}),
		delivered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "feedgate_fanout_followers_total", Help: "Followers of executed tasks, by lane.",
		}, []string{"lane"}),
		duties: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "feedgate_fanout_duties_total", Help: "Fan-outs of posts, by lane and outcome: done, failed, restarted.",
		}, []string{"lane", "outcome"}),
		fanout: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "feedgate_fanout_duration_seconds",
			Help:    "Time from publishing a post to the end of its fan-out, by lane.",
			Buckets: []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 300},
		}, []string{"lane"}),
		lag: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "feedgate_fanout_lag_seconds", Help: "By how much the most overdue fan-out is late, when last looked at.",
		}),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "feedgate_repairs_total", Help: "What the sweeper repaired, by kind: marks_retired, recounted, pruned.",
		}, []string{"kind"}),
	}
	registry.MustRegister(w.tasks, w.delivered, w.duties, w.fanout, w.lag, w.repairs)
	return w
}

// TaskExecuted counts a task with its followers.
func (w *Workers) TaskExecuted(lane feed.Lane, followers int) {
	w.tasks.WithLabelValues(string(lane), "executed").Inc()
	w.delivered.WithLabelValues(string(lane)).Add(float64(followers))
}

// TaskRetried counts a task that was handed out again.
func (w *Workers) TaskRetried(lane feed.Lane) {
	w.tasks.WithLabelValues(string(lane), "retried").Inc()
}

// TaskBuried counts a task that failed for good.
func (w *Workers) TaskBuried(lane feed.Lane) { w.tasks.WithLabelValues(string(lane), "buried").Inc() }

// DutyDone counts a fan-out that is complete.
func (w *Workers) DutyDone(lane feed.Lane, sincePublish time.Duration) {
	w.duties.WithLabelValues(string(lane), "done").Inc()
	w.fanout.WithLabelValues(string(lane)).Observe(sincePublish.Seconds())
}

// DutyFailed counts a fan-out that waits for its replay.
func (w *Workers) DutyFailed(lane feed.Lane) { w.duties.WithLabelValues(string(lane), "failed").Inc() }

// DutyRestart counts a fan-out that started over from its mark.
func (w *Workers) DutyRestart(lane feed.Lane) {
	w.duties.WithLabelValues(string(lane), "restarted").Inc()
}

// DutyLag notes how late the most overdue fan-out is.
func (w *Workers) DutyLag(lag time.Duration) { w.lag.Set(lag.Seconds()) }

// MarksRetired counts in-flight marks that went.
func (w *Workers) MarksRetired(n int) { w.repairs.WithLabelValues("marks_retired").Add(float64(n)) }

// Recounted counts counters that were wrong.
func (w *Workers) Recounted(n int) { w.repairs.WithLabelValues("recounted").Add(float64(n)) }

// Pruned counts inboxes of readers who stayed away.
func (w *Workers) Pruned(n int) { w.repairs.WithLabelValues("pruned").Add(float64(n)) }

// InProcessRedis shows the size of the in-process Redis and what it dropped.
func InProcessRedis(registry prometheus.Registerer, size func() int64, evicted func() (keys, flushes int64)) {
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "feedgate_embedded_redis_bytes", Help: "Bytes that the in-process Redis holds, about.",
		}, func() float64 { return float64(size()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "feedgate_embedded_redis_evicted_total", Help: "Keys that the in-process Redis dropped for want of room.",
		}, func() float64 { keys, _ := evicted(); return float64(keys) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "feedgate_embedded_redis_flushed_total", Help: "Times that the in-process Redis dropped everything for want of room.",
		}, func() float64 { _, flushes := evicted(); return float64(flushes) }),
	)
}
