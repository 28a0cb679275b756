package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// whisperCase is what whisper itself kept of some points; see testdata/carbon/whisper_cases.py.
type whisperCase struct {
	Retentions, Method string
	XFF                float64
	Points             [][2]float64
	// from, until, now, and null or [start, end, step, values]
	Windows [][4]json.RawMessage
}

func TestWhisper(t *testing.T) {
	lines := bufio.NewScanner(graphitetest.Open(t, "testdata/carbon/whisper.jsonl.gz"))
	lines.Buffer(nil, 1<<20)
	windows, coarse := 0, 0
	for n := 0; lines.Scan(); n++ {
		var c whisperCase
		decode(t, lines.Bytes(), &c)
		l := c.layout(t)
		for _, w := range c.Windows {
			var at [3]int64
			for i := range at {
				decode(t, w[i], &at[i])
			}
			g, ok := l.grid(at[0], at[1], at[2])
			if string(w[3]) == "null" {
				if ok {
					t.Errorf("case %d (%s) window %d: read %v, whisper reads nothing", n, c.Retentions, at, g)
				}
				continue
			}
			var want struct {
				start, end, step int64
				values           []*float64
			}
			decode(t, w[3], &[]any{&want.start, &want.end, &want.step, &want.values})
			if !ok || g.start != want.start || g.end != want.end || g.step != want.step {
				t.Errorf("case %d (%s) window %d: %v %v, whisper %v", n, c.Retentions, at, g, ok, want)
				continue
			}
			windows++
			coarse += min(g.level, 1)
			if i := firstDifference(want.values, c.read(l, g)); i >= 0 {
				t.Errorf("case %d (%s %s %v) window %d: slot %d of %v is wrong", n, c.Retentions, c.Method, c.XFF, at, i, g)
			}
		}
	}
	if windows < 500 || coarse < 150 {
		t.Errorf("%d windows, %d of them in coarse archives", windows, coarse)
	}
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func (c whisperCase) layout(t *testing.T) layout {
	t.Helper()
	archives, err := conf.ParseRetentions(c.Retentions)
	if err != nil {
		t.Fatal(err)
	}
	rule, err := conf.ParseAggregations("x", fmt.Sprintf("[all]\npattern = .*\nxFilesFactor = %v\naggregationMethod = %s\n", c.XFF, c.Method))
	if err != nil {
		t.Fatal(err)
	}
	return layout{archives: archives, aggregation: rule.Of("x")}
}

// read fills a grid with the points as the store has them: one an instant, the last one, in
// milliseconds.
func (c whisperCase) read(l layout, g grid) []float64 {
	kept := map[int64]float64{}
	for _, p := range c.Points {
		// whisper keeps the last to arrive; we keep the latest
		kept[slotStart(int64(p[0]), l.archives[0].Step)] = p[1]
	}
	var times []int64
	start, end := g.millis()
	for at := range kept {
		if start <= at*1000 && at*1000 <= end {
			times = append(times, at*1000)
		}
	}
	slices.Sort(times)
	values := make([]float64, len(times))
	for i, at := range times {
		values[i] = kept[at/1000]
	}
	out := newSlots(g.slots())
	l.fill(g, out, times, values, nil)
	return out
}

func slotStart(at, step int64) int64 { return at - at%step }

func firstDifference(want []*float64, got []float64) int {
	if len(want) != len(got) {
		return 0
	}
	for i, w := range want {
		if w == nil != python.IsNone(got[i]) || w != nil && *w != got[i] {
			return i
		}
	}
	return -1
}

// A model of slots that looks at every point for every slot.
func TestFillAgainstModel(t *testing.T) {
	for seed := range scale.Of[uint64](t, "random grids", 200, 200, 20_000) {
		r := rand.New(rand.NewPCG(seed, 7))
		l := steady(1 + r.Int64N(100))
		from := 1_741_050_000 + r.Int64N(1000)
		g, ok := l.grid(from, from+r.Int64N(2000), from+r.Int64N(3000))
		if !ok {
			t.Fatal("nothing to read")
		}
		var times []int64
		var values []float64
		start, end := g.millis()
		for at := start + r.Int64N(5000); at <= end; at += 1 + r.Int64N(1+r.Int64N(30_000)) {
			times = append(times, at)
			values = append(values, []float64{1, math.NaN(), math.Inf(1), math.Float64frombits(0x7ff0000000000002), r.Float64()}[r.IntN(5)])
		}
		got := newSlots(g.slots())
		l.fill(g, got, times, values, nil)
		for slot := range got {
			want := python.None()
			for i, at := range times {
				if at/1000 >= g.start+int64(slot)*g.step && at/1000 < g.start+int64(slot+1)*g.step && !math.IsNaN(values[i]) {
					want = values[i]
				}
			}
			if got[slot] != want && !(python.IsNone(got[slot]) && python.IsNone(want)) {
				t.Fatalf("seed %d: slot %d of %v = %v, want %v", seed, slot, g, got[slot], want)
			}
		}
	}
}

func TestGridAtTheEdges(t *testing.T) {
	bounded := layout{archives: []conf.Archive{{Step: 10, Points: 30}, {Step: 60, Points: 60}}}
	for _, c := range []struct {
		name             string
		l                layout
		from, until, now int64
		want             grid
		ok               bool
	}{
		{"from is excluded", steady(10), 100, 120, 1000, grid{110, 130, 10, 0}, true},
		{"until beyond now", steady(10), 100, 900, 125, grid{110, 130, 10, 0}, true},
		{"empty window", steady(10), 101, 101, 1000, grid{110, 120, 10, 0}, true},
		{"future", steady(10), 101, 200, 100, grid{}, false},
		{"backwards", steady(10), 101, 100, 200, grid{}, false},
		{"before 1970", steady(10), -25, -5, 1000, grid{-20, 0, 10, 0}, true},
		{"far away", steady(60), math.MinInt64, math.MaxInt64, math.MaxInt64, grid{-farthest + 16, farthest + 44, 60, 0}, true},
		{"finest reaches back just so", bounded, 9700, 9800, 10000, grid{9710, 9810, 10, 0}, true},
		{"a second more", bounded, 9699, 9800, 10000, grid{9720, 9840, 60, 1}, true},
		{"older than all", bounded, 100, 6399, 10000, grid{}, false},
		{"just young enough", bounded, 100, 6400, 10000, grid{6420, 6480, 60, 1}, true},
		{"clipped", bounded, 100, 6600, 10000, grid{6420, 6660, 60, 1}, true},
	} {
		got, ok := c.l.grid(c.from, c.until, c.now)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: grid(%d, %d, %d) = %v, %v, want %v, %v", c.name, c.from, c.until, c.now, got, ok, c.want, c.ok)
		}
	}
}
