package httpapi

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"feedgate/internal/socket"
	"feedgate/internal/sse"
)

// traffic counts what sockets and streams have in common.
type traffic struct {
	open     prometheus.Gauge
	messages prometheus.Counter
	bytes    prometheus.Counter
	slow     prometheus.Counter
}

// Sent counts one message.
func (t *traffic) Sent(bytes int) {
	t.messages.Inc()
	t.bytes.Add(float64(bytes))
}

// Slow counts a client that read too slowly.
func (t *traffic) Slow() { t.slow.Inc() }

// socketMetrics are told of sockets.
type socketMetrics struct {
	traffic
	opened     *prometheus.CounterVec
	closed     *prometheus.CounterVec
	operations prometheus.Gauge
}

// streamMetrics are told of streams.
type streamMetrics struct {
	traffic
	opened prometheus.Counter
	closed *prometheus.CounterVec
}

var (
	_ socket.Metrics = (*socketMetrics)(nil)
	_ sse.Metrics    = (*streamMetrics)(nil)
)

func newLiveMetrics(registry prometheus.Registerer) (*socketMetrics, *streamMetrics) {
	opened := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "feedgate_connections_opened_total", Help: "Sockets and streams that were opened, by protocol.",
	}, []string{"protocol"})
	closed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "feedgate_sockets_closed_total", Help: "Sockets that ended, by close code; 1006: without one.",
	}, []string{"code"})
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "feedgate_streams_closed_total", Help: "Event streams that ended: completed or cut.",
	}, []string{"how"})
	open := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "feedgate_connections_open", Help: "Sockets and streams that are open.",
	}, []string{"transport"})
	messages := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "feedgate_messages_sent_total", Help: "Messages that sockets and streams have sent.",
	}, []string{"transport"})
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "feedgate_message_bytes_sent_total", Help: "Bytes of the messages that sockets and streams have sent.",
	}, []string{"transport"})
	slow := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "feedgate_slow_clients_total", Help: "Sockets and streams that were cut because their clients read too slowly.",
	}, []string{"transport"})
	operations := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "feedgate_socket_operations", Help: "Operations that run on sockets.",
	})
	registry.MustRegister(opened, closed, ended, open, messages, bytes, slow, operations)
	of := func(transport string) traffic {
		return traffic{
			open: open.WithLabelValues(transport), messages: messages.WithLabelValues(transport),
			bytes: bytes.WithLabelValues(transport), slow: slow.WithLabelValues(transport),
		}
	}
	return &socketMetrics{traffic: of("websocket"), opened: opened, closed: closed, operations: operations},
		&streamMetrics{traffic: of("sse"), opened: opened.WithLabelValues("graphql-sse"), closed: ended}
}

// Opened counts a socket by its subprotocol.
func (m *socketMetrics) Opened(subprotocol string) {
	m.open.Inc()
	switch subprotocol {
	case "graphql-transport-ws", "graphql-ws":
	default:
		subprotocol = "none"
	}
	m.opened.WithLabelValues(subprotocol).Inc()
}

// Closed counts the end of a socket. Clients may close with any code of their
// own: those count together.
func (m *socketMetrics) Closed(code int) {
	m.open.Dec()
	label := "other"
	if code >= 1000 && code <= 1015 || code >= 4400 && code <= 4429 {
		label = strconv.Itoa(code)
	}
	m.closed.WithLabelValues(label).Inc()
}

// Operations counts those that begin and end.
func (m *socketMetrics) Operations(delta int) { m.operations.Add(float64(delta)) }

// Opened counts a stream.
func (m *streamMetrics) Opened() {
	m.open.Inc()
	m.opened.Inc()
}

// Closed counts the end of a stream.
func (m *streamMetrics) Closed(completed bool) {
	m.open.Dec()
	how := "cut"
	if completed {
		how = "completed"
	}
	m.closed.WithLabelValues(how).Inc()
}
