package migrate

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// A parquetRow is a row of an exported file.
type parquetRow struct {
	Metric string            `parquet:"metric"`
	Labels map[string]string `parquet:"labels"`
	Time   int64             `parquet:"time,timestamp(millisecond)"`
	Value  *float64          `parquet:"value"`
}

// parquetFloats returns the samples of the files of a directory.
func parquetFloats(t *testing.T, dir string) promtest.Samples {
	t.Helper()
	all := promtest.Samples{}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		table, err := pq.ReadFile[parquetRow](file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, row := range table {
			bits := value.StaleNaN
			if row.Value != nil {
				bits = math.Float64bits(*row.Value)
			}
			b := labels.NewBuilder(labels.FromMap(row.Labels)).Set("__name__", row.Metric)
			all.Add(b.Labels(), row.Time, fmt.Sprintf("%x", bits))
		}
	}
	return all
}

// TestExportParquet: files of the tables, and of a running adapter, have the floats of the store.
func TestExportParquet(t *testing.T) {
	o := adaptertest.Options(t, write.Buffered)
	dir := promtest.DataDir(t)
	if code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, blocksOf(t, dir), c) }); code != 0 {
		t.Fatal(out)
	}
	e := DefaultExportParquetOptions()
	e.Dir, e.State = filepath.Join(t.TempDir(), "files"), filepath.Join(t.TempDir(), "state")
	if err := e.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	code, out := commandtest.Code(t, func(c command.Console) error { return ExportParquet(t.Context(), o, e, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, "native histograms, 1 exemplars") || !strings.Contains(out, "the files have floats") {
		t.Errorf("%d: %s", code, out)
	}
	// The same command does nothing more, and tells again what was left out.
	if code, out := commandtest.Code(t, func(c command.Console) error { return ExportParquet(t.Context(), o, e, c) }); code != command.ExitIncomplete || !strings.Contains(out, "before") || !strings.Contains(out, "native histograms, 1 exemplars") {
		t.Errorf("%d: %s", code, out)
	}

	a, stop := adaptertest.Run(t, o)
	defer stop()
	want := samplesIn(t, a)
	maps.DeleteFunc(want, func(_, text string) bool { return strings.Contains(text, " ") }) // histograms
	if diff := cmp.Diff(want, parquetFloats(t, e.Dir)); diff != "" || len(want) == 0 {
		t.Errorf("-store +files:\n%.2000s", diff)
	}
	// The same of shorter files, through the adapter.
	part := DefaultExportParquetOptions()
	part.Dir, part.URL, part.Length, part.Labels = t.TempDir(), "http://"+a.Addr(), 2*time.Hour, []string{"site=x"}
	if err := part.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	if code, out := commandtest.Code(t, func(c command.Console) error { return ExportParquet(t.Context(), o, part, c) }); code == 1 {
		t.Errorf("%d: %s", code, out)
	}
	got := parquetFloats(t, part.Dir)
	for series := range got {
		if !strings.Contains(series, `site="x"`) {
			t.Errorf("%s has no added label", series)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d samples, want %d", len(got), len(want))
	}
}

func TestExportParquetMistakes(t *testing.T) {
	for _, length := range []time.Duration{0, time.Hour, 3 * time.Hour, 1000 * time.Hour} {
		e := DefaultExportParquetOptions()
		e.Length = length
		if err := e.Validate(time.Now()); err == nil || !strings.Contains(err.Error(), "--file-duration=") {
			t.Errorf("%v: %v", length, err)
		}
	}
}
