package source

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A TSD that keeps no meta wrote the series: render finds them by their leaves and by their tags,
// and recording their steps writes the rows of tsdb-meta that they lack, as registration would.
func TestSeriesWithoutMeta(t *testing.T) {
	db := graphitetest.Tables()
	writer := newFixtureOver(graphitetest.Shared(t, db))
	for i := range 40 {
		writer.Points(t, fmt.Sprintf("a.h%02d.x", i), every(10_000, 30))
		writer.Points(t, fmt.Sprintf("req;host=%02d", i), every(30_000, 30))
	}
	var deletes []kv.Mutation
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: schema.FamilyMeta}) {
		if err != nil {
			t.Fatal(err)
		}
		deletes = append(deletes, kv.Mutation{Key: row.Key, DeleteRow: true})
	}
	if err := db.Apply(t.Context(), "tsdb-meta", schema.FamilyMeta, deletes); err != nil {
		t.Fatal(err)
	}
	w := newFixtureOver(graphitetest.Shared(t, db))
	for _, c := range []struct {
		f    eval.Fetch
		step int64
	}{
		{eval.Fetch{Pattern: "a.*.x"}, 10},
		{eval.Fetch{Pattern: "seriesByTag('name=req')", Tags: []string{"name=req"}}, 30},
	} {
		c.f.From, c.f.Until, c.f.Now = webNow, webNow+60, webNow+600
		out, err := w.sources.Open().Fetch(t.Context(), []eval.Fetch{c.f})
		if err != nil || len(out[0]) != 40 {
			t.Fatalf("%s: %d series, %v", c.f.Pattern, len(out[0]), err)
		}
		for _, s := range out[0] {
			if s.Step != c.step || len(s.Values) != int(60/c.step) || s.Values[0] != 1 {
				t.Errorf("%s: %s", c.f.Pattern, showSeries([]*series.Series{s}))
			}
		}
	}
	settleAll(t, w, 80)
	rows := 0
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: schema.FamilyMeta}) {
		if err != nil || len(row.Cells) != 2 {
			t.Fatal(row, err)
		}
		rows++
	}
	if rows != len(deletes) {
		t.Errorf("%d rows of tsdb-meta, want %d", rows, len(deletes))
	}
}

// settleAll runs the API until nothing waits and n steps are in documents.
func settleAll(t *testing.T, w *fixture, n int) {
	t.Helper()
	var refs []storage.Ref
	found, err := w.Find(t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		refs = append(refs, f.Ref)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.sources.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	kept := 0
	for deadline := time.Now().Add(20 * time.Second); kept < n && time.Now().Before(deadline); {
		values, err := w.Documents().SeriesCustom(t.Context(), refs, stepKey)
		if err != nil {
			t.Fatal(err)
		}
		kept = 0
		for _, v := range values {
			if v != "" {
				kept++
			}
		}
	}
	if kept != n {
		t.Errorf("%d steps in documents, want %d", kept, n)
	}
}

// The recorded answers do not depend on who filled the store: over a store that another process
// filled they are the same.
func TestRecordedOnSharedTables(t *testing.T) {
	db := graphitetest.Tables()
	withRules := func(o *Options) { o.Schemas, o.Aggregation = graphitetest.CarbonFiles(t, "testdata/carbon") }
	newFixtureOver(graphitetest.Shared(t, db), withRules).Add(t, graphitetest.Open(t, "../eval/testdata/feed.txt.gz"))
	alone, shared := newFixture(t, withRules), newFixtureOver(graphitetest.Shared(t, db), withRules)
	fetches := []eval.Fetch{
		{Pattern: "**"},
		{Pattern: "servers.*.cpu.{0,1}.[us]*"},
		{Pattern: "odd.*"},
		{Pattern: "req.rate;dc=dc1;env=prod;server=s1"},
		{Pattern: "seriesByTag(...)", Tags: []string{"name=~.*", "server!="}},
	}
	for i := range fetches {
		fetches[i].From, fetches[i].Until, fetches[i].Now = 1741050007, 1741051207, webNow
	}
	alone.Add(t, graphitetest.Open(t, "../eval/testdata/feed.txt.gz"))
	want, err := alone.sources.Open().Fetch(t.Context(), fetches)
	if err != nil {
		t.Fatal(err)
	}
	got, err := shared.sources.Open().Fetch(t.Context(), fetches)
	if err != nil {
		t.Fatal(err)
	}
	for i := range fetches {
		if showSeries(got[i]) != showSeries(want[i]) || len(want[i]) == 0 {
			t.Errorf("%s: %d series differ from %d", fetches[i].Pattern, len(got[i]), len(want[i]))
		}
	}
}
