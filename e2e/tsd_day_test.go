package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// testTSDDay simulates a day of mixed use: two adapters and a TSD write points of all hours of a day by all
// protocols, correct and delete each other's points, write annotations, histograms and rolled up values, and edit names,
// documents and trees, while closed hours are compacted, HBase flushes, and adapters are killed. In the end
// all of them answer what was acknowledged, and the checks of both find nothing.
func testTSDDay(t *testing.T, s tables, logs string) {
	d := newDay(t, s, uint64(envNumber(t, "TSDBRIDGE_DAY_SEED", 1)))
	d.logs = logs
	steps := envNumber(t, "TSDBRIDGE_DAY_STEPS", scale.Of(t, "steps in each hour of a simulated day", 5, 5, 120))
	for hour := range d.hours {
		d.hour = hour
		for range steps {
			d.step()
		}
		d.evening()
	}
	d.tell("the day ends after %d points", d.count["points"])
	d.end()
	t.Logf("done in the day, which took %v:\n%v", time.Since(d.begin).Round(time.Second), d.count)
}

const (
	dayThrough  = iota // the default of HBase: what is put over OpenTSDB's port or by carbon is in a log for moments
	dayBuffered        // a log for all
	dayWriters         // adapters
)

// day is the simulated day: two adapters and a TSD on the same tables, and what was acknowledged.
type day struct {
	t        *testing.T
	s        tables
	logs     string // directory of the TSD's
	rng      *rand.Rand
	adapters []*adapter
	tsd      tsd
	hours    []int64 // milliseconds
	hour     int     // of hours: the present one

	names  []*dayName
	all    []*daySeries
	notes  map[int64]string  // global annotations: seconds → description
	texts  map[string]string // descriptions of names in their UIDMeta: kind and UID → text
	trees  map[int]string    // descriptions of trees by their number
	behind map[dayRow]bool   // rows in which the TSD corrected what others wrote
	// interrupted are names in writes that were under way when an adapter was killed
	interrupted map[string]bool
	mended      bool // by fsck, at the end of a long day
	count       counted
	mu          sync.Mutex // guards told: writers run at once
	told        []string
	begin       time.Time
	serial      int // of values and names
}

// dayTree is the tree that a TSD defines before the day begins.
func dayTree() treeSpec {
	return treeSpec{Name: "day", Description: "dc, host, metric", Enabled: true, rules: []ruleSpec{
		{Type: "TAGK", Field: "dc"}, {Level: 1, Type: "TAGK", Field: "host"}, {Level: 2, Type: "METRIC", Separator: `\.`},
	}}
}

// dayRollups is tsd.rollups.config with values of an hour.
func dayRollups(name string) string {
	return fmt.Sprintf(`{"aggregationIds":{"sum":0,"count":1,"min":2,"max":3},"intervals":[`+
		`{"table":"%[1]s","preAggregationTable":"%[1]s-pre","interval":"1m","rowSpan":"1h","defaultInterval":true},`+
		`{"table":"%[1]s-1h","preAggregationTable":"%[1]s-pre-1h","interval":"1h","rowSpan":"1d"}]}`, name)
}

func newDay(t *testing.T, s tables, seed uint64) *day {
	t.Helper()
	rollups := dayRollups(s.name)
	s.flags = []string{"--storage.rollups=" + rollups}
	s.create(t)
	d := &day{
		t: t, s: s, rng: rand.New(rand.NewPCG(seed, 14)), begin: time.Now(), count: counted{}, notes: map[int64]string{},
		texts: map[string]string{}, trees: map[int]string{}, behind: map[dayRow]bool{}, interrupted: map[string]bool{},
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, strings.Join(d.told, "\n"))
		}
	})
	last := d.begin.Add(-2 * time.Minute).Truncate(time.Hour).UnixMilli()
	for hour := range int64(24) {
		d.hours = append(d.hours, last-(23-hour)*time.Hour.Milliseconds())
	}
	d.tsd = s.startTSD(t, true,
		"tsd.rollups.enable", "true", "tsd.rollups.config", rollups, "hbase.rpcs.buffered_flush_interval", "20",
		"tsd.core.histograms.config", `{"net.opentsdb.core.SimpleHistogramDecoder":5}`,
		// Rows are compacted when they are queried, and not at any time: what others write in the two seconds
		// that it takes may be deleted, see docs/hbase.md.
		"tsd.storage.compaction.min_flush_threshold", "1000000",
	)
	spec := dayTree()
	d.trees[d.tsd.DefineTree(t, spec)] = spec.Description
	common := []string{
		withCarbon, "--opentsdb.listen-address=127.0.0.1:0", "--opentsdb.allow-edits", "--opentsdb.allow-delete",
		"--opentsdb.histogram-codecs=SimpleHistogramDecoder=5",
	}
	d.adapters = []*adapter{s.startAdapter(t, common...), s.startAdapter(t, append(common, "--write.mode=buffered", "--write.buffer.flush-interval=2s")...)}
	for dc, hosts := range map[string][]string{"lga": {"h1", "h2", "h3"}, "sjc": {"h4", "h5"}} {
		for _, host := range hosts {
			for _, metric := range []string{"day.cpu.user", "day.cpu.system", "day.net.in", "day.latency"} {
				d.seriesOf(metric, "dc", dc, "host", host)
			}
		}
	}
	return d
}

func (d *day) tell(format string, args ...any) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = append(d.told, fmt.Sprintf("%7.3f %d ", now.Sub(d.begin).Seconds(), now.UnixMilli())+fmt.Sprintf(format, args...))
}

// step performs one random step.
func (d *day) step() {
	d.t.Helper()
	time.Sleep(ackGap)
	switch n := d.rng.IntN(40); {
	case n < 10:
		d.crowd(false)
	case n < 16:
		d.crowd(true)
	case n < 18:
		d.histogram()
	case n < 21:
		d.annotate()
	case n < 23:
		d.rollUp()
	case n < 26:
		d.erase()
	case n < 27:
		d.eraseTSD()
	case n < 29:
		d.describeName()
	case n < 31:
		d.describeSeries()
	case n < 32:
		d.describeTree()
	case n < 33:
		d.rename()
	case n < 34:
		d.compact()
	case n < 35:
		d.flush()
	case n < 37:
		d.kill()
	default:
		d.look()
	}
}

// evening ends an hour: each kind of step that is rare happens in some hours.
func (d *day) evening() {
	d.t.Helper()
	switch d.hour % 8 {
	case 0:
		d.rename()
	case 1:
		d.compact()
	case 2:
		d.kill()
	case 3:
		d.eraseTSD()
	case 4:
		d.describeSeries()
		d.describeTree()
	case 5:
		d.flush()
	case 6:
		d.annotate()
	}
	if d.hour == len(d.hours)/2 {
		d.defineTree()
	}
}

// adapter returns the number of a random adapter.
func (d *day) adapter() int { return d.rng.IntN(dayWriters) }

func (d *day) adapterName(at int) string { return []string{"through", "buffered"}[at] }

// ports are those of OpenTSDB's API: of the adapters, and of the TSD.
func (d *day) ports() []client {
	d.t.Helper()
	var all []client
	for _, a := range d.adapters {
		all = append(all, newClient(a.opentsdbAddr(d.t)))
	}
	return append(all, d.tsd.client)
}

// port returns a random one, and its name.
func (d *day) port() (client, string) {
	d.t.Helper()
	at := d.rng.IntN(dayWriters + 1)
	return d.ports()[at], []string{"through", "buffered", "TSD"}[at]
}
