package source

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// leaves are trees that have the given leaves, by path, in any order.
type leaves map[string][][]byte

func (l leaves) Find(_ context.Context, pattern string, _ forest.FindOptions) ([]forest.Node, error) {
	var nodes []forest.Node
	for path, series := range l {
		if path == pattern || strings.HasSuffix(pattern, "*") && strings.HasPrefix(path, pattern[:len(pattern)-1]) {
			nodes = append(nodes, forest.Node{Path: path, Series: series})
		}
	}
	return nodes, nil
}

func (l leaves) Edition() (forest.Edition, bool) { return forest.Edition{}, false }

func (l leaves) Display(uint16) (tree.Display, bool) { return tree.Display{}, false }

// counting counts the selected series.
type counting struct {
	storage.Querier
	mu    sync.Mutex // guards asked
	asked []storage.Query
}

func (c *counting) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	if q.Start <= q.End {
		c.mu.Lock()
		c.asked = append(c.asked, q)
		c.mu.Unlock()
	}
	return c.Querier.SelectParts(ctx, q, worker)
}

// take returns the reads since the last call: series, first and last second of each.
func (c *counting) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var reads []string
	for _, q := range c.asked {
		reads = append(reads, fmt.Sprintf("%d:%d..%d", len(q.Refs), q.Start/1000, q.End/1000))
	}
	c.asked = nil
	return strings.Join(reads, " ")
}

