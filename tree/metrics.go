package tree

import "github.com/prometheus/client_golang/prometheus"

// collector exports the state of the trees as metrics. Trees are few, and made by operators: their
// names are labels.
type collector struct {
	forest   *Forest
	follower *Follower

	loaded, branches, leaves, shared *prometheus.Desc
	unreadable                       *prometheus.Desc
	running, waiting, done, of       *prometheus.Desc
}

func newCollector(forest *Forest, follower *Follower) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("tsdbridge_tree_"+name, help, labels, nil)
	}
	return &collector{
		forest:     forest,
		follower:   follower,
		loaded:     desc("loaded", "1 once the trees were read into memory, 0 before."),
		branches:   desc("branches", "Branches of all trees."),
		leaves:     desc("leaves", "Leaves of all trees, one for each series and tree."),
		shared:     desc("collided_series", "Series whose path another series of the tree had first; render returns each by itself.", "tree"),
		unreadable: desc("unreadable_cells", "Cells of trees that could not be read when the trees were loaded, and are left out; tsdbridge fsck finds them."),
		running:    desc("sync_running", "1 while existing series are being appended to trees."),
		waiting:    desc("sync_waiting_trees", "Trees to which not all existing series are appended yet."),
		done:       desc("sync_done_series", "Series that the current or last pass over all series has appended or found to be there."),
		of:         desc("sync_expected_series", "Estimated number of series of that pass."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.loaded, c.branches, c.leaves, c.shared, c.unreadable, c.running, c.waiting, c.done, c.of} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.forest.Status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	flag := map[bool]float64{true: 1}
	sync := c.follower.State()
	gauge(c.loaded, flag[s.Loaded])
	gauge(c.running, flag[sync.Running])
	gauge(c.waiting, float64(len(sync.Waiting)))
	gauge(c.done, float64(sync.Report.Series))
	gauge(c.of, float64(sync.Of))
	gauge(c.branches, float64(s.Branches))
	gauge(c.leaves, float64(s.Leaves))
	gauge(c.unreadable, float64(s.Unreadable))
	seen := map[string]bool{} // a TSD lets several trees have one name
	for _, t := range s.Trees {
		if !seen[t.Name] {
			gauge(c.shared, float64(t.Shared.Series), t.Name)
		}
		seen[t.Name] = true
	}
}
