package pebble_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// The process that TestDeleteUnderKill kills is this test binary with the test itself, told by
// these variables where the store is and what to do.
const (
	killedFolder = "TSDBRIDGE_KILLED_STORE"
	killedSeed   = "TSDBRIDGE_KILLED_SEED"
)

const (
	killedSeries = 12
	killedHours  = 60
	killedBegin  = int64(1_700_000_400_000) // a whole hour
	killedHour   = int64(3600_000)
)

// step is one write or deletion of the process. It tells what it is about to do in a line, and ends
// the line when that was acknowledged.
type step struct {
	write  bool
	series []int
	// of a write: one point each hour, at this offset, with this value
	offset int64
	value  float64
	// of a deletion
	whole    bool
	from, to int64 // milliseconds
}

// randomStep is the same for the process and for the model of it.
func randomStep(rng *rand.Rand, n int) step {
	s := step{write: rng.IntN(3) > 0, value: float64(n)}
	for i := range killedSeries {
		if rng.IntN(3) == 0 {
			s.series = append(s.series, i)
		}
	}
	if rng.IntN(4) == 0 { // all series of the first metric
		s.series = []int{0, 1, 2, 3}
	}
	s.offset = rng.Int64N(6) * 600_000
	s.from = killedBegin + rng.Int64N(killedHours)*killedHour
	s.to = s.from + rng.Int64N(killedHours)*killedHour - 1
	switch rng.IntN(4) {
	case 0:
		s.whole = true
	case 1:
		s.from += rng.Int64N(killedHour)
	}
	return s
}

func killedList() []storage.Series {
	var list []storage.Series
	for i := range killedSeries {
		list = append(list, storetest.Series(fmt.Sprint("m", i/4), "host", fmt.Sprint(i)))
	}
	return list
}

// apply notes a step in a model: the value of each instant of each series.
func (s step) apply(model []map[int64]float64) {
	for _, i := range s.series {
		if !s.write {
			maps.DeleteFunc(model[i], func(at int64, _ float64) bool { return s.whole || at >= s.from && at <= s.to })
			continue
		}
		for h := range int64(killedHours) {
			model[i][killedBegin+h*killedHour+s.offset] = s.value
		}
	}
}

// run does a step.
func (s step) run(ctx context.Context, p *storetest.Process, refs []storage.Ref) error {
	if s.write {
		var b storage.Batch
		for _, i := range s.series {
			for h := range int64(killedHours) {
				b.Add(refs[i], killedBegin+h*killedHour+s.offset, s.value)
			}
		}
		return p.Append(ctx, &b)
	}
	d := storage.Deletion{Start: s.from, End: s.to, Whole: s.whole}
	for _, i := range s.series {
		d.Refs = append(d.Refs, refs[i])
	}
	_, err := p.Delete(ctx, d)
	return err
}

