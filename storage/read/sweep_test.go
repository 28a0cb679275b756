package read_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// cluster is a shared engine with costs of a test's choice, which cuts scans at random, counts the
// rows of points that are read, and fails after some of them.
type cluster struct {
	*kv.Shared
	costs kv.Costs
	rows  atomic.Int64 // of points, asked for or gone over
	gets  atomic.Int64 // requests for rows of points
	nears atomic.Int64 // of them, for rows that are near to each other
	fail  atomic.Int64 // rows until a failure; below 0: never
	err   error
}

func newCluster(costs kv.Costs) *cluster {
	c := &cluster{Shared: kv.NewShared(storetest.Tables()...), costs: costs, err: errors.New("region on fire")}
	c.fail.Store(math.MinInt64)
	return c
}

func (c *cluster) Costs() kv.Costs { return c.costs }

// Split cuts within rows of hours, as regions do that were split in the middle.
func (c *cluster) Split(_ context.Context, s kv.Scan, n int) ([]kv.Scan, error) {
	var keys [][]byte
	for i := 1; i < n; i++ {
		key := slices.Clone(s.Start)
		key[len(key)-1] += byte(37 * i)
		key[len(key)/2] += byte(i % 2)
		keys = append(keys, key)
	}
	slices.SortFunc(keys, slices.Compare)
	return kv.SplitAt(s, keys), nil
}

func (c *cluster) see(n int) error {
	c.rows.Add(int64(n))
	if left := c.fail.Add(int64(-n)); left < 0 && left > math.MinInt64/2 {
		return c.err
	}
	return nil
}

func (c *cluster) GetStored(
	ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []kv.StoredCell) error,
) error {
	if table == "tsdb" {
		c.gets.Add(1)
		if near {
			c.nears.Add(1)
		}
		if err := c.see(len(keys)); err != nil {
			return err
		}
	}
	return c.Shared.GetStored(ctx, table, family, keys, near, visit)
}

func (c *cluster) ScanStored(ctx context.Context, s kv.Scan, visit func(key []byte, cells []kv.StoredCell) error) error {
	if s.RowsRead != nil {
		defer func(n int64) { c.rows.Add(s.RowsRead.Load() - n) }(s.RowsRead.Load())
	}
	return c.Shared.ScanStored(ctx, s, func(key []byte, cells []kv.StoredCell) error {
		n := 1
		if s.RowsRead != nil {
			n = 0
		}
		if err := c.see(n); err != nil {
			return err
		}
		return visit(key, cells)
	})
}

// Costs by which a plan is chosen for nearly everything.
var favourites = map[string]kv.Costs{
	"rows":   {Get: 1, Row: 1000, Scan: 1, Suffix: 1000},
	"near":   {Get: 1000, Near: 1, NearRows: 1000, Row: 1000, Scan: 1, Suffix: 1000},
	"range":  {Get: 1000, Row: 1, Scan: 1, Suffix: 1},
	"regexp": {Get: 1000, Row: 1, Scan: 1, Suffix: 100, Tag: 0.01},
	"fuzzy":  {Get: 1000, Row: 1000, Scan: 1, Suffix: 1000, Leap: 1, Leaps: 512},
	"mixed":  {Get: 3, Row: 2, Scan: 20, Suffix: 2, Tag: 1, Leap: 4, Leaps: 10},
}

// TestSweepAgainstModel reads any of many series of a shared store over any range, in any order, by
// every plan, with and without salt, in one sweep and in many, while points are in the head, in the
// log and in the table. Every answer is that of a plain list.
func TestSweepAgainstModel(t *testing.T) {
	for name, costs := range favourites {
		for seed := range scale.Of[uint64](t, "random shared stores by plan "+name, 2, 3, 30) {
			t.Run(fmt.Sprint(name, " seed ", seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 17))
				db, disk := newCluster(costs), logtest.New(seed)
				change := func(o *store.Options) {
					o.Exclusive = false
					o.Layout.SaltWidth, o.Layout.SaltBuckets = int(seed%2), 3
					o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60
					o.SweepBytes = []int64{0, 1, 60_000}[r.IntN(3)]
				}
				var list []storage.Series
				for i := range 150 {
					list = append(list, storetest.Series(fmt.Sprint("m", i%3%2), "grp", fmt.Sprint(i%7), "host", fmt.Sprint("h", i)))
				}
				s := storetest.StartBuffered(t, db, disk, change)
				refs := storetest.Resolve(t, s.Store, list...)
				m := storetest.NewModel(len(refs))
				for range 6 {
					writeSome(t, r, m, s.Store, refs)
					checkSome(t, r, m, s.Store, refs)
					if r.IntN(2) == 0 {
						continue
					}
					s.End()
					s = storetest.StartBuffered(t, db, disk, change)
					refs = storetest.Resolve(t, s.Store, list...)
					checkSome(t, r, m, s.Store, refs)
				}
				m.Check(t, s.Store, refs, 0, storage.MaxTime)
				m.Check(t, s.Store, refs, t0, t0+4*3600_000)
			})
		}
	}
}

