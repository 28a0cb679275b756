package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
)

// randomPoint is a point of a series of the random world.
type randomPoint struct {
	host string
	at   int64 // milliseconds
	v    float64
}

func (p randomPoint) String() string { return fmt.Sprintf("%s@%d=%v", p.host, p.at, p.v) }

func randomLabels(host string) string { return keyText("__name__", randomMetric, "host", host) }

// value returns a value that was not used before: integers of 1 to 4 bytes, whole numbers that need
// more, floats of 4 and of 8 bytes.
func (w *randomWorld) value() float64 {
	w.serial++
	n := float64(w.serial)
	return []float64{n, -n, 70_000 + n, 5e9 + n, n + 0.5, n + 0.1}[w.rng.IntN(6)]
}

// points returns n points of different instants. Now and then one has the value that is there
// already.
func (w *randomWorld) points(n int) (all []randomPoint) {
	for _, at := range w.rng.Perm(len(randomHosts()) * len(w.instants))[:n] {
		host := randomHosts()[at%2]
		p := randomPoint{host, w.instants[at/2], w.value()}
		if old, ok := w.want[randomLabels(host)][p.at]; ok && w.rng.IntN(8) == 0 {
			if v, err := strconv.ParseFloat(old, 64); err == nil && !math.IsInf(v, 0) {
				p.v = v
			}
		}
		all = append(all, p)
	}
	return all
}

// beyond gives some points values that OpenTSDB has no form for, and that no TSD sees.
func (w *randomWorld) beyond(all []randomPoint) []randomPoint {
	for i := range all {
		switch w.rng.IntN(12) {
		case 0:
			all[i].v = math.Float64frombits(value.StaleNaN)
		case 1:
			all[i].v = math.Inf(1 - 2*w.rng.IntN(2))
		}
	}
	return all
}

// randomRow is the hour of a series.
type randomRow struct {
	host string
	hour int64 // milliseconds
}

func (w *randomWorld) row() randomRow {
	return randomRow{randomHosts()[w.rng.IntN(2)], w.hours[w.rng.IntN(len(w.hours))]}
}

func (w *randomWorld) acknowledged(all []randomPoint) {
	for _, p := range all {
		w.want.add(randomLabels(p.host), p.at, p.v)
	}
}

// write writes points to an adapter by remote write; after the acknowledgement it must show them.
func (w *randomWorld) write(at int, all []randomPoint) {
	w.t.Helper()
	if err := w.tryWrite(at, all); err != nil {
		w.t.Fatal(err)
	}
	w.tell("%s: write %v", w.name(at), all)
	w.acknowledged(all)
	w.checkShown(at, all)
}

func (w *randomWorld) tryWrite(at int, all []randomPoint) error {
	var m prompb.WriteRequest
	for _, p := range all {
		m.Timeseries = append(m.Timeseries, series([]prompb.Sample{{Timestamp: p.at, Value: p.v}}, "__name__", randomMetric, "host", p.host))
	}
	r, err := w.adapters[at].do(w.t.Context(), http.MethodPost, "/api/v1/write", writeHeader(contentV1, nil), snappied(w.t, &m))
	if err == nil && r.status/100 != 2 {
		err = fmt.Errorf("write: %v", r)
	}
	return err
}

// put writes points to an adapter's log, by OpenTSDB's port, and waits for the acknowledgement.
func (w *randomWorld) put(at int, all []randomPoint) {
	w.t.Helper()
	if err := w.tryPut(at, w.tsdPoints(all)); err != nil {
		w.t.Fatal(err)
	}
	w.tell("%s: put %v", w.name(at), all)
	w.acknowledged(all)
	w.checkShown(at, all)
}

func (w *randomWorld) tryPut(at int, all []tsdPoint) error {
	body, err := json.Marshal(all)
	if err != nil {
		return err
	}
	r, err := newClient(w.adapters[at].opentsdbAddr(w.t)).do(w.t.Context(), http.MethodPost, "/api/put", nil, body)
	if err == nil && r.status != http.StatusNoContent {
		err = fmt.Errorf("put: %v", r)
	}
	return err
}

func (w *randomWorld) putTSD(all []randomPoint) {
	w.t.Helper()
	w.tsd.Put(w.t, w.tsdPoints(all)...)
	w.tell("TSD: put %v", all)
	w.acknowledged(all)
}

