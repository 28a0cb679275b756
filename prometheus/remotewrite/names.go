package remotewrite

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/storage"
)

// keptNames is how many series are remembered in each of two generations.
const keptNames = 200_000

// A target is a series as a destination gets it.
type target struct {
	labels labels.Labels
	metric string // stored name, of the metadata
	hash   uint64 // of the labels
	drop   bool   // write_relabel_configs drop it
}

// names finds the targets of series. It is safe for concurrent use.
type names struct {
	catalog  Catalog
	toLabels func(storage.Series) labels.Labels
	external labels.Labels
	rules    []*relabel.Config

	known atomic.Pointer[cache.LRU[string, *target]] // by TSUID
}

// forget forgets the names.
func (n *names) forget() { n.known.Store(cache.NewLRU[string, *target](keptNames)) }

// of returns the targets of series, in order; nil for those without a name.
func (n *names) of(ctx context.Context, tsuids [][]byte) ([]*target, error) {
	known := n.known.Load()
	all := make([]*target, len(tsuids))
	var unknown [][]byte
	for i, tsuid := range tsuids {
		t, ok := known.Get(string(tsuid))
		if all[i] = t; !ok {
			unknown = append(unknown, tsuid)
		}
	}
	if len(unknown) == 0 {
		return all, nil
	}
	named, err := n.catalog.NameSeries(ctx, unknown)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*target, len(named))
	for _, s := range named {
		t := n.target(s.Series)
		found[string(s.TSUID)] = t
		known.Put(string(s.TSUID), t)
	}
	for i, tsuid := range tsuids {
		if all[i] == nil {
			all[i] = found[string(tsuid)]
		}
	}
	return all, nil
}

// target adds external labels and relabels, as Prometheus does.
func (n *names) target(s storage.Series) *target {
	b := labels.NewBuilder(n.toLabels(s))
	n.external.Range(func(l labels.Label) {
		if b.Get(l.Name) == "" {
			b.Set(l.Name, l.Value)
		}
	})
	if !relabel.ProcessBuilder(b, n.rules...) {
		return &target{drop: true}
	}
	ls := b.Labels()
	if ls.IsEmpty() {
		return &target{drop: true}
	}
	return &target{labels: ls, metric: s.Metric, hash: ls.Hash()}
}
