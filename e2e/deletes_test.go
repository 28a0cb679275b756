package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// TestKillDeletes deletes series and times of them while others write the same ones, and kills the adapter: afterwards
// nothing is there that was acknowledged as deleted, and nothing else is missing.
func TestKillDeletes(t *testing.T) {
	needE2E(t)
	t.Parallel()
	for _, mode := range []string{"buffered", "through"} {
		t.Run(mode, func(t *testing.T) {
			a := startAdapter(t, deletesFlags("embedded", "--write.mode="+mode)...)
			testDeletes(t, scale.Of(t, "kills during deletions", 4, 5, 60), a)
		})
	}
}

// testDeletesHBase is the same with two adapters on one HBase, of which one is killed.
func testDeletesHBase(t *testing.T, s tables) {
	t.Helper()
	s.flags = deletesFlags(s.name)
	s.create(t)
	testDeletes(t, scale.Of(t, "kills during deletions on HBase", 2, 3, 30), s.startAdapter(t), s.startAdapter(t))
}

func deletesFlags(tables string, more ...string) []string {
	rollups := fmt.Sprintf(`{"aggregationIds":{"sum":0},"intervals":[{"table":"%[1]s","preAggregationTable":"%[1]s-pre","interval":"1m","rowSpan":"1h","defaultInterval":true},`+
		`{"table":"%[1]s-1h","preAggregationTable":"%[1]s-pre-1h","interval":"1h","rowSpan":"1d"}]}`, tables)
	if tables == "embedded" {
		rollups = strings.ReplaceAll(rollups, `"table":"embedded"`, `"table":"tsdb"`)
	}
	return append([]string{"--web.enable-admin-api", "--opentsdb.listen-address=127.0.0.1:0", "--storage.rollups=" + rollups}, more...)
}

const (
	deletedSeries = 6
	deletedHours  = 3
)

// A deletesRun is a test with its adapters. The last hour of the slots is the present one.
type deletesRun struct {
	t        *testing.T
	model    *deletesModel
	adapters []*adapter
	ports    []client // of OpenTSDB, of each adapter
	first    int64    // milliseconds; the first hour
	tsuids   [deletedSeries]string
	serial   atomic.Int64
	deleted  atomic.Int64 // deletions that were acknowledged since the last kill
	refused  atomic.Int64
	wholes   int // of 100 deletions, how many are of three series, and twice as many of one
}

func testDeletes(t *testing.T, kills int, adapters ...*adapter) {
	t.Helper()
	now := time.Now().UnixMilli()
	d := &deletesRun{t: t, wholes: 10, model: newDeletesModel(), adapters: adapters, first: now - now%hourMillis - (deletedHours-1)*hourMillis}
	if len(adapters) > 1 {
		d.model.others, d.wholes = 15*time.Second, 1
	}
	d.begin()
	for n := range kills {
		ctx, cancel := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		d.deleted.Store(0)
		d.ports = d.ports[:0]
		for _, a := range adapters {
			d.ports = append(d.ports, newClient(a.opentsdbAddr(t)))
		}
		for w := range 4 {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(w)))
			workers.Go(func() { d.write(ctx, rng) })
		}
		for w := range 2 {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(10+w)))
			workers.Go(func() { d.deleteSome(ctx, rng) })
		}
		workers.Go(func() { d.clean(ctx) })
		enough := int64(10 + 7*n%20)
		eventually(t, waitTimeout, "deletions", func() error {
			if got := d.deleted.Load(); got < enough {
				return fmt.Errorf("%d", got)
			}
			return nil
		})
		killed := adapters[n%len(adapters)]
		t.Logf("kill %d after %d steps", n+1, d.model.steps())
		killed.Kill()
		cancel()
		workers.Wait()
		killed.Restart(t)
		d.check(fmt.Sprintf("after kill %d", n+1))
	}
	for _, a := range adapters {
		a.Stop(t)
		a.Restart(t)
	}
	d.check("after a stop")
	t.Logf("%d changes of %d slots, %d refused", d.model.steps()/2, len(d.model.slots()), d.refused.Load())
}

func (d *deletesRun) labels(series int) []string {
	return []string{"__name__", "deleted", "host", strconv.Itoa(series)}
}

// begin makes the series known, since annotations are written by TSUID.
func (d *deletesRun) begin() {
	d.t.Helper()
	for s := range deletedSeries {
		at := slot{kindFloat, s, d.first}
		done := d.model.writing("0.5", at)
		d.adapters[0].Write(d.t, series([]prompb.Sample{{Timestamp: at.at, Value: 0.5}}, d.labels(s)...)).ok(d.t)
		done(true)
		body := fmt.Sprintf(`{"start":%d,"showTSUIDs":true,"queries":[{"metric":"deleted","aggregator":"none","tags":{"host":"%d"}}]}`, d.first-1, s)
		var found []struct{ TSUIDs []string }
		answer := d.adapters[0].Post(d.t, "/api/query", jsonHeader(), []byte(body)).ok(d.t)
		if err := json.Unmarshal(answer.body, &found); err != nil || len(found) != 1 || len(found[0].TSUIDs) != 1 {
			d.t.Fatalf("TSUID of series %d: %s", s, answer)
		}
		d.tsuids[s] = found[0].TSUIDs[0]
	}
}