// tsdPoints converts points to OpenTSDB's form: whole seconds in seconds or milliseconds, whole
// numbers as integers or as floats. It leaves out integers of 8 bytes: OpenTSDB's fsck complains
// about them next to other points.
func (w *randomWorld) tsdPoints(points []randomPoint) (all []tsdPoint) {
	for _, p := range points {
		text := strconv.FormatFloat(p.v, 'f', -1, 64)
		if whole := !strings.Contains(text, "."); whole && (p.v > 1e9 || w.rng.IntN(3) == 0) {
			text += ".0"
		}
		at := p.at
		if at%1000 == 0 && w.rng.IntN(3) > 0 {
			at /= 1000
		}
		all = append(all, tsdPoint{Metric: randomMetric, Timestamp: at, Value: json.Number(text), Tags: map[string]string{"host": p.host}})
	}
	return all
}

// checkShown checks that an adapter shows what it has just acknowledged.
func (w *randomWorld) checkShown(at int, all []randomPoint) {
	w.t.Helper()
	for _, p := range all {
		from := time.UnixMilli(p.at)
		if got, want := ourPoints(w.t, w.adapters[at].client, randomMetric, from, from)[randomLabels(p.host)][p.at], bitText(p.v); got != want {
			w.t.Errorf("%s shows %s@%d=%s, which it acknowledged as %s", w.name(at), p.host, p.at, got, want)
		}
	}
}

// crowd makes all writers write different instants of the same rows at the same time.
func (w *randomWorld) crowd() {
	w.t.Helper()
	all := w.points(8)
	w.tell("crowd: through, buffered, logging, TSD: %v", all)
	byTSD := w.tsdPoints(all[6:])
	byPort := w.tsdPoints(all[4:6])
	var writers sync.WaitGroup
	fail := func(err error) {
		if err != nil {
			w.t.Error(err)
		}
	}
	writers.Go(func() { fail(w.tryWrite(randomThrough, all[:2])) })
	writers.Go(func() { fail(w.tryWrite(randomBuffered, all[2:4])) })
	writers.Go(func() { fail(w.tryPut(randomLogging, byPort)) })
	writers.Go(func() { fail(w.tsd.put(w.t, byTSD)) })
	writers.Wait()
	w.acknowledged(all)
}

// killWriting kills an adapter during writes. The sender repeats what was not acknowledged.
func (w *randomWorld) killWriting(at int) {
	w.t.Helper()
	all := w.points(2)
	w.tell("%s is killed while %v is written", w.name(at), all)
	written := make(chan error, 1)
	go func() { written <- w.tryWrite(at, all) }()
	time.Sleep(time.Duration(w.rng.IntN(5000)) * time.Microsecond)
	w.adapters[at].Kill()
	err := <-written
	w.adapters[at].Restart(w.t)
	if err != nil {
		time.Sleep(ackGap)
		w.write(at, all)
		return
	}
	w.acknowledged(all)
	w.checkShown(at, all)
}

// killEnding kills an adapter while it flushes because it was told to end.
func (w *randomWorld) killEnding(at int) {
	w.t.Helper()
	after := time.Duration(w.rng.IntN(40)) * time.Millisecond
	w.tell("%s is told to end, and killed after %v", w.name(at), after)
	if err := w.adapters[at].process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(after)
	w.adapters[at].Kill()
	w.adapters[at].Restart(w.t)
}

// waitPut waits until the points that came by the default adapter's port are put, two seconds
// later.
func (w *randomWorld) waitPut() {
	w.t.Helper()
	w.tell("logging is waited for")
	eventually(w.t, waitTimeout, "the flush of what came by OpenTSDB's port", func() error {
		if rows := metricOf(w.t, w.adapters[randomLogging].client, "tsdbridge_head_rows"); rows > 0 {
			return fmt.Errorf("%v rows are left", rows)
		}
		return nil
	})
}

// remove has the TSD delete a row. It first puts a point there, since the TSD does not find a row
// before it is put.
func (w *randomWorld) remove() {
	w.t.Helper()
	row := w.row()
	w.putTSD([]randomPoint{{row.host, row.hour + settledOffset, w.value()}})
	w.quietly(row, func() {
		w.compact(row) // else the TSD compacts what it deletes
		time.Sleep(ackGap)
		w.order(row)
		key := w.rowKey(row)
		eventually(w.t, waitTimeout, "deletion by the TSD", func() error {
			if cells := w.pointCells(key); cells > 0 {
				return fmt.Errorf("row %x has %d cells of points", key, cells)
			}
			return nil
		})
	})
	w.tell("TSD: %v deleted", row)
	for _, offset := range append(randomOffsets(), settledOffset) {
		w.want.remove(randomLabels(row.host), row.hour+offset)
	}
}

// compacts reports whether the TSD compacts a row when it is queried.
func (w *randomWorld) compacts(row randomRow) bool {
	return w.compaction && time.Since(time.UnixMilli(row.hour)) > 2*time.Hour
}

