// Package metrics counts what the server does, for a Prometheus server to read.
// It decides nothing and knows neither a database nor a forge. A label is one of
// a few words that are known beforehand: none grows with repositories, pull
// requests, commits or people.
package metrics

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/chant-bot/chant/engine"
)

// Metrics are the counts of one server, from its start on.
type Metrics struct {
	registry                    *prometheus.Registry
	received, handled, requests *prometheus.CounterVec
	jobs, plans, applies        *prometheus.HistogramVec
	left                        *prometheus.GaugeVec
}

// Names of labels.
const (
	forgeLabel   = "forge"
	outcomeLabel = "outcome"
	kindLabel    = "kind"
	statusLabel  = "status"
)

// New counts for a program of that version.
func New(version string) *Metrics {
	short := []float64{.005, .025, .1, .5, 2, 10, 60, 300}
	long := []float64{.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		received: counter("deliveries_received_total", "Webhook requests, by what they were answered: queued, duplicate, ignored, refused (not authentic or not readable) or failed (could not be stored).", forgeLabel, outcomeLabel),
		handled:  counter("deliveries_handled_total", "Stored deliveries worked off, by what they came to: done, ignored, failed, or waiting, which is tried again.", forgeLabel, outcomeLabel),
		requests: counter("forge_requests_total", "Requests to the API of a forge, by the class of the answer; none: there was no answer.", forgeLabel, "method", "answer"),
		jobs:     histogram("job_duration_seconds", "Time that jobs took, by what they came to: done, waits (for a forge, a remote or another job) or failed.", short, kindLabel, outcomeLabel),
		plans:    histogram("plan_duration_seconds", "Time that plans of pull requests took, by the status of their report.", long, statusLabel),
		applies:  histogram("apply_duration_seconds", "Time that applies took in this process, by the status of their report.", long, statusLabel),
		left: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "forge_rate_limit_remaining",
			Help: "Requests that the forge still allowed when it answered last, of whichever installation was asked.",
		}, []string{forgeLabel}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1, labelled with what this program was built from.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(m.received, m.handled, m.requests, m.jobs, m.plans, m.applies, m.left, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

const namespace = "chant"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// Received counts a request to a webhook endpoint.
func (m *Metrics) Received(forge engine.Instance, outcome string) {
	m.received.WithLabelValues(forge.String(), outcome).Inc()
}

// Handled counts a delivery that was worked off.
func (m *Metrics) Handled(forge engine.Instance, outcome string) {
	m.handled.WithLabelValues(forge.String(), outcome).Inc()
}

// Job counts a job of a kind that ended.
func (m *Metrics) Job(kind, outcome string, took time.Duration) {
	m.jobs.WithLabelValues(kind, outcome).Observe(took.Seconds())
}

// Planned counts a plan by the status of its report.
func (m *Metrics) Planned(status string, took time.Duration) {
	m.plans.WithLabelValues(status).Observe(took.Seconds())
}

// Applied counts an apply, or the end of one that was carried on, by the status
// of its report.
func (m *Metrics) Applied(status string, took time.Duration) {
	m.applies.WithLabelValues(status).Observe(took.Seconds())
}
