package hbase_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/compact"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// closedTables are rows that two adapters, a TSD that compacts, and three compactors of ours write
// to at the same time.
type closedTables struct {
	*testing.T
	e        *hbase.Engine
	tsd      *cluster.TSD
	names    hbase.TableNames
	adapters [2]*storetest.Process
	refs     [2][]storage.Ref
	base     int64 // of the first hour, seconds

	compacted atomic.Int64 // rows, while others wrote

	mu    sync.Mutex // guards model and plain
	model *storetest.Model
	plain []map[int64]float64 // by series
}

const (
	closedHosts = 4 // of each metric
	closedHours = 6
	// closedRounds is how often points come late.
	closedRounds = 8
	closedQuiet  = 4 * time.Second // a TSD deletes what it compacted within two
)

// testClosed: late points, corrections and histograms of two adapters, puts of a TSD, and
// compactions by the TSD and by three processes of ours meet in the same rows. Every instant has
// its last value for all readers, the rows end as one cell of points, and OpenTSDB's fsck finds
// nothing. Corrections have rows of their own: a TSD's compaction may delete those (docs/hbase.md).
func testClosed(t *testing.T, c *cluster.Cluster) {
	w := newClosedTables(t, c)
	ctx, stop := context.WithCancel(t.Context())
	var background sync.WaitGroup
	for range 3 {
		background.Go(func() { w.compactEvery(ctx, w.compactor()) })
	}
	background.Go(func() { w.queryEvery(ctx) })
	for round := range uint64(closedRounds) {
		var writers sync.WaitGroup
		// Each instant of the metric late has one writer.
		writers.Go(func() { w.write(0, 0, round, func(i int) bool { return i%3 == 0 }, 30) })
		writers.Go(func() { w.write(1, 0, round, func(i int) bool { return i%3 == 1 }, 30) })
		writers.Go(func() { w.putTSD(round, func(i int) bool { return i%3 == 2 }, 1) })
		// The metric corrected has one writer at a time for all instants.
		writers.Go(func() {
			for i := range 10 {
				w.write(i%2, closedHosts, round<<8+uint64(i), func(int) bool { return true }, 4)
			}
		})
		writers.Wait()
		// The rows are compacted, by us and by the TSD, when the next round begins.
		time.Sleep(closedQuiet - time.Second + time.Duration(round)*200*time.Millisecond)
	}
	stop()
	background.Wait()
	if w.compacted.Load() == 0 {
		t.Error("no row was compacted while others wrote: the test shows nothing")
	}
	w.settle()
	w.check("at the end")
	w.checkFsck()
	w.putAgain()
	w.deleteAll()
	w.fillIn()
}

func newClosedTables(t *testing.T, c *cluster.Cluster) *closedTables {
	names := hbase.TableNames{Data: "closed", UID: "closed-uid", Meta: "closed-meta", Tree: "closed-tree"}
	w := &closedTables{
		T: t, e: newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()}), names: names, model: storetest.NewModel(2 * closedHosts),
		base: time.Now().Add(-30*time.Hour).Unix() / schema.RowSeconds * schema.RowSeconds,
	}
	if err := w.e.CreateTables(t.Context(), hbase.OpenTSDBTables(names, hbase.TableOptions{MetricWidth: 3})); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.tsd, err = c.TSD(t.Context(), cluster.TSDOptions{Tables: "closed", Compaction: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.tsd.Stop() })
	var list []storage.Series
	for _, metric := range []string{"late", "corrected"} {
		for host := range closedHosts {
			list, w.plain = append(list, storetest.Series(metric, "host", fmt.Sprint("h", host))), append(w.plain, map[int64]float64{})
		}
	}
	for i := range w.adapters {
		w.adapters[i] = storetest.Start(t, newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()}), func(o *store.Options) {
			o.Exclusive, o.Tables = false, store.Tables{Data: names.Data, UID: names.UID, Meta: names.Meta, Tree: names.Tree}
			o.IndexRefresh = time.Second
		})
		w.refs[i] = w.adapters[i].Resolve(list)
	}
	return w
}

