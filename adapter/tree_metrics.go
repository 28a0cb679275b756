package adapter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/tree"
)

// treeCollector shows what is known of the trees in /metrics. Trees are few, and made by operators: their names are labels.
type treeCollector struct {
	forest *tree.Forest

	loaded, branches, leaves, shared *prometheus.Desc
}

func newTreeCollector(forest *tree.Forest) *treeCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("tsdbridge_tree_"+name, help, labels, nil)
	}
	return &treeCollector{
		forest:   forest,
		loaded:   desc("loaded", "1 when the trees were read into memory, 0 before."),
		branches: desc("branches", "Branches of all trees in memory."),
		leaves:   desc("leaves", "Series on all trees in memory."),
		shared:   desc("collided_series", "Series whose path another series of the tree had first; each is drawn by itself.", "tree"),
	}
}

// Describe implements prometheus.Collector.
func (c *treeCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.loaded, c.branches, c.leaves, c.shared} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *treeCollector) Collect(out chan<- prometheus.Metric) {
	s := c.forest.Status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	loaded := 0.
	if s.Loaded {
		loaded = 1
	}
	gauge(c.loaded, loaded)
	gauge(c.branches, float64(s.Branches))
	gauge(c.leaves, float64(s.Leaves))
	seen := map[string]bool{} // a TSD lets several trees have one name
	for _, t := range s.Trees {
		if !seen[t.Name] {
			gauge(c.shared, float64(t.Shared.Series), t.Name)
		}
		seen[t.Name] = true
	}
}
