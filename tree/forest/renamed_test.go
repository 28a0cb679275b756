package forest

import (
	"context"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/tree"
)

// rename gives series other names. One process moves them, perhaps after failures, and the others
// follow, which may not know the old names.
func (m *forgetModel) rename(f *Forest) {
	old := m.pick(m.living, true)
	renamed := slices.Clone(old)
	names := forgetSeries(m.r, len(renamed), m.alike)
	for i := range renamed {
		renamed[i].Series = names[i].Series
	}
	m.move(f, old, renamed)
	for _, other := range m.forests {
		if other == f {
			continue
		}
		m.load(other, false)
		if m.r.IntN(2) == 0 {
			m.move(other, old, renamed)
		} else {
			m.move(other, renamed, renamed)
		}
	}
	for _, s := range renamed {
		m.living[string(s.TSUID)] = s
		for i := range m.all {
			if string(m.all[i].TSUID) == string(s.TSUID) {
				m.all[i] = s
			}
		}
	}
}

func (m *forgetModel) move(f *Forest, old, renamed []NewSeries) {
	m.calm = false
	defer func() { m.calm = true }()
	do := func(ctx context.Context, renamed []NewSeries) error { return f.Renamed(ctx, old, renamed) }
	for !m.call(do, renamed) {
	}
}

// Whatever is renamed between what is observed and forgotten, by one process or several, and however
// often a rename fails halfway: what is left equals a forest of the series under their last names.
func TestRenamedModel(t *testing.T) {
	seeds := 8
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		for _, engine := range []string{"mem", "pebble", "shared"} {
			for _, alike := range []bool{false, true} {
				if alike && engine == "shared" {
					continue // another process may show names of equal hashes until it loads the tree again
				}
				forgetRun(t, uint64(seed), engine, alike, func(m *forgetModel) { m.renames, m.alike, m.calm = true, alike, true })
			}
		}
	}
}

// A tree that is disabled keeps what it has of renamed series.
func TestRenamedInDisabledTree(t *testing.T) {
	db := kv.NewMem(forgetTables()...)
	definitions := NewDefinitions(db, "tsdb-tree")
	d := tree.Definition{}
	d.Name, d.Enabled = "once", true
	d.Rules = append(d.Rules, tree.DefaultRule(1))
	if _, err := definitions.Declare(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	f := newForest(t, db, true)
	old := []NewSeries{numbered(1, "a.b")}
	if err := f.Observe(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	want := cells(t, db)
	d.Enabled = false
	if _, err := definitions.Declare(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	f = newForest(t, db, true)
	renamed := []NewSeries{{TSUID: old[0].TSUID, Series: storage.Series{Metric: "c.d", Tags: old[0].Tags}}}
	if err := f.Renamed(t.Context(), old, renamed); err != nil {
		t.Fatal(err)
	}
	for cell, value := range want {
		if got := cells(t, db); got[cell] != value && len(cell) > 9 {
			t.Errorf("%s = %q, want %q", cell, got[cell], value)
		}
	}
}
