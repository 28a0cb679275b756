package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// ingestStore is an Appender that keeps the points that it gets.
type ingestStore struct {
	mu         sync.Mutex // guards all below
	names      []string   // by ref, from 1
	points     []string
	resolved   []string // the names of each Resolve
	appends    int
	resolveErr func(name string) error
	appendErr  func(points []string) error
	gate       chan struct{} // an append waits until it receives; nil: it does not
}

func (s *ingestStore) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs, errs := make([]storage.Ref, len(series)), make([]error, len(series))
	var names []string
	for i, one := range series {
		names = append(names, one.Metric)
		if s.resolveErr != nil {
			if errs[i] = s.resolveErr(one.Metric); errs[i] != nil {
				continue
			}
		}
		at := slices.Index(s.names, one.Metric)
		if at < 0 {
			at, s.names = len(s.names), append(s.names, one.Metric)
		}
		refs[i] = storage.Ref(at + 1)
	}
	s.resolved = append(s.resolved, strings.Join(names, " "))
	return refs, errs
}

func (s *ingestStore) Append(ctx context.Context, b *storage.Batch) error {
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appends++
	var points []string
	for i, ref := range b.Refs {
		points = append(points, fmt.Sprintf("%s %v@%d", s.names[ref-1], b.Values[i], b.Times[i]))
	}
	if s.appendErr != nil {
		if err := s.appendErr(points); err != nil {
			return err
		}
	}
	s.points = append(s.points, points...)
	return nil
}

// ingestDoor is a sink over an ingestStore.
type ingestDoor struct {
	*sink
	store *ingestStore
	log   bytes.Buffer
	now   time.Time
}

func newIngestDoor(t *testing.T, appends int, change ...func(*sinkOptions)) *ingestDoor {
	d := &ingestDoor{store: &ingestStore{}, now: time.Unix(1741060000, 0)}
	o := sinkOptions{
		Appender: d.store, Paths: func(name string) storage.Series { return storage.Series{Metric: strings.Trim(name, ".")} },
		CacheEntries: 1000, Appends: appends, Logger: slog.New(slog.NewTextHandler(&d.log, nil)), Registerer: prometheus.NewRegistry(),
		Now: func() time.Time { return d.now },
	}
	o.Refused = rejections.New(o.Logger, o.Now)
	for _, c := range change {
		c(&o)
	}
	d.sink = newSink(o)
	t.Cleanup(d.checkCounters(t))
	return d
}

func (d *ingestDoor) checkCounters(t *testing.T) func() {
	return func() {
		received, written, rejected, failed := d.counts()
		if received != written+rejected+failed {
			t.Errorf("%v points received; %v written, %v rejected, %v failed", received, written, rejected, failed)
		}
	}
}

func (d *ingestDoor) counts() (received, written, rejected, failed float64) {
	m := d.counters
	return testutil.ToFloat64(m.Received), testutil.ToFloat64(m.Written), testutil.ToFloat64(m.Rejected), testutil.ToFloat64(m.Failed)
}

func (d *ingestDoor) wantCounts(t *testing.T, want ...float64) {
	t.Helper()
	received, written, rejected, failed := d.counts()
	if got := []float64{received, written, rejected, failed}; !slices.Equal(got, want) {
		t.Errorf("received, written, rejected, failed: %v, want %v", got, want)
	}
}

func (d *ingestDoor) wantPoints(t *testing.T, want string) {
	t.Helper()
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	if got := strings.Join(d.store.points, "; "); got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
}

// parsePoints parses lines of a listener.
func parsePoints(t testing.TB, text string) (points []carbon.Point) {
	for line := range strings.Lines(text) {
		p, reason := carbon.ParseLine([]byte(strings.TrimSuffix(line, "\n")), 0)
		if reason != 0 {
			t.Fatalf("%s: %v", line, reason)
		}
		points = append(points, p)
	}
	return points
}

