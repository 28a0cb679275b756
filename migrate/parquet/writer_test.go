package parquet

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pq "github.com/parquet-go/parquet-go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/storage"
)

// readRow is a row as a reader gets it.
type readRow struct {
	Metric string            `parquet:"metric"`
	Labels map[string]string `parquet:"labels"`
	Time   int64             `parquet:"time,timestamp(millisecond)"`
	Value  *float64          `parquet:"value"`
}

// TestFile: a reader gets the samples that were written, in all groups of rows.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	w, err := NewWriter(dir, 1_700_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	var want []readRow
	batch := &columns.Batch{}
	add := func(ls labels.Labels, metric string, all map[string]string, values ...float64) {
		ref := batch.Series(ls)
		for i, v := range values {
			at := int64(1_700_000_000_000 + 1000*i)
			batch.Points.Add(ref, at, v)
			row := readRow{Metric: metric, Labels: all, Time: at, Value: &v}
			if value.IsStaleNaN(v) {
				row.Value = nil
			}
			want = append(want, row)
		}
	}
	many := make([]float64, groupRows+1000)
	for i := range many {
		many[i] = float64(i % 977)
	}
	add(labels.FromStrings("__name__", "up", "job", "a", "zone", "é"), "up", map[string]string{"job": "a", "zone": "é"}, 1, math.Inf(1), -5e-324, math.Float64frombits(value.StaleNaN), math.NaN())
	add(labels.FromStrings("__name__", "bare"), "bare", map[string]string{}, many...)
	add(labels.FromStrings("job", "nameless"), "", map[string]string{"job": "nameless"}, 2)
	batch.Points.AddObject(batch.Series(labels.FromStrings("__name__", "h")), 1, storage.KindHistogram, nil)
	if err := w.Add(batch); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Written{Name: "20231114T221320Z.parquet", Samples: int64(len(want)), Histograms: 1}, written); diff != "" {
		t.Error(diff)
	}
	got, err := pq.ReadFile[readRow](filepath.Join(dir, written.Name))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("%.2000s", diff)
	}
}

// A file without samples, or one that is abandoned, leaves nothing.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, end := range []func(*Writer) error{(*Writer).Abandon, func(w *Writer) error { _, err := w.Close(); return err }} {
		w, err := NewWriter(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := end(w); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
