package e2e_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
)

// testTSDReadsUs: a real TSD reads what the adapter wrote: points bit for bit, tags, names and
// series.
func testTSDReadsUs(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t)
	want := writeForTSD(t, a.client)
	d := s.startTSD(t, false)

	ask := func() (pointSet, error) {
		return d.points(t, "reads_total", epoch.Add(-time.Hour), epoch.Add(3*time.Hour))
	}
	// at once, except points that are buffered
	eventually(t, waitTimeout, "all rows in the table", func() error {
		got, err := ask()
		if err == nil && !cmp.Equal(want, got) {
			err = fmt.Errorf("%d of %d series", len(got), len(want))
		}
		return err
	})
	want.check(t, "TSD query", d.mustPoints(t, "reads_total", epoch.Add(-time.Hour), epoch.Add(3*time.Hour)))
	checkTSDFilters(t, d)
	checkTSDNames(t, d)
	if len(s.flags) == 0 { // buffered points are put later
		checkTSDSees(t, a, d)
	}
}

// writeForTSD writes series of every shape to the metric reads_total and returns what a TSD must
// see: names as they are stored, and no sample that OpenTSDB has no form for.
func writeForTSD(t *testing.T, c client) pointSet {
	t.Helper()
	want := pointSet{}
	many := []string{"__name__", "reads_total"}
	for i := range 12 {
		many = append(many, fmt.Sprintf("tag%02d", i), fmt.Sprintf("value%d", i))
	}
	want.write(t, c, samples(at(0), 1, at(0.001), 0.1, at(1), 2.5, at(3599.999), -1e300, at(7200), math.SmallestNonzeroFloat64), many...)
	want.write(t, c, samples(at(1), 1, at(2), 2, at(2.5), -2.5, at(-10), 1<<40), "__name__", "reads_total", "host", "a")
	want.write(t, c, samples(at(1), 10, at(2), 20), "__name__", "reads_total", "host", "b")

	// A series without labels gets a reserved tag; a character that OpenTSDB does not accept is
	// escaped.
	write := func(stored string, points []prompb.Sample, labels ...string) {
		t.Helper()
		c.Write(t, series(points, labels...)).ok(t)
		for _, p := range points {
			if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
				want.add(stored, p.Timestamp, p.Value)
			}
		}
	}
	write(keyText("__name__", "reads_total", "-_", "1"), samples(at(5), 5), "__name__", "reads_total")
	write(keyText("__name__", "reads_total", "instance", "_-localhost_.9090"), samples(at(6), 6), "__name__", "reads_total", "instance", "localhost:9090")
	write(keyText("__name__", "reads_total", "host", "odd"),
		samples(at(1), 1, at(2), math.NaN(), at(3), math.Inf(1), at(3.5), math.Inf(-1), at(4), 4, at(5), math.Float64frombits(value.StaleNaN), at(5.25), 5),
		"__name__", "reads_total", "host", "odd")
	writeObjectsOnly(t, c)
	return want
}

// writeObjectsOnly writes a series with floats, histograms and exemplars in one row, and one
// without any float.
func writeObjectsOnly(t *testing.T, c client) {
	t.Helper()
	for _, host := range []string{"odd", "objects"} {
		ts := series(nil, "__name__", "reads_total", "host", host)
		for i := range 3 {
			ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(at(100+float64(i)*0.5), tsdbutil.GenerateTestHistogram(int64(i))))
		}
		ts.Exemplars = []prompb.Exemplar{{Labels: []prompb.Label{{Name: "trace", Value: "x"}}, Value: 1, Timestamp: at(1)}}
		c.Write(t, ts).ok(t)
	}
}

// checkTSDFilters groups, filters and aggregates our series through the TSD.
func checkTSDFilters(t *testing.T, d tsd) {
	t.Helper()
	for _, c := range []struct {
		m    string
		want string // tags and points of each series
	}{
		{"sum:reads_total{}{host=literal_or(a|b)}", "{1=11 2=22 2.5=-2.5}"},
		{"sum:reads_total{host=b}", "host=b {1=10 2=20}"},
		{"avg:reads_total{host=wildcard(a*)}", "host=a {1=1 2=2 2.5=-2.5}"},
		{"sum:10s-max:reads_total{host=odd}", "host=odd {0=5}"},
		{"none:reads_total{tag11=value11}", "tag00=value0"},
	} {
		found, err := d.Query(t, c.m, epoch, epoch.Add(10*time.Second))
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, one := range found {
			got = append(got, one.summary())
		}
		slices.Sort(got)
		if text := strings.Join(got, "; "); !strings.Contains(text, c.want) {
			t.Errorf("TSD query %s = %s, want %s", c.m, text, c.want)
		}
	}
}

