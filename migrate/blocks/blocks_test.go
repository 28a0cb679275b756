package blocks

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

const (
	minute = promtest.DataMinute
	hour   = promtest.DataHour
	begin  = promtest.DataBegin
)

// answer returns what Prometheus answers from a directory.
func answer(t *testing.T, dir string, match ...*labels.Matcher) promtest.Samples {
	t.Helper()
	db, err := tsdb.OpenDBReadOnly(dir, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return promtest.SamplesOf(t, db, match...)
}

// read returns what Dir reads, and everything else than samples.
func read(t *testing.T, o Options) (all promtest.Samples, rest []string, damaged []Damage) {
	t.Helper()
	o.Temp = t.TempDir()
	if o.To == 0 {
		o.From, o.To = math.MinInt64, math.MaxInt64
	}
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(o.Temp); err != nil || len(left) > 0 {
			t.Errorf("%v, %v are left", left, err)
		}
	}()
	all, damaged = promtest.Samples{}, d.Damaged()
	for i := range d.Pieces() {
		found, err := d.Read(t.Context(), i, func(b *columns.Batch) error {
			for n, ref := range b.Points.Refs {
				all.Add(b.Labels[ref], b.Points.Times[n], fmt.Sprintf("%x", math.Float64bits(b.Points.Values[n])))
			}
			for _, ob := range b.Points.Objects {
				if ob.Kind == storage.KindHistogram {
					all.Add(b.Labels[ob.Ref], ob.Time, fmt.Sprintf("%x <nil>", ob.Data))
				} else {
					rest = append(rest, fmt.Sprintf("%s %d %d", b.Labels[ob.Ref], ob.Time, ob.Kind))
				}
			}
			for family, m := range b.Metadata {
				rest = append(rest, fmt.Sprint(family, m))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		damaged = append(damaged, found...)
	}
	return all, rest, damaged
}

// TestRead: what is read of a data directory is what Prometheus answers from it, in all bits, and the
// directory stays as it is.
func TestRead(t *testing.T) {
	dir := promtest.DataDir(t)
	before := listing(t, dir)
	want := answer(t, dir)
	got, rest, damaged := read(t, Options{Dir: dir})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(want) < 12*7*60 || len(damaged) > 0 {
		t.Errorf("%d samples, damaged: %v", len(want), damaged)
	}
	if want := []string{`{__name__="m1", n="7"} 1700035200000 3`, "m1{counter bytes Some.}"}; !cmp.Equal(rest, want) {
		t.Errorf("%q, want %q", rest, want)
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// listing returns the files of a directory with their sizes.
func listing(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			all[path] = info.Size() + info.ModTime().UnixNano()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReadSome reads series by matchers, a time, and with more labels.
func TestReadSome(t *testing.T) {
	dir := promtest.DataDir(t)
	one, two := labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, "m1"), labels.MustNewMatcher(labels.MatchEqual, "n", "4")
	o := Options{Dir: dir, Match: [][]*labels.Matcher{{one}, {two}}, From: begin + hour, To: begin + 4*hour, Labels: labels.FromStrings("from", "x")}
	want := promtest.Samples{}
	for _, m := range []*labels.Matcher{one, two} {
		for key, text := range answer(t, dir, m) {
			var at int64
			ls, rest, _ := strings.Cut(key, "} ")
			if _, err := fmt.Sscan(rest, &at); err != nil {
				t.Fatal(err)
			}
			if at >= o.From && at <= o.To {
				want[strings.Replace(ls, `", n="`, `", from="x", n="`, 1)+"} "+rest] = text
			}
		}
	}
	got, _, _ := read(t, o)
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Error(len(got), diff)
	}
}