// New names are resolved once, in one call; the names of one series share its Ref.
func TestIngestResolvesOnce(t *testing.T) {
	d := newIngestDoor(t, 0)
	for range 2 {
		if err := d.Write(t.Context(), parsePoints(t, "a 1 10\nb 2 20\na 3 30\n.a 4 40\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Write(t.Context(), parsePoints(t, "b 5 50\nc 6 60\n")); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(d.store.resolved, "; "); got != "a b a; c" {
		t.Errorf("resolved %s, want a b a; c", got)
	}
	const first = "a 1@10000; b 2@20000; a 3@30000; a 4@40000; "
	d.wantPoints(t, first+first+"b 5@50000; c 6@60000")
	d.wantCounts(t, 10, 10, 0, 0)
	if d.store.appends != 3 {
		t.Errorf("%d appends, want 3", d.store.appends)
	}
}

// A name that the store refuses loses only its own points, is logged, and is not tried again for a
// while.
func TestIngestRefusedNames(t *testing.T) {
	d := newIngestDoor(t, 1)
	d.store.resolveErr = func(name string) error {
		if strings.HasPrefix(name, "bad") {
			return fmt.Errorf("resolve: %w: too long", []error{storage.ErrInvalid, storage.ErrLimit}[len(name)%2])
		}
		return nil
	}
	write := func() {
		if err := d.Write(t.Context(), parsePoints(t, "a 1 10\nbad 2 20\nbad2 3 30\nbad 4 40\nb 5 50\n")); err != nil {
			t.Fatal(err)
		}
	}
	write()
	d.wantPoints(t, "a 1@10000; b 5@50000")
	d.wantCounts(t, 5, 2, 3, 0)
	write()
	d.now = d.now.Add(2 * refusedTime)
	write()
	if got := strings.Join(d.store.resolved, "; "); got != "a bad bad2 b; bad bad2" {
		t.Errorf("resolved %s", got)
	}
	d.wantCounts(t, 15, 6, 9, 0)
	if text := d.log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "text=bad ") || !strings.Contains(text, "suppressed=1") {
		t.Errorf("log:\n%s", text)
	}
}

// The memory of refused names is bounded, however many there are.
func TestIngestRefusedMemory(t *testing.T) {
	r := newRefusedNames(nil)
	now, long := time.Unix(1741060000, 0), strings.Repeat("x", 16<<10)
	for i := range 1000 {
		r.add(t.Context(), fmt.Sprint(long, i), storage.ErrInvalid, now)
	}
	if n := r.names.Len(); n > 2*refusedBytes/len(long)+2 {
		t.Errorf("%d names of %d bytes are kept", n, len(long))
	}
	if !r.holds(long+"999", now) || r.holds(long+"0", now) {
		t.Error("the last name is not held, or the first is")
	}
	if r.holds(long+"999", now.Add(time.Hour)) {
		t.Error("a name is held after an hour")
	}
}

// A temporary error fails the whole write, which is then tried again.
func TestIngestErrors(t *testing.T) {
	d := newIngestDoor(t, 0)
	down := errors.New("no region server")
	d.store.resolveErr = func(name string) error {
		if name == "b" {
			return down
		}
		return nil
	}
	points := parsePoints(t, "a 1 10\nb 2 20\n")
	if err := d.Write(t.Context(), points); !errors.Is(err, down) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("error %v, want %v about b", err, down)
	}
	d.store.resolveErr = nil
	d.store.appendErr = func([]string) error { return down }
	if err := d.Write(t.Context(), points); !errors.Is(err, down) {
		t.Errorf("error %v, want %v", err, down)
	}
	// A deadline does not count as a refusal, whatever the store was doing.
	d.store.appendErr = func([]string) error { return errors.Join(storage.ErrLimit, context.DeadlineExceeded) }
	if err := d.Write(t.Context(), points); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	d.store.appendErr = func([]string) error { return fmt.Errorf("%w: such points", storage.ErrInvalid) }
	if err := d.Write(t.Context(), points); err != nil {
		t.Errorf("points that are refused for good: %v", err)
	}
	if !strings.Contains(d.log.String(), "such points") {
		t.Errorf("log:\n%s", d.log.String())
	}
	d.store.appendErr = nil
	if err := d.Write(t.Context(), points); err != nil {
		t.Error(err)
	}
	d.wantPoints(t, "a 1@10000; b 2@20000")
	d.wantCounts(t, 10, 2, 2, 6)
}

// begun begins a write and returns when it waits in the store.
func (d *ingestDoor) begun(ctx context.Context, points []carbon.Point) chan error {
	done := make(chan error, 1)
	go func() { done <- d.Write(ctx, points) }()
	synctest.Wait()
	return done
}

// Writes that come while an append runs are appended together, in their order.
func TestIngestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newIngestDoor(t, 1)
		d.store.gate = make(chan struct{})
		writes := []chan error{d.begun(t.Context(), parsePoints(t, "a 0 10\n"))}
		for i := range 10 {
			writes = append(writes, d.begun(t.Context(), parsePoints(t, fmt.Sprintf("a %d 10\nb %d 20\n", i+1, i+1))))
		}
		close(d.store.gate)
		for i, w := range writes {
			if err := <-w; err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		}
		if d.store.appends != 2 || len(d.store.points) != 21 || d.store.points[19] != "a 10@10000" {
			t.Errorf("%d appends of %v, want 2", d.store.appends, d.store.points)
		}
		d.wantCounts(t, 21, 21, 0, 0)
	})
}