// startKilled opens the store of a folder.
func startKilled(t *testing.T, dir string) (*storetest.Process, func()) {
	t.Helper()
	db, err := pebble.Open(pebble.Options{Path: filepath.Join(dir, "store"), Tables: storetest.Tables()})
	if err != nil {
		t.Fatal(err)
	}
	p := storetest.Start(t, db, func(o *store.Options) {
		o.Mode = write.Buffered
		o.Buffer.Dir, o.Buffer.CheckInterval, o.Buffer.FlushDelay, o.Buffer.SegmentBytes = filepath.Join(dir, "log"), 5*time.Millisecond, 0, 1<<20
	})
	return p, func() {
		p.End()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// writeUntilKilled is the process. It tells on its output what it begins and what is acknowledged.
// Without a seed it writes nothing.
func writeUntilKilled(t *testing.T, dir string) {
	t.Helper()
	fmt.Println("starting")
	p, _ := startKilled(t, dir)
	fmt.Println("ready")
	var seed uint64
	if _, err := fmt.Sscan(os.Getenv(killedSeed), &seed); err != nil {
		select {}
	}
	refs, rng := p.Resolve(killedList()), rand.New(rand.NewPCG(seed, 0))
	for n := 0; ; n++ {
		fmt.Println("begin", n)
		if err := randomStep(rng, n).run(t.Context(), p, refs); err != nil {
			t.Fatal(err)
		}
		fmt.Println("done", n)
	}
}

// TestDeleteUnderKill kills a process with SIGKILL while it writes to a store and deletes from it,
// at random moments, again and again. What was acknowledged is there, in its order. The step that
// was under way has happened or not.
func TestDeleteUnderKill(t *testing.T) {
	if dir := os.Getenv(killedFolder); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	if testing.Short() {
		t.Skip("starts processes: left out with -short")
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	dir := t.TempDir()
	model := newKilledModel()
	steps, deletions := 0, 0
	for round := range scale.Of(t, "kills of a process that deletes", 3, 12, 150) {
		seed := rng.Uint64()
		acknowledged, began := runKilled(t, dir, fmt.Sprint(seed), time.Duration(rng.Int64N(int64(400*time.Millisecond))))
		for range rng.IntN(3) { // starts are killed too, while they finish a deletion
			runKilled(t, dir, "", time.Duration(rng.Int64N(int64(20*time.Millisecond))))
		}
		all := rand.New(rand.NewPCG(seed, 0))
		var last *step
		for n := range began {
			s := randomStep(all, n)
			if n == acknowledged {
				last = &s
				if !s.write {
					deletions++
				}
				break
			}
			s.apply(model)
		}
		steps += acknowledged
		if model = checkKilled(t, dir, model, last); t.Failed() {
			t.Fatalf("round %d, seed %d: %d steps, then %+v", round, seed, acknowledged, last)
		}
	}
	t.Logf("%d steps were acknowledged, and %d kills were in the middle of a deletion", steps, deletions)
}

// runKilled runs the process until some time after it is ready, or, without a seed, after it begins
// to start. It returns how many of its steps were acknowledged, and how many it began.
func runKilled(t *testing.T, dir, seed string, life time.Duration) (acknowledged, began int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestDeleteUnderKill$", "-test.v=false")
	cmd.Env = append(os.Environ(), killedFolder+"="+dir, killedSeed+"="+seed)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // it has ended
		}
		var n int
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "starting", "ready":
			if (word == "ready") != (seed != "") {
				continue
			}
			time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
		case "begin":
			_, _ = fmt.Sscan(rest, &n)
			began = n + 1
		case "done":
			_, _ = fmt.Sscan(rest, &n)
			acknowledged = n + 1
		default:
			t.Errorf("the process wrote: %s", line)
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the process ended by itself: %v\n%s", err, stderr.String())
	}
	return acknowledged, began
}

// checkKilled compares the store with the model, once its deletions are finished, and returns what
// it has. The last step, if there is one, has happened as a whole or not at all.
func checkKilled(t *testing.T, dir string, model []map[int64]float64, last *step) []map[int64]float64 {
	t.Helper()
	p, end := startKilled(t, dir)
	defer end()
	refs := p.Resolve(append(killedList(), storetest.Series("another", "host", "0")))
	// A deletion finishes all that came before it.
	if _, err := p.Delete(t.Context(), storage.Deletion{Refs: refs[killedSeries:], Start: 0, End: 0}); err != nil {
		t.Fatal(err)
	}
	got := newKilledModel()
	for points, err := range p.Select(t.Context(), storage.Query{Refs: refs, Start: 0, End: storage.MaxTime, Samples: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for n, at := range points.Times {
			got[slices.Index(refs, points.Ref)][at] = points.Values[n]
		}
	}
	without := cmp.Diff(model, got)
	if last != nil {
		last.apply(model)
	}
	if with := cmp.Diff(model, got); without != "" && with != "" {
		t.Errorf("without the last step (-want +got):\n%s\nwith it (-want +got):\n%s", without, with)
	}
	return got
}

func newKilledModel() []map[int64]float64 {
	model := make([]map[int64]float64, killedSeries)
	for i := range model {
		model[i] = map[int64]float64{}
	}
	return model
}