func jsonHeader() map[string]string { return map[string]string{"Content-Type": "application/json"} }

func (d *deletesRun) some(rng *rand.Rand) client { return d.adapters[rng.IntN(len(d.adapters))].client }

// send sends a request, and reports whether it was acknowledged, and whether the adapter is still there.
func (d *deletesRun) send(ctx context.Context, a client, path string, header map[string]string, body []byte) (acked, there bool) {
	r, err := a.do(ctx, http.MethodPost, path, header, body)
	if err != nil {
		return false, false
	}
	if r.status/100 != 2 {
		if d.refused.Add(1) < 5 {
			d.t.Logf("%s: %v", path, r)
		}
	}
	return r.status/100 == 2, true
}

// write writes until the adapter is killed.
func (d *deletesRun) write(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		value := strconv.FormatInt(d.serial.Add(1), 10)
		s := rng.IntN(deletedSeries)
		var slots []slot
		var path string
		var body []byte
		header, to := jsonHeader(), d.some(rng)
		switch n := rng.IntN(10); {
		case n < 7:
			path, header = "/api/v1/write", writeHeader(contentV1, nil)
			slots, body = d.samples(rng, s, value)
		case n < 8:
			at := d.first + rng.Int64N(deletedHours)*hourMillis
			slots, path, to = []slot{{kindRollup, s, at}}, "/api/rollup", d.ports[rng.IntN(len(d.ports))]
			body = fmt.Appendf(nil, `[{"metric":"deleted","timestamp":%d,"value":%s,"tags":{"host":"%d"},"interval":"1h","aggregator":"sum"}]`, at/1000, value, s)
		default:
			at := d.instant(rng, 4) / 1000 * 1000
			slots, path = []slot{{kindAnnotation, s, at}}, "/api/annotation"
			body = fmt.Appendf(nil, `{"startTime":%d,"tsuid":"%s","description":"%s"}`, at/1000, d.tsuids[s], value)
		}
		done := d.model.writing(value, slots...)
		acked, there := d.send(ctx, to, path, header, body)
		done(acked)
		if !there && len(d.adapters) == 1 {
			return
		}
	}
}

// instant returns one of few instants up to now. Each kind has others.
func (d *deletesRun) instant(rng *rand.Rand, kind int64) int64 {
	minutes := max(1, (time.Now().UnixMilli()-d.first)/60_000)
	return d.first + rng.Int64N(minutes)*60_000 + kind*10_000
}

// samples makes a request of floats, histograms and exemplars of a series, some late and some again.
func (d *deletesRun) samples(rng *rand.Rand, s int, value string) (slots []slot, body []byte) {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		d.t.Error(err)
	}
	ts := series(nil, d.labels(s)...)
	seen := map[slot]bool{}
	add := func(kind string, at int64) bool {
		one := slot{kind, s, at}
		if seen[one] {
			return false
		}
		seen[one] = true
		slots = append(slots, one)
		return true
	}
	for range 1 + rng.IntN(20) {
		if at := d.instant(rng, 1); add(kindFloat, at) {
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: at, Value: v})
		}
	}
	if at := d.instant(rng, 2); rng.IntN(3) == 0 && add(kindHistogram, at) {
		h := tsdbutil.GenerateTestHistogram(1)
		h.Sum = v
		ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(at, h))
	}
	if at := d.instant(rng, 3); rng.IntN(3) == 0 && add(kindExemplar, at) {
		ts.Exemplars = append(ts.Exemplars, prompb.Exemplar{Labels: []prompb.Label{{Name: "trace", Value: "x"}}, Value: v, Timestamp: at})
	}
	m := &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{ts}}
	raw, err := m.Marshal()
	if err != nil {
		d.t.Error(err)
	}
	return slots, snappy.Encode(nil, raw)
}

// deleteSome deletes until the adapter is killed: minutes, whole hours, whole series.
func (d *deletesRun) deleteSome(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		s := []int{rng.IntN(deletedSeries)}
		form := url.Values{"match[]": {fmt.Sprintf(`deleted{host="%d"}`, s[0])}}
		first, last := int64(0), int64(1)<<62
		switch n := rng.IntN(100); {
		case n < d.wholes:
			form.Set("match[]", `deleted{host=~"0|1|2"}`)
			s = []int{0, 1, 2}
		case n < 3*d.wholes:
		case n < 60:
			first = d.first + rng.Int64N(deletedHours)*hourMillis
			last = first + hourMillis*(1+rng.Int64N(2)) - 1
		default:
			first = d.first + rng.Int64N(deletedHours)*hourMillis + (1+rng.Int64N(30))*60_000
			last = first + rng.Int64N(20)*60_000
		}
		if first != 0 {
			form.Set("start", stamp(time.UnixMilli(first)))
			form.Set("end", stamp(time.UnixMilli(last)))
		}
		done := d.model.deleting(first, last, s...)
		acked, there := d.send(ctx, d.some(rng), "/api/v1/admin/tsdb/delete_series?"+form.Encode(), nil, nil)
		done(acked)
		if acked {
			d.deleted.Add(1)
		}
		if !there && len(d.adapters) == 1 {
			return
		}
	}
}

