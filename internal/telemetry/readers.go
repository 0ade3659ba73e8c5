package telemetry

import "github.com/prometheus/client_golang/prometheus"

// ConnectedReaders shows how many people this gateway keeps a red dot for.
func ConnectedReaders(registry prometheus.Registerer, connected func() int) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "feedgate_connected_readers", Help: "People who are subscribed to something, each once.",
	}, func() float64 { return float64(connected()) }))
}