// wide opens a shared store with n series of one point in each of some hours, in an order that is
// not that of their rows.
func wide(t *testing.T, db kv.KV, n, hours, salt int, sweepBytes int64) (*store.Store, []storage.Ref) {
	t.Helper()
	s := storetest.Open(t, db, func(o *store.Options) {
		o.Exclusive, o.SweepBytes = false, sweepBytes
		o.Layout.SaltWidth, o.Layout.SaltBuckets = salt, 3
	})
	refs := hosts(t, s, n, hours)
	rand.New(rand.NewPCG(7, 7)).Shuffle(n, func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
	return s, refs
}

// readParts reads all series in parts and returns how many points there were.
func readParts(ctx context.Context, s *store.Store, q storage.Query) (points int, err error) {
	w := &countWorkers{}
	err = s.SelectParts(ctx, q, func() storage.PartWorker { return &countWorker{all: w} })
	return int(w.points.Load()), err
}

type countWorkers struct{ points atomic.Int64 }

type countWorker struct {
	all *countWorkers
	n   int
}

func (w *countWorker) Take(_ context.Context, p storage.Part) error {
	w.n = 0
	for i := range p.Points {
		w.n += p.Points[i].Len()
	}
	return nil
}

func (w *countWorker) Commit(context.Context) error {
	w.all.points.Add(int64(w.n))
	return nil
}

// One pass over the rows of the answer's hours serves all groups of series, whatever their order;
// when only a part of the series may be held at a time, there are as many passes as parts.
func TestSweepReadsRowsOnce(t *testing.T) {
	const n, hours = 3000, 5
	for _, salt := range []int{0, 1} {
		for _, c := range []struct {
			name   string
			limit  int64
			passes int64 // at most
		}{{"one sweep", 0, 1}, {"many sweeps", 150_000, 10}} {
			db := newCluster(favourites["range"])
			s, refs := wide(t, db, n, hours, salt, c.limit)
			q := storage.Query{Refs: refs, Start: t0 + 3600_000, End: t0 + 3*3600_000 - 1, Samples: true}
			for _, q.PartSeries = range []int{0, 10} {
				db.rows.Store(0)
				points, err := readParts(t.Context(), s, q)
				rows := db.rows.Load()
				if err != nil || points != 2*n || rows > c.passes*2*n*105/100 || rows < 2*n {
					t.Errorf("salt %d, %s: %d points, %v, %d rows read, want %d points and at most %d rows", salt, c.name, points, err, rows, 2*n, c.passes*2*n)
				}
			}
			if c.limit > 0 {
				continue
			}
			// Select has groups of its own.
			db.rows.Store(0)
			if points := selectCount(t, s, q); points != 2*n || db.rows.Load() != 2*n {
				t.Errorf("salt %d: Select gave %d points of %d rows, want %d of %d", salt, points, db.rows.Load(), 2*n, 2*n)
			}
			checkReport(t, s, q)
		}
	}
}

func selectCount(t *testing.T, s *store.Store, q storage.Query) (points int) {
	t.Helper()
	for p, err := range s.Select(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		points += p.Len()
	}
	return points
}

// checkReport compares the report of plans with the queries before.
func checkReport(t *testing.T, s *store.Store, q storage.Query) {
	t.Helper()
	plans, err := s.Plan(q)
	if err != nil || len(plans) != 1 {
		t.Fatal(plans, err)
	}
	p, rows := plans[0], int64(2*len(q.Refs))
	if p.Kind != "range" || p.RowsExpected < rows || p.RowsExpected > rows*11/10 || p.Last == nil || p.Last.RowsRead != rows || p.Last.Took <= 0 {
		t.Errorf("plan %+v, last %+v", p, p.Last)
	}
}

// A failure at any row fails the answer, in the first sweep and in a later one, and the memory goes
// back.
func TestSweepFails(t *testing.T) {
	const n = 600
	for _, name := range []string{"range", "regexp", "rows"} {
		db := newCluster(favourites[name])
		s, refs := wide(t, db, n, 2, 1, 15_000)
		q := storage.Query{Refs: refs, Start: t0, End: t0 + 7200_000, Samples: true}
		queries := query.NewBudget(64 << 20)
		for fail := int64(0); fail < 2*n; fail += 131 {
			account := queries.Open()
			db.fail.Store(fail)
			_, err := readParts(query.WithAccount(t.Context(), account), s, q)
			db.fail.Store(math.MinInt64)
			if !errors.Is(err, db.err) {
				t.Errorf("%s, failure after %d rows: %v", name, fail, err)
			}
			account.Close()
			if queries.Used() != 0 {
				t.Errorf("%s: %d bytes held after a failure", name, queries.Used())
			}
		}
		account := queries.Open()
		if points, err := readParts(query.WithAccount(t.Context(), account), s, q); err != nil || points != 2*n {
			t.Errorf("%s: %d points, %v", name, points, err)
		}
		if account.Held() != 0 {
			t.Errorf("%s: %d bytes held after an answer", name, account.Held())
		}
	}
}

// A budget that is too small for all rows at once is not an error: series wait for another sweep.
func TestSweepWithinBudget(t *testing.T) {
	const n = 4000
	db := newCluster(favourites["range"])
	s, refs := wide(t, db, n, 2, 0, 0)
	q := storage.Query{Refs: refs, Start: t0, End: t0 + 7200_000, Samples: true, PartSeries: 50}
	for _, size := range []int64{4 << 20, 64 << 20} {
		queries := query.NewBudget(size)
		db.rows.Store(0)
		points, err := readParts(query.WithAccount(t.Context(), queries.Open()), s, q)
		if err != nil || points != 2*n {
			t.Errorf("budget %d: %d points, %v", size, points, err)
		}
		t.Logf("budget %d: %d rows read for %d", size, db.rows.Load(), 2*n)
	}
}

// Rows that are near to each other in the whole query are read as such, also where a part of it has few of
// them.
func TestNearRowsOfParts(t *testing.T) {
	for _, salt := range []int{0, 1} {
		db := newCluster(kv.Costs{Get: 30, Near: 10, NearRows: 4, Row: 10, Scan: 1000, Suffix: 10})
		s, refs := wide(t, db, 2000, 2, salt, 0)
		for _, c := range []struct {
			series int
			near   bool
		}{{500, true}, {300, false}} {
			db.gets.Store(0)
			db.nears.Store(0)
			q := storage.Query{Refs: refs[:c.series], Start: t0, End: t0 + 2*3600_000 - 1, Samples: true, PartSeries: 100 * (1 + 2*salt)}
			points, err := readParts(t.Context(), s, q)
			gets, nears := db.gets.Load(), db.nears.Load()
			if err != nil || points != 2*c.series || gets == 0 || c.near && nears != gets || !c.near && nears > 0 {
				t.Errorf("salt %d, %d series: %d points, %v, in %d requests, %d of them for near rows", salt, c.series, points, err, gets, nears)
			}
		}
	}
}

// On HBase's costs, few series of a large metric are read by their keys, by leaps when the range has
// too many hours for that, some by keys that are near to each other or else by the tags that they share, and
// all in a range.
func TestPlansOfACluster(t *testing.T) {
	db := newCluster(kv.Costs{Get: 30, Near: 10, NearRows: 64, Row: 4.2, Scan: 1000, Suffix: 4.2, Tag: 1.5, Leap: 60, Leaps: 512})
	s := storetest.Open(t, db, func(o *store.Options) { o.Exclusive = false })
	var list []storage.Series
	for i := range 20_000 {
		list = append(list, storetest.Series("m", "grp", fmt.Sprint("g", i%5), "host", fmt.Sprint("h", i)))
	}
	refs := storetest.Resolve(t, s, list...)
	var group []storage.Ref
	for i := 0; i < len(refs); i += 5 {
		group = append(group, refs[i])
	}
	for _, c := range []struct {
		refs  []storage.Ref
		hours int64
		want  string
	}{
		{refs[:1], 2, "rows"},
		{refs[:100], 2, "rows"},
		{refs[:1], 2000, "fuzzy"},
		{refs[:100], 2000, "fuzzy"},
		{refs[:310], 2, "near"},
		{group, 2, "near"},
		{group, 2000, "regexp"},
		{refs, 2, "range"},
		{refs, 2000, "range"},
	} {
		plans, err := s.Plan(storage.Query{Refs: c.refs, Start: t0, End: t0 + c.hours*3600_000 - 1, Samples: true})
		if err != nil || len(plans) != 1 || plans[0].Kind != c.want {
			t.Errorf("%d series × %d h: %+v, %v, want %s", len(c.refs), c.hours, plans, err, c.want)
		}
	}
}