func (w *closedTables) compactor() *compact.Compactor {
	return compact.New(compact.Options{
		DB: kv.NewEngine(w.e, false), Data: w.names.Data, Leases: w.names.Tree, Layout: schema.DefaultLayout(), After: 2 * time.Hour, Quiet: closedQuiet,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
}

// look lets a compactor look at all hours, whether they were looked at before or not.
func (w *closedTables) look(ctx context.Context, c *compact.Compactor) error {
	forget := []kv.Mutation{{Key: own.LeaseKey(nil), DeleteRow: true}}
	if err := w.e.Apply(ctx, w.names.Tree, "t", forget); err != nil {
		return err
	}
	return c.Look(ctx)
}

func (w *closedTables) compactEvery(ctx context.Context, c *compact.Compactor) {
	for ctx.Err() == nil {
		if err := w.look(ctx, c); err != nil && ctx.Err() == nil {
			w.Errorf("compact: %v", err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.Logf("a process compacted %d rows, %d cells", c.Status().Rows, c.Status().Removed)
	w.compacted.Add(c.Status().Rows)
}

// queryEvery has the TSD read, and with that compact, the rows of the metric late.
func (w *closedTables) queryEvery(ctx context.Context) {
	for ctx.Err() == nil {
		_, _ = w.query(ctx, "late")
		time.Sleep(300 * time.Millisecond)
	}
}

// write has an adapter write batches of some instants of the series from first on; each of a minute
// of its own.
func (w *closedTables) write(adapter, first int, seed uint64, mine func(minute int) bool, batches int) {
	rng := rand.New(rand.NewPCG(uint64(adapter), seed))
	for range batches {
		var b storage.Batch
		w.mu.Lock()
		for range 1 + rng.IntN(6) {
			n, minute := first+rng.IntN(closedHosts), rng.IntN(60*closedHours)
			at := (w.base + int64(minute)*60) * 1000
			if _, written := w.plain[n][at]; !mine(minute) || written && first == 0 {
				continue
			}
			v := float64(rng.IntN(1000)) / 4
			if first == 0 && rng.IntN(10) == 0 {
				data := fmt.Sprintf("histogram %d", minute)
				b.AddObject(w.refs[adapter][n], at+500, storage.KindHistogram, []byte(data))
				w.model.Put(n, at+500, storetest.Sample{Histogram: data})
				continue
			}
			b.Add(w.refs[adapter][n], at, v)
			w.model.Put(n, at, storetest.Sample{Bits: math.Float64bits(v)})
			w.plain[n][at] = v
		}
		w.mu.Unlock()
		if err := w.adapters[adapter].Append(w.Context(), &b); err != nil {
			w.Error(err)
			return
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// putTSD has the TSD put points of the metric late, many in a request.
func (w *closedTables) putTSD(seed uint64, mine func(minute int) bool, requests int) {
	rng := rand.New(rand.NewPCG(9, seed))
	for range requests {
		var points []string
		w.mu.Lock()
		for range 20 {
			n, minute := rng.IntN(closedHosts), rng.IntN(60*closedHours)
			at := w.base + int64(minute)*60
			if _, written := w.plain[n][at*1000]; !mine(minute) || written {
				continue
			}
			points = append(points, w.point("late", n, at, float64(minute)+0.5))
		}
		w.mu.Unlock()
		w.post(points)
	}
}

// point is a point for a TSD, which the model has. The caller holds mu.
func (w *closedTables) point(metric string, n int, at int64, v float64) string {
	w.plain[n][at*1000] = v
	w.model.Put(n, at*1000, storetest.Sample{Bits: math.Float64bits(v)})
	return fmt.Sprintf(`{"metric":%q,"timestamp":%d,"value":%v,"tags":{"host":"h%d"}}`, metric, at, v, n%closedHosts)
}

func (w *closedTables) post(points []string) {
	body := strings.NewReader("[" + strings.Join(points, ",") + "]")
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.tsd.URL()+"/api/put?sync&details", body)
	if err != nil {
		w.Error(err)
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Error(err)
		return
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode >= 300 && len(points) > 0 {
		w.Errorf("put: %s: %s", response.Status, text)
	}
}

// query asks the TSD for all points of a metric, by host.
func (w *closedTables) query(ctx context.Context, metric string) (map[string]map[string]float64, error) {
	q := url.Values{"start": {fmt.Sprint(w.base)}, "end": {fmt.Sprint(w.base + closedHours*3600)}, "m": {"none:" + metric + "{host=*}"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.tsd.URL()+"/api/query?"+q.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s, %w", response.Status, text, err)
	}
	var answer []struct {
		Tags map[string]string
		DPS  map[string]float64
	}
	err = json.Unmarshal(text, &answer)
	all := map[string]map[string]float64{}
	for _, a := range answer {
		all[a.Tags["host"]] = a.DPS
	}
	return all, err
}

// settle waits until the rows are quiet, and has them compacted. That also leaves one of the values
// that two writers put at an instant.
func (w *closedTables) settle() {
	w.Helper()
	time.Sleep(closedQuiet + 3*time.Second)
	if err := w.look(w.Context(), w.compactor()); err != nil {
		w.Fatal(err)
	}
}

// check compares what both adapters and the TSD read with what was written, and looks at the cells.
func (w *closedTables) check(when string) {
	w.Helper()
	rows := w.cells()
	for key, n := range rows {
		if n != 1 {
			w.Errorf("%s: row %s has %d cells of points", when, key, n)
		}
	}
	if len(rows) != 2*closedHosts*closedHours {
		w.Errorf("%s: %d rows", when, len(rows))
	}
	w.checkPoints(when)
}

// checkPoints compares what both adapters and the TSD read with what was written.
func (w *closedTables) checkPoints(when string) {
	w.Helper()
	storetest.CheckRows(w.T, w.e, w.names.Data, false)
	for i, a := range w.adapters {
		w.model.Check(w.T, a.Store, w.refs[i], 0, storage.MaxTime)
	}
	for m, metric := range []string{"late", "corrected"} {
		got, err := w.query(w.Context(), metric)
		if err != nil {
			w.Errorf("%s: the TSD's answer: %v", when, err)
			continue
		}
		want := map[string]map[string]float64{}
		for host := range closedHosts {
			points := map[string]float64{}
			for at, v := range w.plain[m*closedHosts+host] {
				points[fmt.Sprint(at/1000)] = v
			}
			if len(points) > 0 {
				want[fmt.Sprint("h", host)] = points
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("%s: the TSD's points of %s (-want +got):\n%s", when, metric, diff)
		}
	}
}

// checkFsck runs OpenTSDB's check of the rows.
func (w *closedTables) checkFsck() {
	w.Helper()
	points := 0
	for _, p := range w.plain {
		points += len(p)
	}
	out, err := w.tsd.Tool(w.Context(), "Fsck", "--threads=1", "--full-scan")
	if err != nil {
		w.Fatal(err)
	}
	for _, line := range []string{fmt.Sprintf("Valid Datapoints: %d\n", points), "Total Errors: 0\n"} {
		if !strings.Contains(out, line) {
			w.Errorf("fsck does not find %q:\n%s", line, out)
		}
	}
	if out, err = w.tsd.Tool(w.Context(), "UidManager", "--verbose", "fsck"); err != nil || !strings.Contains(out, "No errors found") {
		w.Errorf("uid fsck: %v\n%s", err, out)
	}
}

// putAgain has the TSD put points with the qualifiers of cells that were compacted and deleted:
// they are read, and stay when the row is compacted once more.
func (w *closedTables) putAgain() {
	w.Helper()
	w.mu.Lock()
	var points []string
	for n := closedHosts; n < 2*closedHosts; n++ {
		for at := range w.plain[n] {
			points = append(points, w.point("corrected", n, at/1000, 12345.5))
			break
		}
	}
	w.mu.Unlock()
	w.post(points)
	for i, a := range w.adapters {
		w.model.Check(w.T, a.Store, w.refs[i], 0, storage.MaxTime)
	}
	w.settle()
	w.check("put again")
	w.checkFsck()
}