// A group is bounded: writes that do not fit form the next group.
func TestIngestGroupSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newIngestDoor(t, 1)
		d.store.gate = make(chan struct{})
		large := slices.Repeat(parsePoints(t, "a 1 10\n"), ingest.GroupPoints-1)
		writes := []chan error{d.begun(t.Context(), large[:1])}
		for _, n := range []int{len(large), 1, 1, len(large), 2} {
			writes = append(writes, d.begun(t.Context(), large[:n]))
		}
		close(d.store.gate)
		for _, w := range writes {
			if err := <-w; err != nil {
				t.Error(err)
			}
		}
		if d.store.appends != 4 { // 1; large+1; 1+large; 2
			t.Errorf("%d appends, want 4", d.store.appends)
		}
	})
}

// In a group, a write fails only for its own names, and is refused only for its own points.
func TestIngestGroupErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newIngestDoor(t, 1)
		d.store.gate = make(chan struct{})
		d.store.resolveErr = func(name string) error {
			if name == "down" {
				return errors.New("no region server")
			}
			return nil
		}
		d.store.appendErr = func(points []string) error {
			if slices.ContainsFunc(points, func(p string) bool { return strings.HasPrefix(p, "bad ") }) {
				return storage.ErrInvalid
			}
			return nil
		}
		first := d.begun(t.Context(), parsePoints(t, "first 0 10\n"))
		good := d.begun(t.Context(), parsePoints(t, "a 1 10\nb 1 10\n"))
		down := d.begun(t.Context(), parsePoints(t, "down 2 10\na 2 20\n"))
		bad := d.begun(t.Context(), parsePoints(t, "bad 3 10\na 3 30\n"))
		also := d.begun(t.Context(), parsePoints(t, "a 4 40\n"))
		close(d.store.gate)
		if err := errors.Join(<-first, <-good, <-bad, <-also); err != nil {
			t.Error(err)
		}
		if err := <-down; err == nil || !strings.Contains(err.Error(), `"down"`) {
			t.Errorf("error %v, want one about down", err)
		}
		d.wantPoints(t, "first 0@10000; a 1@10000; b 1@10000; a 4@40000")
		d.wantCounts(t, 8, 4, 2, 2)
	})
}

// A write whose context ends leaves its group, whether it leads the group or joined it.
func TestIngestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newIngestDoor(t, 1)
		d.store.gate = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		first := d.begun(t.Context(), parsePoints(t, "first 0 10\n"))
		leader := d.begun(t.Context(), parsePoints(t, "a 1 10\n"))
		follower := d.begun(ctx, slices.Repeat(parsePoints(t, "b 2 20\n"), ingest.GroupPoints-1))
		cancel()
		if err := <-follower; !errors.Is(err, context.Canceled) {
			t.Errorf("a follower: %v", err)
		}
		// in its place
		other := d.begun(t.Context(), slices.Repeat(parsePoints(t, "c 3 30\n"), ingest.GroupPoints-1))
		close(d.store.gate)
		if err := errors.Join(<-first, <-leader, <-other); err != nil {
			t.Error(err)
		}
		if n := len(d.store.points); d.store.appends != 2 || n != ingest.GroupPoints+1 || d.store.points[n-1] != "c 3@30000" {
			t.Errorf("%d points in %d appends, want %d in 2", n, d.store.appends, ingest.GroupPoints+1)
		}

		d.store.gate = make(chan struct{})
		ctx, cancel = context.WithCancel(t.Context())
		first = d.begun(t.Context(), parsePoints(t, "first 3 30\n"))
		leader = d.begun(ctx, parsePoints(t, "a 4 40\n"))
		follower = d.begun(t.Context(), parsePoints(t, "b 5 50\n"))
		cancel()
		if err, err2 := <-leader, <-follower; !errors.Is(err, context.Canceled) || !errors.Is(err2, context.Canceled) {
			t.Errorf("a leader: %v, its follower: %v", err, err2)
		}
		close(d.store.gate)
		if err := <-first; err != nil {
			t.Error(err)
		}
		// of the first follower, and of the second leader and its follower
		const gone = ingest.GroupPoints - 1 + 2
		d.wantCounts(t, ingest.GroupPoints+2+gone, ingest.GroupPoints+2, 0, gone)
	})
}

