package promtest

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
)

// Times of the samples of DataDir, in milliseconds.
const (
	DataMinute = int64(60_000)
	DataHour   = 60 * DataMinute
	// DataBegin is when the samples begin: a multiple of two hours.
	DataBegin = int64(1_700_006_400_000)
)

// openDB opens a TSDB as Prometheus does.
func openDB(t testing.TB, dir string) *tsdb.DB {
	t.Helper()
	o := tsdb.DefaultOptions()
	o.RetentionDuration, o.OutOfOrderTimeWindow, o.EnableExemplarStorage, o.MaxExemplars, o.EnableMetadataWALRecords = 0, 6*DataHour, true, 1000, true
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), nil, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	db.DisableCompactions()
	return db
}

// DataLabels are the labels of a series of DataDir, from 0 to 11.
func DataLabels(n int) labels.Labels {
	return labels.FromStrings(model.MetricNameLabel, fmt.Sprintf("m%d", n%3), "n", fmt.Sprint(n))
}

// fillData appends samples of some series from one time to another, some of them histograms.
func fillData(t testing.TB, db promstorage.Appendable, from, to int64, r *rand.Rand) {
	t.Helper()
	app := db.Appender(t.Context())
	for at := from; at < to; at += DataMinute {
		for n := range 12 {
			var err error
			switch {
			case n == 3:
				h := tsdbutil.GenerateTestHistogram(at / DataMinute % 100)
				_, err = app.AppendHistogram(0, DataLabels(n), at, h, nil)
			case n == 4:
				_, err = app.AppendHistogram(0, DataLabels(n), at, nil, tsdbutil.GenerateTestGaugeFloatHistogram(r.Int64N(50)))
			case n == 5:
				_, err = app.AppendHistogram(0, DataLabels(n), at, tsdbutil.GenerateTestCustomBucketsHistogram(at/DataMinute%70), nil)
			case n == 6 && r.IntN(3) > 0:
				continue
			default:
				v := math.Float64frombits(r.Uint64())
				if r.IntN(2) > 0 {
					v = float64(r.IntN(100))
				}
				_, err = app.Append(0, DataLabels(n), at+int64(n), v)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// DataDir makes a data directory with blocks, blocks that overlap them, deletions and a head with
// samples out of order, exemplars and metadata, as a Prometheus leaves it that is killed.
func DataDir(t testing.TB) string {
	t.Helper()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	db := openDB(t, dir)
	fillData(t, db, DataBegin, DataBegin+7*DataHour, r)
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	deleted := labels.MustNewMatcher(labels.MatchEqual, "n", "1")
	for _, at := range []int64{DataBegin + DataHour, DataBegin + 390*DataMinute} { // of a block, of the head
		if err := db.Delete(t.Context(), at, at+10*DataMinute, deleted); err != nil {
			t.Fatal(err)
		}
	}
	app := db.Appender(t.Context())
	for n := range 3 { // out of order: over the last block and the head
		for at := DataBegin + 3*DataHour; at < DataBegin+5*DataHour; at += 7 * DataMinute {
			if _, err := app.Append(0, DataLabels(n), at+30_000, float64(at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ref, err := app.Append(0, DataLabels(7), DataBegin+8*DataHour, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.AppendExemplar(ref, DataLabels(7), exemplar.Exemplar{Labels: labels.FromStrings("trace", "x"), Value: 5, Ts: DataBegin + 8*DataHour, HasTs: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := app.UpdateMetadata(ref, DataLabels(7), metadata.Metadata{Type: "counter", Help: "Some.", Unit: "bytes"}); err != nil {
		t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	addBlock(t, dir, DataBegin-2*DataHour, r)
	addBlock(t, dir, DataBegin+30*DataMinute, r) // over the first one
	return dir
}

// AddBlocks adds blocks of an hour, each two hours after the one before.
func AddBlocks(t testing.TB, dir string, from int64, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		addBlock(t, dir, from+int64(i)*2*DataHour, r)
	}
}

// addBlock adds a block of an hour.
func addBlock(t testing.TB, dir string, from int64, r *rand.Rand) {
	t.Helper()
	w, err := tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), dir, 2*DataHour)
	if err != nil {
		t.Fatal(err)
	}
	fillData(t, w, from, from+DataHour, r)
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
