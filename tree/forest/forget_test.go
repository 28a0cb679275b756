package forest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

func forgetTables() []kv.Table {
	o := DefaultOptions()
	return []kv.Table{
		{Name: o.TreeTable, Families: []string{schema.FamilyData}},
		{Name: o.UIDTable, Families: []string{schema.FamilyID, schema.FamilyName}},
	}
}

// forgetTrees are trees in which paths are shared, split and refused.
func forgetTrees(t *testing.T, db kv.KV) {
	t.Helper()
	for _, d := range []tree.Definition{
		{
			Tree:  schema.Tree{Name: "shared", Enabled: true, StoreFailures: true},
			Rules: []schema.TreeRule{{Type: "METRIC", Separator: `\.`}},
		},
		{
			Tree:  schema.Tree{Name: "strict", Enabled: true, StoreFailures: true, StrictMatch: true},
			Rules: []schema.TreeRule{{Type: "TAGK", Field: "dc"}, {Type: "METRIC", Separator: `\.`, Level: 1}, {Type: "TAGK", Field: "host", Level: 2}},
		},
		{
			Tree:  schema.Tree{Name: "disabled"},
			Rules: []schema.TreeRule{{Type: "METRIC", Separator: `\.`}, {Type: "TAGK", Field: "host", Level: 1}},
		},
	} {
		if _, err := NewDefinitions(db, "tsdb-tree").Declare(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
}

// forgetSeries are series of few names, so that they meet in branches and leaves. With alike names
// share hashes.
func forgetSeries(r *rand.Rand, n int, alike bool) []NewSeries {
	names := []string{"a", "b", "c", "dd", "e.f"}
	if alike {
		names = []string{"Aa", "BB", "AaBB", "BBAa", "a"}
	}
	name := func() string { return names[r.IntN(len(names))] }
	var all []NewSeries
	for i := range n {
		s := numbered(i, name())
		for range r.IntN(4) {
			s.Metric += "." + name()
		}
		switch r.IntN(4) {
		case 0:
			s.Tags = []storage.Tag{{Key: "-_", Value: "1"}}
		case 1:
			s.Tags = []storage.Tag{{Key: "host", Value: name()}}
		default:
			s.Tags = []storage.Tag{{Key: "dc", Value: name()}, {Key: "host", Value: name()}}
		}
		all = append(all, s)
	}
	return all
}

// A forgetModel is a table with faults, the processes that use it, and the series that live.
type forgetModel struct {
	t       *testing.T
	r       *rand.Rand
	o       Options
	db      kv.KV
	faulty  *kvtest.Faulty
	forests []*Forest
	all     []NewSeries
	living  map[string]NewSeries
	halfway map[string]NewSeries // of which a call failed
	names   string
	rows    bool // rows are compared too
	// clears is true when trees are cleared too; cleared are those of which a call failed
	clears  bool
	cleared map[uint16]bool
	// renames is true when series get other names too, of the same kind as at first
	renames, alike bool
	calm           bool // no call fails
}

func (m *forgetModel) start() *Forest {
	f := New(m.faulty, m.o)
	f.clearRows = 3
	for {
		if _, err := f.Load(m.t.Context()); err == nil {
			return f
		}
	}
}

// call calls a process, perhaps over an engine that fails.
func (m *forgetModel) call(do func(ctx context.Context, series []NewSeries) error, series []NewSeries) bool {
	if m.r.IntN(3) == 0 && !m.calm {
		methods := []kvtest.Method{kvtest.Apply, kvtest.Apply, kvtest.Scan, kvtest.Get, kvtest.CheckAndPut}
		whens := []kvtest.When{kvtest.Before, kvtest.Midway, kvtest.After}
		m.faulty.Fail(methods[m.r.IntN(len(methods))], 1+m.r.IntN(5), whens[m.r.IntN(len(whens))])
	}
	err := do(m.t.Context(), series)
	if err != nil && !errors.Is(err, kvtest.ErrFault) {
		m.t.Fatalf("%s: %v", m.names, err)
	}
	return err == nil
}

// pick gives some of the series that are in a state.
func (m *forgetModel) pick(in map[string]NewSeries, want bool) (series []NewSeries) {
	for _, s := range m.all {
		if _, is := in[string(s.TSUID)]; is == want && m.r.IntN(4) == 0 {
			series = append(series, s)
		}
	}
	return series
}

func (m *forgetModel) step() {
	f := m.forests[m.r.IntN(len(m.forests))]
	if m.clears && m.r.IntN(5) == 0 {
		m.clear(f, uint16(1+m.r.IntN(3)))
		return
	}
	if m.renames && m.r.IntN(4) == 0 {
		m.rename(f)
		return
	}
	switch m.r.IntN(10) {
	case 0, 1, 2, 3:
		series := m.pick(m.living, false)
		ok := m.call(f.Observe, series)
		for _, s := range series {
			if delete(m.halfway, string(s.TSUID)); ok {
				m.living[string(s.TSUID)] = s
			} else {
				m.halfway[string(s.TSUID)] = s
			}
		}
	case 4, 5, 6:
		series := m.pick(m.living, true)
		if m.r.IntN(5) == 0 { // some that are not there, or halfway
			series = append(series, m.pick(m.living, false)...)
		}
		m.forget(f, series)
	case 7:
		m.forget(f, m.pick(m.halfway, true))
	case 8: // a crash
		m.forests[m.r.IntN(len(m.forests))] = m.start()
	case 9:
		for _, f := range m.forests {
			m.load(f, m.r.IntN(2) == 0)
		}
	}
}

func (m *forgetModel) forget(f *Forest, series []NewSeries) {
	ok := m.call(f.Forget, series)
	for _, s := range series {
		if delete(m.living, string(s.TSUID)); ok {
			delete(m.halfway, string(s.TSUID))
		} else {
			m.halfway[string(s.TSUID)] = s
		}
	}
}

// catchUp lets a process follow what others have done: it loads, or refreshes and follows in any
// order. Some of the series that it follows were registered again.
func (m *forgetModel) catchUp(f *Forest) {
	way := m.r.IntN(3)
	if m.load(f, way == 0); way == 0 {
		return
	}
	var dead []NewSeries
	for _, s := range m.all {
		if _, lives := m.living[string(s.TSUID)]; !lives {
			dead = append(dead, s)
		}
	}
	dead = append(dead, m.pick(m.living, true)...)
	for !m.call(f.Forgotten, dead) {
	}
	if way == 1 {
		m.load(f, false)
	}
}

func (m *forgetModel) load(f *Forest, whole bool) {
	for {
		var err error
		if whole {
			_, err = f.Load(m.t.Context())
		} else {
			_, err = f.Refresh(m.t.Context())
		}
		if err == nil {
			return
		}
	}
}

// settle finishes what is halfway.
func (m *forgetModel) settle() {
	for id := range m.cleared {
		m.clear(m.forests[0], id)
	}
	for len(m.halfway) > 0 {
		m.forget(m.forests[0], slices.Collect(maps.Values(m.halfway)))
	}
}

// check compares with a forest that is built anew of the series that live.
func (m *forgetModel) check() {
	t := m.t
	t.Helper()
	if !m.o.Exclusive { // another process may know what is gone, until it loads or follows
		for _, f := range m.forests {
			m.catchUp(f)
		}
	}
	anew := kv.NewMem(forgetTables()...)
	forgetTrees(t, anew)
	o := m.o
	o.Exclusive = true
	built := New(anew, o)
	if _, err := built.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	have := cells(t, m.db)
	m.checkDead(have)
	for _, holders := range []bool{true, false} {
		for _, s := range m.all {
			if _, lives := m.living[string(s.TSUID)]; !lives {
				continue
			}
			// one tree after the other cannot be observed: the holders of all come first
			if m.holds(have, s) == holders {
				if err := built.Observe(t.Context(), []NewSeries{s}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want, err := built.Find(t.Context(), "**", FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fresh := New(m.db, m.o)
	if _, err := fresh.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, f := range append(slices.Clone(m.forests), fresh) {
		got, err := f.Find(t.Context(), "**", FindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(printNodes(want), printNodes(got)); diff != "" {
			t.Fatalf("%s: forest %d (-built anew +got):\n%s", m.names, i, diff)
		}
		if m.o.Exclusive && (f.Index().Leaves() != fresh.Index().Leaves() || f.Index().Branches() != fresh.Index().Branches()) {
			t.Fatalf("%s: forest %d has %d leaves and %d branches, a new one %d and %d", m.names, i,
				f.Index().Leaves(), f.Index().Branches(), fresh.Index().Leaves(), fresh.Index().Branches())
		}
		m.checkShared(f, fresh)
	}
	if m.rows {
		m.checkRows(cells(t, anew), have)
	}
}

func (m *forgetModel) checkShared(f, fresh *Forest) {
	m.t.Helper()
	for _, id := range fresh.Index().Trees() {
		if got, want := f.Index().Shared(id).Series, fresh.Index().Shared(id).Series; m.o.Exclusive && got != want {
			m.t.Fatalf("%s: tree %d has %d series that share leaves, a new one %d", m.names, id, got, want)
		}
	}
}

// holds reports whether a series has a leaf of its own.
func (m *forgetModel) holds(have map[string]string, s NewSeries) bool {
	for cell, value := range have {
		if leaf, err := schema.ParseLeaf([]byte(value)); err == nil && strings.Contains(cell, " leaf:") && bytes.Equal(leaf.TSUID, s.TSUID) {
			return true
		}
	}
	return false
}

// checkDead fails the test if a cell is about a series that does not live.
func (m *forgetModel) checkDead(have map[string]string) {
	m.t.Helper()
	for cell, value := range have {
		for _, s := range m.all {
			if _, lives := m.living[string(s.TSUID)]; lives {
				continue
			}
			text := schema.FormatTSUID(s.TSUID)
			about := cell
			if strings.Contains(cell, " leaf:") {
				about = value
			}
			if strings.Contains(about, text) {
				m.t.Fatalf("%s: %s = %s is about a forgotten series", m.names, cell, value)
			}
		}
	}
}

// checkRows compares rows. Which of several series has a leaf, and of whom a series was told that
// it has the leaf, depends on the order.
func (m *forgetModel) checkRows(want, have map[string]string) {
	m.t.Helper()
	form := func(all map[string]string) map[string]int {
		n := map[string]int{}
		for cell := range all {
			row, column, _ := strings.Cut(cell, " ")
			if kind, _, ok := strings.Cut(column, ":"); ok && kind != "leaf" {
				column = kind
			}
			if len(row) == 4 && (column == "branch" || column == clearedColumn) {
				continue // the root stays
			}
			n[row+" "+column]++
		}
		return n
	}
	if diff := cmp.Diff(form(want), form(have)); diff != "" {
		m.t.Fatalf("%s: rows (-built anew +got):\n%s", m.names, diff)
	}
}

// Whatever is observed, forgotten, observed again, and interrupted, by one process or several:
// what is left equals a forest of the series that live.
func TestForgetModel(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		for _, engine := range []string{"mem", "pebble", "shared"} {
			for _, alike := range []bool{false, true} {
				forgetRun(t, uint64(seed), engine, alike)
			}
		}
	}
}

func forgetRun(t *testing.T, seed uint64, engine string, alike bool, change ...func(*forgetModel)) {
	t.Helper()
	m := &forgetModel{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), o: DefaultOptions(), living: map[string]NewSeries{}, halfway: map[string]NewSeries{},
		names: fmt.Sprintf("seed %d on %s, alike %v", seed, engine, alike),
	}
	for _, c := range change {
		c(m)
	}
	m.o.DefaultTree, m.o.Plain, m.o.Concurrency = "graphite", plain, 4
	processes := 1
	switch engine {
	case "mem":
		m.db, m.o.Exclusive = kv.NewMem(forgetTables()...), true
	case "pebble":
		e, err := pebble.Open(pebble.Options{InMemory: true, Tables: forgetTables()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Close() }()
		m.db, m.o.Exclusive = e, true
	default:
		m.db, processes = kv.NewShared(forgetTables()...), 2
	}
	m.rows = m.o.Exclusive && !alike
	forgetTrees(t, m.db)
	m.faulty = kvtest.New(m.db)
	m.all = forgetSeries(m.r, 40, alike)
	for range processes {
		m.forests = append(m.forests, m.start())
	}
	for range 6 {
		for range 8 {
			m.step()
		}
		m.settle()
		if m.clears {
			m.resync()
		}
		m.check()
	}
	for _, s := range m.living {
		m.halfway[string(s.TSUID)] = s
	}
	clear(m.living)
	m.settle()
	m.check()
	if !m.o.Exclusive {
		return
	}
	for cell := range cells(t, m.db) {
		if row, column, _ := strings.Cut(cell, " "); len(row) != 4 || column != "branch" && column != clearedColumn {
			t.Fatalf("%s: everything is forgotten, and %s is there", m.names, cell)
		}
	}
}

// Series are forgotten while others are put under the same branches and leaves: none of those is
// lost, and a new process finds the same.
func TestForgetRaces(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		db, o := plainTables()
		var engine kv.KV = db
		if !exclusive {
			engine = kv.NewShared(forgetTables()...)
		}
		o.Exclusive = exclusive
		forgetTrees(t, engine)
		f := New(engine, o)
		if _, err := f.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		var want []string
		for worker := range 4 {
			for i := range 60 {
				want = append(want, fmt.Sprintf("%X", numbered(1000*(worker+1)+i, "").TSUID))
			}
			group.Go(func() {
				for i := range 60 {
					metric := fmt.Sprintf("a.b%d.c%d", i%3, i%7)
					passing, staying := numbered(1000*(worker+1)+500+i, metric), numbered(1000*(worker+1)+i, metric)
					if worker%2 == 0 {
						passing.Metric = fmt.Sprintf("a.only%d.%d.x", worker, i)
						staying.Metric = passing.Metric + "y"
					}
					ctx := context.Background()
					if err := f.Observe(ctx, []NewSeries{passing}); err != nil {
						t.Error(err)
					}
					other := make(chan error)
					go func() { other <- f.Observe(ctx, []NewSeries{staying}) }()
					if err := errors.Join(f.Forget(ctx, []NewSeries{passing}), <-other); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Go(func() {
			for range 20 {
				if _, err := f.Load(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
		group.Wait()
		for name, forest := range map[string]*Forest{"running": f, "new": New(engine, o)} {
			if name == "new" {
				if _, err := forest.Load(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			nodes, err := forest.Find(t.Context(), "**", FindOptions{Trees: []uint16{1}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range nodes {
				for _, tsuid := range n.Series {
					got = append(got, fmt.Sprintf("%X", tsuid))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("exclusive %v, %s (-want +got):\n%s", exclusive, name, diff)
			}
		}
	}
}