// Once an append has begun, its points are in use until it ends.
func TestIngestDoesNotLeaveAnAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newIngestDoor(t, 1)
		d.store.gate = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		first := d.begun(t.Context(), parsePoints(t, "first 0 10\n"))
		leader := d.begun(t.Context(), parsePoints(t, "a 1 10\n"))
		follower := d.begun(ctx, parsePoints(t, "b 2 20\n"))
		d.store.gate <- struct{}{}
		synctest.Wait() // now the two are being appended
		cancel()
		synctest.Wait()
		select {
		case err := <-follower:
			t.Errorf("returned %v while its points are in use", err)
		default:
		}
		close(d.store.gate)
		if err := errors.Join(<-first, <-leader, <-follower); err != nil {
			t.Error(err)
		}
		d.wantPoints(t, "first 0@10000; a 1@10000; b 2@20000")
	})
}

// Many writers have names of their own and in common, and their memory is reused after each write.
func TestIngestConcurrently(t *testing.T) {
	d := newIngestDoor(t, 2)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 50 {
				points := parsePoints(t, fmt.Sprintf("own%d %d %d\nshared %d %d\nown%d.%d 1 1\n", n, i, i, 1000*n+i, 1000*n+i, n, i))
				if err := d.Write(t.Context(), points); err != nil {
					t.Error(err)
				}
				for _, p := range points {
					clear(p.Name)
				}
			}
		})
	}
	wg.Wait()
	if n := len(slices.Compact(slices.Sorted(slices.Values(d.store.points)))); n != 8*150 {
		t.Errorf("%d different points, want %d", n, 8*150)
	}
	for _, p := range d.store.points {
		var value, time int
		if _, err := fmt.Sscanf(p[strings.IndexByte(p, ' '):], "%d@%d", &value, &time); err != nil || time != 1000*value {
			t.Fatalf("%s: %v", p, err)
		}
	}
}

// nullAppender acknowledges everything.
type nullAppender struct{}

func (nullAppender) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	refs := make([]storage.Ref, len(series))
	for i := range refs {
		refs[i] = storage.Ref(i + 1)
	}
	return refs, nil
}

func (nullAppender) Append(context.Context, *storage.Batch) error { return nil }

func newNullIngest() *sink {
	return newSink(sinkOptions{
		Appender: nullAppender{}, Paths: func(name string) storage.Series { return storage.Series{Metric: name} },
		CacheEntries: 1_000_000, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: time.Now,
	})
}

// ingestPoints returns n series as a collector names them, one point each.
func ingestPoints(n int) []carbon.Point {
	points := make([]carbon.Point, n)
	for i := range points {
		points[i] = carbon.Point{Name: fmt.Appendf(nil, "servers.web-%04d.cpu.cpu%d.user", i/8, i%8), Time: 1741060000, Value: float64(i)}
	}
	return points
}

// A point of a known series allocates nothing.
func TestIngestAllocates(t *testing.T) {
	in, points := newNullIngest(), ingestPoints(2000)
	got := testing.AllocsPerRun(20, func() {
		if err := in.Write(t.Context(), points); err != nil {
			t.Fatal(err)
		}
	})
	if got > 50 { // the race detector adds some
		t.Errorf("%v allocations for 2000 known series, want at most 50", got)
	}
}

func BenchmarkIngest(b *testing.B) {
	const series = 5000
	points := ingestPoints(series)
	b.Run("known", func(b *testing.B) {
		in := newNullIngest()
		b.ReportAllocs()
		for b.Loop() {
			if err := in.Write(b.Context(), points); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/point")
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := newNullIngest().Write(b.Context(), points); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/point")
	})
}

// Points too far ahead of the clock are refused and logged, and register no series.
func TestIngestMaxFuture(t *testing.T) {
	d := newIngestDoor(t, 1, func(o *sinkOptions) { o.MaxFuture = time.Minute })
	soon, late := d.now.Add(time.Minute).Unix(), d.now.Add(time.Minute).Unix()+1
	if err := d.Write(t.Context(), parsePoints(t, fmt.Sprintf("a 1 %d\nb 2 %d\na 3 %d\n", soon, late, late))); err != nil {
		t.Fatal(err)
	}
	d.wantPoints(t, fmt.Sprintf("a 1@%d000", soon))
	d.wantCounts(t, 3, 1, 2, 0)
	if got := strings.Join(d.store.resolved, "; "); got != "a" {
		t.Errorf("resolved %s", got)
	}
	if text := d.log.String(); !strings.Contains(text, "--carbon.max-future") || !strings.Contains(text, "points=2") {
		t.Errorf("log: %s", text)
	}
}