func schemasOf(t testing.TB, text string) *conf.Schemas {
	t.Helper()
	s, err := conf.ParseSchemas("storage-schemas.conf", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const tens = "[all]\npattern = .*\nretentions = 10s:5y\n"

// showSeries is name, start, step and values of each series.
func showSeries(list []*series.Series) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s %d/%d", s.Name, s.Start, s.Step)
		for _, v := range s.Values {
			if python.IsNone(v) {
				b.WriteString(" -")
			} else {
				fmt.Fprintf(&b, " %v", v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func fetchOne(t *testing.T, s eval.Source, f eval.Fetch) string {
	t.Helper()
	if f.Now == 0 {
		f.Now = 1_000_000
	}
	out, err := s.Fetch(t.Context(), []eval.Fetch{f})
	if err != nil {
		return "error: " + err.Error()
	}
	return showSeries(out[0])
}

// Each of several series under one path gets a line.
func TestSeveralSeriesOfAPath(t *testing.T) {
	c := &counting{}
	w := newFixture(t, func(o *Options) {
		c.Querier = o.Store
		o.Store, o.Schemas = c, schemasOf(t, tens)
	})
	add := func(metric string, pairs ...float64) {
		ref := w.Register(t, []storage.Series{{Metric: metric, Tags: []storage.Tag{{Key: "k", Value: "v"}}}})[0]
		var b storage.Batch
		for i := 0; i < len(pairs); i += 2 {
			b.Add(ref, int64(pairs[i]*1000), pairs[i+1])
		}
		if err := w.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	add("old", 1010, 1, 1020, 1, 1033, 1, 1045, 1, 1050, 1)
	add("new", 1021, 2, 1030, 2, 1045, math.NaN(), 1051, math.NaN(), 1060, 2)
	add("third", 1049.999, 3)
	var tsuids [][]byte
	for i := range 3 {
		tsuids = append(tsuids, []byte{0, 0, byte(i + 1), 0, 0, 1, 0, 0, 1})
	}
	w.sources.o.Trees = leaves{"a.b": tsuids, "a.c": {{9}, tsuids[1]}, "a.d": {{9}}, "a.e": nil}
	got := fetchOne(t, w.sources.Open(), eval.Fetch{Pattern: "a.*", From: 1000, Until: 1060})
	// a.c has a leaf whose TSUID does not have these widths, and a.d has only such a leaf.
	want := "a.b;k=v;metric=new 1010/10 - 2 2 - - 2\na.b;k=v;metric=old 1010/10 1 1 1 1 1 -\na.b;k=v;metric=third 1010/10 - - - 3 - -\n" +
		"a.c 1010/10 - 2 2 - - 2\n"
	if got != want {
		t.Errorf("fetched\n%swant\n%s", got, want)
	}
	if reads := c.take(); reads != "3:1010..1069" {
		t.Errorf("read %s, want each of three series once", reads)
	}
}

// What was read is not read again; of a longer window only the missing part is read.
func TestReadOnce(t *testing.T) {
	c := &counting{}
	w := newFixture(t, func(o *Options) {
		c.Querier = o.Store
		o.Store, o.Schemas = c, schemasOf(t, "[all]\npattern = .*\nretentions = 10s:1h,60s:5y\n")
		_, o.Aggregation = graphitetest.CarbonFiles(t, "testdata/carbon")
	})
	for _, name := range []string{"a.x", "a.y"} {
		w.Points(t, name, []int64{800e3, 990e3, 1020e3, 1050e3, 1200e3})
	}
	s := w.sources.Open()
	for _, step := range []struct {
		pattern          string
		from, until, now int64
		values, reads    string
	}{
		{"a.*", 1000, 1030, 1500, "a.x 1010/10 - 2 -\na.y 1010/10 - 2 -\n", "2:1010..1039"},
		{"a.x", 1000, 1030, 1500, "a.x 1010/10 - 2 -\n", ""},
		{"a.y", 1010, 1020, 1500, "a.y 1020/10 2\n", ""},
		{"a.y", 980, 1050, 1500, "a.y 990/10 1 - - 2 - - 3\n", "1:990..1009 1:1040..1059"},
		{"a.*", 980, 1050, 1500, "a.x 990/10 1 - - 2 - - 3\na.y 990/10 1 - - 2 - - 3\n", "1:990..1009 1:1040..1059"},
		{"a.y", 780, 800, 1500, "a.y 790/10 - 0\n", "1:790..809"},     // apart from what was read
		{"a.y", 970, 980, 1500, "a.y 980/10 -\n", "1:980..989"},       // outside of it
		{"a.y", 970, 1050, 1500, "a.y 980/10 - 1 - - 2 - - 3\n", ""},  // and so in one
		{"a.y", 970, 1070, 9000, "a.y 1020/60 2.5\n", "1:1020..1079"}, // another archive
		{"a.y", 2000, 2100, 1500, "", ""},                             // the future
		{"nosuch.*", 2000, 2100, 2500, "", ""},                        // nothing
	} {
		got := fetchOne(t, s, eval.Fetch{Pattern: step.pattern, From: step.from, Until: step.until, Now: step.now})
		reads := c.take()
		if got != step.values || !sameWords(reads, step.reads) {
			t.Errorf("%s %d..%d: read %q and fetched\n%swant %q and\n%s", step.pattern, step.from, step.until, reads, got, step.reads, step.values)
		}
	}
	// One fetch has the same series twice, in two windows.
	out, err := w.sources.Open().Fetch(t.Context(), []eval.Fetch{
		{Pattern: "a.x", From: 1000, Until: 1030, Now: 1500}, {Pattern: "a.*", From: 1000, Until: 1030, Now: 1500}, {Pattern: "a.x", From: 980, Until: 1020, Now: 1500},
	})
	if err != nil || showSeries(out[0])+showSeries(out[2]) != "a.x 1010/10 - 2 -\na.x 990/10 1 - - 2\n" {
		t.Errorf("fetched %s and %s, %v", showSeries(out[0]), showSeries(out[2]), err)
	}
}

// sameWords compares lists without their order: reads are parallel.
func sameWords(a, b string) bool {
	count := map[string]int{}
	for w := range strings.FieldsSeq(a) {
		count[w]++
	}
	for w := range strings.FieldsSeq(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestFetchNames(t *testing.T) {
	w := newFixture(t, func(o *Options) { o.Schemas = schemasOf(t, tens) })
	for _, name := range []string{"req;dc=a;host=1", "req;dc=b", "plain.req", "odd;tag", "req"} {
		w.Points(t, name, []int64{1010e3})
	}
	var b storage.Batch
	for _, ref := range w.AddLabels(t,
		labels.FromStrings("__name__", "up", "job", "x"), labels.FromStrings("__name__", "up", "name", "n"), labels.FromStrings("job", "nameless")) {
		b.Add(ref, 1010e3, 1)
	}
	if err := w.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	s := w.sources.Open()
	for _, c := range []struct {
		pattern string
		tags    []string
		want    string
	}{
		{"req;dc=a;host=1", nil, "req;dc=a;host=1 map[dc:a host:1 name:req]\n"},
		{"req;host=1;dc=a", nil, ""}, // not as series are spelled
		{"req;dc=a", nil, ""},        // lacks a tag
		{"odd;tag", nil, "odd;tag map[]\n"},
		{"req", nil, "req map[]\n"},
		{"*.req", nil, "plain.req map[]\n"},
		{"up;job=x", nil, "up;job=x map[job:x name:up]\n"},
		{"..", nil, ""},
		{"", nil, ""},
		{"seriesByTag('dc=~.')", []string{"dc=~."}, "req;dc=a;host=1 map[dc:a host:1 name:req]\nreq;dc=b map[dc:b name:req]\n"},
		{"seriesByTag('name=req')", []string{"name=req"}, "req;dc=a;host=1 map[dc:a host:1 name:req]\nreq;dc=b map[dc:b name:req]\n"},
		{"seriesByTag('name=req','dc!=a')", []string{"name=req", "dc!=a"}, "req;dc=b map[dc:b name:req]\n"},
		{"seriesByTag('job=nameless')", []string{"job=nameless"}, w.Names.ToPath(storageSeries(w, "job", "nameless")) + " map[job:nameless]\n"},
	} {
		out, err := s.Fetch(t.Context(), []eval.Fetch{{Pattern: c.pattern, Tags: c.tags, From: 1000, Until: 1020, Now: 2000}})
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		got := ""
		for _, one := range out[0] {
			got += fmt.Sprintln(one.Name, one.Tags)
		}
		if got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.pattern, got, c.want)
		}
	}
	if _, err := s.Fetch(t.Context(), []eval.Fetch{{Tags: []string{"a!=b"}, From: 1, Until: 2, Now: 3}}); !isInputError(err) {
		t.Errorf("a condition that everything satisfies: %v", err)
	}
	// A label called name is a tag under the escaped key, and is also found under it.
	out, err := s.Fetch(t.Context(), []eval.Fetch{{Tags: []string{"name=up"}, From: 1, Until: 2, Now: 3}})
	if err != nil || len(out[0]) != 2 {
		t.Fatal(out, err)
	}
	for _, one := range out[0] {
		if one.Tags["name"] != "up" || len(one.Tags) != 2 {
			t.Errorf("%s has the tags %v", one.Name, one.Tags)
		}
	}
}

func storageSeries(w *fixture, pairs ...string) storage.Series {
	return w.Names.FromLabels(labels.FromStrings(pairs...))
}

func TestSourceLimits(t *testing.T) {
	c := &counting{}
	w := newFixture(t, func(o *Options) {
		c.Querier = o.Store
		o.Store, o.Schemas, o.Limits = c, schemasOf(t, tens), Limits{Series: 3, Points: 100}
	})
	for i := range 4 {
		w.Points(t, fmt.Sprint("a.", i), []int64{1010e3})
	}
	for _, f := range []struct {
		pattern          string
		from, until, now int64
		want             string
	}{
		{"a.[0-2]", 1000, 1010, 5000, ""},
		{"a.*", 1000, 1010, 5000, "limit exceeded: the targets need 4 series, the limit is 3 (--query.max-series)"},
		{"a.0", 1000, 2000, 5000, ""},
		{"a.0", 1000, 2010, 5000, "limit exceeded: the targets need more than 100 points (--query.max-samples)"},
		{"a.0", 0, math.MaxInt64, math.MaxInt64, "limit exceeded: the targets need more than 100 points (--query.max-samples)"},
	} {
		_, err := w.sources.Open().Fetch(t.Context(), []eval.Fetch{{Pattern: f.pattern, From: f.from, Until: f.until, Now: f.now}})
		reads := c.take()
		if f.want == "" && err != nil || f.want != "" && (err == nil || err.Error() != f.want || !errors.Is(err, storage.ErrLimit) || reads != "") {
			t.Errorf("%s %d..%d: %v after reading %q, want %q", f.pattern, f.from, f.until, err, reads, f.want)
		}
	}
	// The limit applies to all fetches of a request together.
	s := w.sources.Open()
	for i, ok := range []bool{true, false} {
		_, err := s.Fetch(t.Context(), []eval.Fetch{{Pattern: fmt.Sprint("a.", i), From: 1000, Until: 1600, Now: 5000}})
		if (err == nil) != ok {
			t.Errorf("fetch %d: %v", i, err)
		}
	}
}

// failing is a store whose reads fail.
type failing struct {
	storage.Querier
	err error
}

func (f failing) SelectParts(context.Context, storage.Query, func() storage.PartWorker) error {
	return f.err
}

func TestSourceErrors(t *testing.T) {
	away := errors.New("the store is away")
	for _, schemas := range []string{"", tens} {
		w := newFixture(t, func(o *Options) { o.Store, o.Schemas = failing{o.Store, away}, schemasOf(t, schemas) })
		w.Points(t, "a.b", []int64{1010e3})
		if _, err := w.sources.Open().Fetch(t.Context(), []eval.Fetch{{Pattern: "a.b", From: 1000, Until: 1020, Now: 2000}}); !errors.Is(err, away) {
			t.Errorf("Fetch = %v, want %v", err, away)
		}
	}
	w := newFixture(t)
	w.Points(t, "a.b", []int64{1010e3})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.sources.Open().Fetch(ctx, []eval.Fetch{{Pattern: "a.b", From: 1000, Until: 1020, Now: 2000}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch = %v, want %v", err, context.Canceled)
	}
}

// A step survives the process, in the document of the series.
func TestStepsOutliveTheProcess(t *testing.T) {
	w := newFixture(t)
	ref := w.Points(t, "a.b", every(10_000, 100))
	f := eval.Fetch{Pattern: "a.b", From: webNow, Until: webNow + 40, Now: webNow + 2000}
	want := fmt.Sprintf("a.b %d/10 1 2 3 4\n", webNow+10)
	if got := fetchOne(t, w.sources.Open(), f); got != want {
		t.Errorf("fetched %swant %s", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.sources.Run(ctx) }()
	kept := func() string {
		values, err := w.Documents().SeriesCustom(t.Context(), []storage.Ref{ref}, stepKey)
		if err != nil {
			t.Fatal(err)
		}
		return values[0]
	}
	for deadline := time.Now().Add(10 * time.Second); kept() == "" && time.Now().Before(deadline); {
	}
	cancel()
	if err := <-done; err != nil || kept() != "10" {
		t.Fatalf("Run = %v, the document has %q, want 10", err, kept())
	}
	if err := w.Documents().SetSeriesCustom(t.Context(), stepKey, []storage.CustomEdit{{Ref: ref, Old: "10", New: "20"}}); err != nil {
		t.Fatal(err)
	}
	w.sources = New(w.sources.o) // as a new process has them
	if got, want := fetchOne(t, w.sources.Open(), f), fmt.Sprintf("a.b %d/20 3 5\n", webNow+20); got != want {
		t.Errorf("fetched %swant %s", got, want)
	}
}

func isInputError(err error) bool {
	_, ok := errors.AsType[*python.InputError](err)
	return ok
}
