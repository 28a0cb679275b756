package aggregator

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// bench is an Aggregator on a clock that is turned by hand, as testdata/record.py has carbon's.
type bench struct {
	*Aggregator
	rules *conf.AggregationRules
	now   int64
	sent  []string // TIME NAME VALUE TIMESTAMP
}

func newBench(t *testing.T, rules string, o Options) *bench {
	t.Helper()
	b := &bench{}
	var err error
	if b.rules, err = conf.ParseAggregationRules("rules", rules); err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Unix(b.now, 0) }
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 20
	}
	b.Aggregator = New(o)
	return b
}

// input gives the aggregator a point, and returns how many values there was no memory for.
func (b *bench) input(t *testing.T, name string, value float64, at int64) int {
	t.Helper()
	var inputs []Input
	err := b.rules.Of(name, func(rule *conf.AggregationRule, output string) {
		inputs = append(inputs, Input{NewTarget(rule, output), at, value})
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Add(inputs)
}

// turn turns the clock.
func (b *bench) turn(until int64) {
	for b.now < until {
		b.now++
		b.note(b.Sweep(nil))
	}
}

func (b *bench) note(results []Result) {
	for _, r := range results {
		b.sent = append(b.sent, fmt.Sprintf("%d %s %v %d", b.now, r.Name, r.Value, r.Time))
	}
}

// TestRecorded compares each result, and when it is sent, with carbon-aggregator's. A paragraph of
// testdata/recorded has options and rules, the next one points and, below a line, the results; the head of
// testdata/record.py tells how it was made.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	paragraphs := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for i := 0; i < len(paragraphs); i += 2 {
		head, rules, _ := strings.Cut(paragraphs[i], "\n")
		t.Run(fmt.Sprint(i/2), func(t *testing.T) { replay(t, head, rules, paragraphs[i+1]) })
	}
}

func replay(t *testing.T, head, rules, points string) {
	t.Helper()
	var o Options
	var writeBack string
	if _, err := fmt.Sscanf(head, "options intervals=%d writeback=%s", &o.MaxIntervals, &writeBack); err != nil {
		t.Fatal(err)
	}
	o.WriteBack, _ = strconv.ParseInt(writeBack, 10, 64) // "none" is 0
	b := newBench(t, rules, o)
	points, recorded, _ := strings.Cut(points, "\n----\n")
	lines := bufio.NewScanner(strings.NewReader(points))
	for lines.Scan() {
		var at, stamp int64
		var name, value string
		if n, _ := fmt.Sscan(lines.Text(), &at, &name, &value, &stamp); n == 2 {
			b.turn(at)
			continue
		}
		if b.now == 0 {
			b.now = at
			b.begin = time.Unix(at, 0)
		}
		b.turn(at)
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		b.input(t, name, number, stamp)
	}
	var want []string
	for line := range strings.Lines(recorded) {
		var at, stamp int64
		var name, value string
		if n, _ := fmt.Sscan(line, &at, &name, &value, &stamp); n < 4 {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%d %s %v %d", at, name, number, stamp))
	}
	slices.Sort(want)
	slices.Sort(b.sent)
	if diff := cmp.Diff(want, b.sent); diff != "" || len(want) < 10 {
		t.Errorf("carbon sends %d, we %d: %s", len(want), len(b.sent), diff)
	}
	if outputs, bytes := b.Stats(); outputs != 0 || bytes != 0 {
		t.Errorf("%d outputs with %d bytes are left", outputs, bytes)
	}
}

// TestMemory: what does not fit is dropped, and intervals that are complete make place at the next sweep.
func TestMemory(t *testing.T) {
	b := newBench(t, "s.<x> (60) = p50 <x>.*", Options{MaxIntervals: 1, MaxBytes: 4000})
	b.now = 10_000
	b.begin = time.Unix(b.now, 0)
	dropped, added := 0, 0
	for at := range int64(100) {
		dropped += b.input(t, "a.b", 1, at*60)
		added++
	}
	if _, bytes := b.Stats(); dropped == 0 || dropped > 70 || bytes > 4000 {
		t.Errorf("%d of %d dropped, %d bytes", dropped, added, bytes)
	}
	if dropped := b.input(t, "another.b", 1, b.now); dropped != 1 {
		t.Error("there is memory for one more output")
	}
	b.turn(10_001)
	if len(b.sent) != added-dropped {
		t.Errorf("%d sent, want %d", len(b.sent), added-dropped)
	}
	if dropped := b.input(t, "another.b", 1, b.now); dropped != 0 {
		t.Error("old intervals keep their memory")
	}
	b.turn(11_000)
	if outputs, bytes := b.Stats(); outputs != 0 || bytes != 0 {
		t.Errorf("%d outputs with %d bytes are left", outputs, bytes)
	}
}

// TestFuture: an interval of the far future is computed and forgotten.
func TestFuture(t *testing.T) {
	b := newBench(t, "s (10) = sum *", Options{MaxIntervals: 2})
	b.input(t, "a", 1, 1_000_000)
	b.input(t, "a", 2, 30)
	b.turn(20)
	if outputs, _ := b.Stats(); outputs != 1 {
		t.Errorf("%d outputs", outputs)
	}
	if diff := cmp.Diff([]string{"10 s 2 30", "10 s 1 1000000"}, b.sent); diff != "" {
		t.Error(diff)
	}
	b.input(t, "a", 3, 30)
	b.turn(100)
	if got := b.sent[len(b.sent)-1]; got != "30 s 5 30" {
		t.Error(got)
	}
}

// TestKeep: outputs of rules that hold no more are computed and forgotten, the others go on.
func TestKeep(t *testing.T) {
	b := newBench(t, "s (10) = sum a\nm (10) = max a", Options{MaxIntervals: 2})
	b.input(t, "a", 1, 5)
	rules, err := conf.ParseAggregationRules("rules", "s (10) = sum a\nm (20) = max a\n")
	if err != nil {
		t.Fatal(err)
	}
	b.note(b.Keep(rules, nil))
	b.rules = rules
	b.input(t, "a", 2, 6)
	b.note(b.Flush(nil))
	slices.Sort(b.sent)
	if diff := cmp.Diff([]string{"0 m 1 0", "0 m 2 0", "0 s 3 0"}, b.sent); diff != "" {
		t.Error(diff)
	}
	b.turn(100)
	if outputs, bytes := b.Stats(); outputs != 0 || bytes != 0 {
		t.Errorf("%d outputs with %d bytes are left", outputs, bytes)
	}
}