// summary returns the tags and points of a series, in seconds after the epoch of the tests.
func (s tsdSeries) summary() string {
	var tags, points []string
	for key, value := range s.Tags {
		tags = append(tags, key+"="+value)
	}
	for _, p := range s.DPs {
		at, _ := p[0].Float64()
		v, _ := p[1].Float64()
		points = append(points, fmt.Sprintf("%v=%v", (at-float64(epoch.UnixMilli()))/1000, v))
	}
	slices.Sort(tags)
	return strings.TrimSpace(strings.Join(tags, " ") + " {" + strings.Join(points, " ") + "}")
}

// checkTSDNames looks for our names in suggest and for our series in lookup, which reads tsdb-meta.
func checkTSDNames(t *testing.T, d tsd) {
	t.Helper()
	for _, c := range []struct {
		kind, prefix string
		want         []string
	}{
		{"metrics", "", []string{"reads_total"}},
		{"tagk", "h", []string{"host"}},
		{"tagk", "tag", []string{"tag00", "tag01", "tag02", "tag03", "tag04", "tag05", "tag06", "tag07", "tag08", "tag09", "tag10", "tag11"}},
		{"tagk", "-", []string{"-_"}},
		{"tagv", "a", []string{"a"}},
		{"tagv", "_-l", []string{"_-localhost_.9090"}},
		{"tagv", "nobody", []string{}},
	} {
		if diff := cmp.Diff(c.want, d.Suggest(t, c.kind, c.prefix)); diff != "" {
			t.Errorf("suggest %s %q (-want +got):\n%s", c.kind, c.prefix, diff)
		}
	}
	hosts := []string{
		keyText("__name__", "reads_total", "host", "a"), keyText("__name__", "reads_total", "host", "b"),
		keyText("__name__", "reads_total", "host", "objects"), keyText("__name__", "reads_total", "host", "odd"),
	}
	if diff := cmp.Diff(hosts, d.Lookup(t, "reads_total{host=*}")); diff != "" {
		t.Errorf("lookup of host=* (-want +got):\n%s", diff)
	}
	if all := d.Lookup(t, "reads_total"); len(all) != 7 {
		t.Errorf("lookup finds %d series, want 7: %v", len(all), all)
	}
}

// checkTSDSees writes a new series and a new point while the TSD runs: its next query must return
// both.
func checkTSDSees(t *testing.T, a *adapter, d tsd) {
	t.Helper()
	want := pointSet{}
	for i := range 3 {
		want.write(t, a.client, samples(at(float64(i)), i), "__name__", "fresh", "host", fmt.Sprint("h", i))
		want.write(t, a.client, samples(at(float64(i)+0.5), i), "__name__", "fresh", "host", "h0")
		want.check(t, "TSD query right after the write", d.mustPoints(t, "fresh", epoch, epoch.Add(time.Hour)))
	}
}

// testTSDSalted: adapter and TSD read each other's points on salted tables.
func testTSDSalted(t *testing.T, s tables) {
	s.flags = []string{"--storage.salt.width=1", "--storage.salt.buckets=4"}
	s.create(t)
	a := s.startAdapter(t)
	d := s.startTSD(t, false, append(withoutMeta(), "tsd.storage.salt.width", "1", "tsd.storage.salt.buckets", "4")...)
	want := pointSet{}
	var points []tsdPoint
	for i := range 12 {
		host := fmt.Sprint("h", i)
		want.write(t, a.client, samples(at(0), i, at(3700), i), "__name__", "salted", "host", host, "by", "us")
		for _, by := range []string{"us", "tsd"} { // into our rows, and into its own
			points = append(points, tsdPoint{Metric: "salted", Timestamp: epoch.Unix() + 5, Value: "7.5", Tags: map[string]string{"host": host, "by": by}})
			want.add(keyText("__name__", "salted", "host", host, "by", by), at(5), 7.5)
		}
	}
	d.Put(t, points...)
	want.check(t, "TSD query", d.mustPoints(t, "salted", epoch, epoch.Add(3*time.Hour)))
	want.check(t, "remote read", ourPoints(t, a.client, "salted", epoch, epoch.Add(3*time.Hour)))
	buckets := map[byte]bool{}
	rows, _ := s.dataCells(t)
	for row := range rows {
		buckets[row[0]] = true
	}
	if len(buckets) < 2 {
		t.Errorf("%d rows stand in buckets %v only: nothing was salted", len(rows), buckets)
	}
}

// testTSDReadsBuffered is testTSDReadsUs with points that are put as whole rows, from the log and
// the head.
func testTSDReadsBuffered(t *testing.T, s tables) {
	s.flags = []string{"--write.mode=buffered", "--write.log.path=" + t.TempDir(), "--write.buffer.flush-interval=100ms"}
	testTSDReadsUs(t, s)
}
