package metrics

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Now is what is looked at when somebody asks.
type Now struct {
	Jobs []Jobs
	// Pending are the deliveries that are not worked off, -1 for not known.
	Pending int64
	// Running are the planners' processes by what they do, plan or apply. Those of
	// an earlier server that still run are not among them.
	Running map[string]int
	// Appended counts the writes to ledgers that this process made, Contended the
	// times that another writer was faster and it had to decide again.
	Appended, Contended int64
}

// Jobs is how many jobs of a kind are in a state of the queue.
type Jobs struct {
	Kind, State string
	Count       int64
}

// Handler serves all that is counted and, where look succeeds, what it finds.
// failed is told why it did not.
func (m *Metrics) Handler(look func(context.Context) (Now, error), failed func(context.Context, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now, err := look(r.Context())
		if err != nil {
			failed(r.Context(), err)
		}
		looked := prometheus.NewRegistry()
		looked.MustRegister(now)
		promhttp.HandlerFor(prometheus.Gatherers{m.registry, looked}, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

var (
	jobsDesc      = describe("jobs", "Jobs in the queue that are not over. Every replica tells the same.", kindLabel, "state")
	pendingDesc   = describe("deliveries_pending", "Stored deliveries that are not worked off. Every replica tells the same.")
	runningDesc   = describe("children_running", "Planners' processes of this server that run now.", "stage")
	appendedDesc  = describe("ledger_appends_total", "Writes to ledgers.")
	contendedDesc = describe("ledger_contended_total", "Times that a write to a ledger was decided again because another writer was faster.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

// Describe implements prometheus.Collector.
func (n Now) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{jobsDesc, pendingDesc, runningDesc, appendedDesc, contendedDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (n Now) Collect(to chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, float64(value), labels...)
	}
	for _, j := range n.Jobs {
		tell(jobsDesc, prometheus.GaugeValue, j.Count, j.Kind, j.State)
	}
	if n.Pending >= 0 {
		tell(pendingDesc, prometheus.GaugeValue, n.Pending)
	}
	for stage, count := range n.Running {
		tell(runningDesc, prometheus.GaugeValue, int64(count), stage)
	}
	tell(appendedDesc, prometheus.CounterValue, n.Appended)
	tell(contendedDesc, prometheus.CounterValue, n.Contended)
}