// clean gives space back until the adapter is killed.
func (d *deletesRun) clean(ctx context.Context) {
	for ctx.Err() == nil {
		if _, there := d.send(ctx, d.adapters[0].client, "/api/v1/admin/tsdb/clean_tombstones", nil, nil); !there {
			return
		}
	}
}

// check compares all slots with the model, by each adapter. Adapters on shared tables learn what others did within
// seconds.
func (d *deletesRun) check(when string) {
	d.t.Helper()
	for i, a := range d.adapters {
		eventually(d.t, waitTimeout, fmt.Sprintf("%s, adapter %d", when, i), func() error {
			got := d.read(a)
			bad, first := 0, error(nil)
			slots := d.model.slots()
			for _, s := range slots {
				if err := d.model.check(s, got[s]); err != nil {
					if bad++; first == nil {
						first = err
					}
				}
				delete(got, s)
			}
			for s, value := range got {
				return fmt.Errorf("%v was never written, and is %s", s, value)
			}
			if bad > 0 {
				err := fmt.Errorf("%d of %d slots are wrong, such as: %w", bad, len(slots), first)
				if len(d.adapters) == 1 {
					d.t.Fatalf("%s: %v", when, err)
				}
				return err
			}
			return nil
		})
	}
}

// read returns what the adapter has.
func (d *deletesRun) read(a *adapter) map[slot]string {
	d.t.Helper()
	got := map[slot]string{}
	from, to := time.UnixMilli(d.first), time.UnixMilli(d.first+deletedHours*hourMillis)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, ts := range a.Read(d.t, from, to, equals("__name__", "deleted")) {
		s := keyOfHost(d.t, ts.Labels)
		for _, p := range ts.Samples {
			got[slot{kindFloat, s, p.Timestamp}] = number(p.Value)
		}
		for _, h := range ts.Histograms {
			got[slot{kindHistogram, s, h.Timestamp}] = number(h.Sum)
		}
	}
	d.readExemplars(a, got, from, to)
	d.readRolledUp(a, got)
	for _, s := range d.model.slots() {
		if s.kind == kindAnnotation {
			if text := d.annotation(a, s); text != "" {
				got[s] = text
			}
		}
	}
	return got
}

func keyOfHost(t *testing.T, ls []prompb.Label) int {
	t.Helper()
	for _, l := range ls {
		if l.Name == "host" {
			n, err := strconv.Atoi(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no host in %v", ls)
	return 0
}

func (d *deletesRun) readExemplars(a *adapter, got map[slot]string, from, to time.Time) {
	d.t.Helper()
	var found []struct {
		SeriesLabels map[string]string
		Exemplars    []struct {
			Value     string
			Timestamp float64
		}
	}
	a.API(d.t, "/api/v1/query_exemplars", url.Values{"query": {"deleted"}, "start": {stamp(from)}, "end": {stamp(to)}}, &found)
	for _, f := range found {
		s, err := strconv.Atoi(f.SeriesLabels["host"])
		if err != nil {
			d.t.Fatal(err)
		}
		for _, e := range f.Exemplars {
			got[slot{kindExemplar, s, time.UnixMilli(int64(e.Timestamp*1000 + 0.5)).UnixMilli()}] = e.Value
		}
	}
}

func (d *deletesRun) readRolledUp(a *adapter, got map[slot]string) {
	d.t.Helper()
	body := fmt.Sprintf(`{"start":%d,"end":%d,"queries":[{"metric":"deleted","aggregator":"none","downsample":"1h-sum","rollupUsage":"ROLLUP_NOFALLBACK"}]}`,
		d.first/1000-1, (d.first+deletedHours*hourMillis)/1000)
	var found []struct {
		Tags map[string]string
		DPS  map[string]json.Number
	}
	r := a.Post(d.t, "/api/query", jsonHeader(), []byte(body)).ok(d.t)
	if err := json.Unmarshal(r.body, &found); err != nil {
		d.t.Fatal(err)
	}
	for _, f := range found {
		s, err := strconv.Atoi(f.Tags["host"])
		if err != nil {
			d.t.Fatal(err)
		}
		for at, value := range f.DPS {
			seconds, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				d.t.Fatal(err)
			}
			got[slot{kindRollup, s, seconds * 1000}] = strings.TrimSuffix(value.String(), ".0")
		}
	}
}

// annotation returns the text of an annotation.
func (d *deletesRun) annotation(a *adapter, s slot) string {
	d.t.Helper()
	r := a.Get(d.t, notePath(d.tsuids[s.series], s.at/1000))
	if r.status == http.StatusNotFound {
		return ""
	}
	var note struct{ Description string }
	if err := json.Unmarshal(r.ok(d.t).body, &note); err != nil {
		d.t.Fatal(err)
	}
	return note.Description
}