// quietly runs do while no adapter puts points into a row that is being compacted: what is put
// between the TSD's read and its deletion is deleted as well.
func (w *randomWorld) quietly(row randomRow, do func()) {
	w.t.Helper()
	if !w.compacts(row) {
		do()
		return
	}
	holding := []int{randomBuffered, randomLogging}
	for _, at := range holding {
		w.tell("%s is killed", w.name(at))
		w.adapters[at].Kill()
	}
	do()
	for _, at := range holding {
		w.adapters[at].Restart(w.t)
	}
}

// order has a row deleted by a query or, less often since that starts a process, by the scan tool,
// which may end before it has sent its deletions.
func (w *randomWorld) order(row randomRow) {
	w.t.Helper()
	if w.rng.IntN(8) == 0 && !w.mistaken(row) {
		out, err := w.tsd.Tool(w.t.Context(), "DumpSeries", "--delete", fmt.Sprint(row.hour/1000), fmt.Sprint(row.hour/1000+1), "none", randomMetric, "host="+row.host)
		if err != nil {
			w.t.Fatalf("scan --delete: %v\n%s", err, out)
		}
		w.tell("TSD: scan --delete of %v", row)
		if w.pointCells(w.rowKey(row)) == 0 {
			return
		}
	}
	r, err := w.tsd.do(w.t.Context(), http.MethodDelete, row.path(), nil, nil)
	if err != nil || r.status != http.StatusOK && !isDuplicate(r) {
		w.t.Fatalf("delete: %v %v", r, err)
	}
}

// mistaken reports whether a row has a cell that OpenTSDB's scan takes for an append cell and fails
// on, including those of a single point, as a TSD puts them.
func (w *randomWorld) mistaken(row randomRow) bool {
	w.t.Helper()
	key := w.rowKey(row)
	return slices.ContainsFunc(w.s.cells(w.t, w.s.name), func(c cell) bool { return c.row == key && c.qualifier[0] == 5 })
}

func (r randomRow) path() string {
	return "/api/query?" + url.Values{
		"m": {"none:" + randomMetric + "{host=" + r.host + "}"}, "start": {fmt.Sprint(r.hour)}, "end": {fmt.Sprint(r.hour + 1000)},
	}.Encode()
}

// isDuplicate reports whether a TSD's answer is an error because of two values of an instant.
func isDuplicate(r reply) bool {
	return r.status == http.StatusBadRequest && strings.Contains(string(r.body), "Duplicate timestamp")
}

// queryTSD has the TSD read a row, which it refuses while an instant has two values. A TSD with
// compaction then compacts an old row.
func (w *randomWorld) queryTSD(row randomRow) {
	w.t.Helper()
	w.quietly(row, func() {
		r := w.tsd.Get(w.t, row.path())
		w.tell("TSD: query of %v: %d", row, r.status)
		if r.status != http.StatusOK && !isDuplicate(r) && !strings.Contains(string(r.body), "No such name") {
			w.t.Fatalf("query: %v", r)
		}
		w.compact(row)
	})
}

// compact has the TSD read a row until it is compacted, if the TSD compacts it and the row exists
// without two values of an instant.
func (w *randomWorld) compact(row randomRow) {
	w.t.Helper()
	if !w.compacts(row) {
		return
	}
	key := w.rowKey(row)
	ask := oneByOne(func() reply { return w.tsd.Get(w.t, row.path()) })
	eventually(w.t, waitTimeout, "compaction by the TSD", func() error {
		r := ask()
		if cells := w.pointCells(key); cells > 1 && !isDuplicate(r) {
			return fmt.Errorf("row %x has %d cells of points", key, cells)
		}
		return nil
	})
	w.tell("TSD: %v compacted", row)
}

// oneByOne returns a function that has the TSD read a row, so that it compacts it, and returns the last answer. It
// leaves the TSD time for one compaction before it asks again: of two that are under way, the later one would put the
// row back after it was deleted.
func oneByOne(read func() reply) func() reply {
	var last reply
	var at time.Time
	return func() reply {
		if at.IsZero() || time.Since(at) > waitTimeout/4 {
			last, at = read(), time.Now()
		}
		return last
	}
}

// rowKey is metric, hour and tags.
func (w *randomWorld) rowKey(row randomRow) string {
	w.t.Helper()
	uids := map[string]string{}
	for _, c := range w.s.cells(w.t, w.s.name+"-uid") {
		if c.family == "id" {
			uids[c.qualifier+" "+c.row] = c.value
		}
	}
	base := row.hour / 1000
	return uids["metrics "+randomMetric] + string([]byte{byte(base >> 24), byte(base >> 16), byte(base >> 8), byte(base)}) + uids["tagk host"] + uids["tagv "+row.host]
}

func (w *randomWorld) pointCells(key string) int {
	w.t.Helper()
	rows, _ := w.s.dataCells(w.t)
	return rows[key]
}
