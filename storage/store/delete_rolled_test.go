package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

const rolledConfig = `{"aggregationIds":{"sum":0},"intervals":[{"table":"tsdb","preAggregationTable":"tsdb","interval":"1m","rowSpan":"1h","defaultInterval":true},
	{"table":"rolled","preAggregationTable":"rolled","interval":"1h","rowSpan":"1d"}]}`

// TestDeleteBesideRolledUp deletes a series while a value is put into its rollup table and slots into its archive. What of
// them stays has its series registered: a later deletion of all series of the metric must find it.
func TestDeleteBesideRolledUp(t *testing.T) {
	tables := append(storetest.Tables(), kv.Table{Name: "rolled", Families: []string{"t"}}, kv.Table{Name: "archive", Families: []string{"t"}})
	for name, start := range map[string]func(*testing.T, ...func(*store.Options)) (kv.KV, []*storetest.Process){
		"through": func(t *testing.T, o ...func(*store.Options)) (kv.KV, []*storetest.Process) {
			db := kv.NewMem(tables...)
			return db, []*storetest.Process{storetest.Start(t, db, o...)}
		},
		"buffered": func(t *testing.T, o ...func(*store.Options)) (kv.KV, []*storetest.Process) {
			db := kv.NewMem(tables...)
			return db, []*storetest.Process{storetest.StartBuffered(t, db, logtest.New(1), o...)}
		},
		"shared": func(t *testing.T, o ...func(*store.Options)) (kv.KV, []*storetest.Process) {
			db := kv.NewShared(tables...)
			o = append(o, func(o *store.Options) { o.Exclusive = false })
			return db, []*storetest.Process{storetest.Start(t, db, o...), storetest.Start(t, db, o...)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := rollup.ParseConfig([]byte(rolledConfig), func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			db, processes := start(t, func(o *store.Options) { o.Rollups, o.ArchiveTable = config, "archive" })
			r := rolledRace{t: t, db: db, one: processes[0], other: processes[len(processes)-1], hour: &config.Intervals[1]}
			for range 400 {
				r.round()
			}
			t.Logf("something was left after %d rounds", r.left)
		})
	}
}

// A rolledRace has one process delete what another, or the same, writes.
type rolledRace struct {
	t          *testing.T
	db         kv.KV
	one, other *storetest.Process
	hour       *rollup.Interval
	left       int // rounds after which something was left
}

func (r *rolledRace) round() {
	list := []storage.Series{storetest.Series("m", "host", "a")}
	refs, theirs := r.one.Resolve(list), r.other.Resolve(list)
	var b storage.Batch
	b.Add(refs[0], 1356998400000, 1)
	if err := r.one.Append(r.t.Context(), &b); err != nil {
		r.t.Fatal(err)
	}
	var both sync.WaitGroup
	both.Go(func() { // it may be refused while the deletion is unfinished
		_ = r.other.Rollups().Put(r.t.Context(), []rollup.Point{{Series: theirs[0], Time: 1356998400, Value: schema.Point{Bits: 1}, Interval: r.hour, Aggregation: "sum"}})
	})
	both.Go(func() {
		_ = r.other.Archives().Put(r.t.Context(), theirs[0], []storage.ArchiveSlots{{Step: 60, Times: []int64{1356998400}, Values: []float64{1}}})
	})
	both.Go(func() {
		if _, err := r.one.Delete(r.t.Context(), storage.Deletion{Refs: refs, Whole: true}); err != nil {
			r.t.Error(err)
		}
	})
	both.Wait()
	for r.one != r.other {
		err := r.other.FollowDeletions(r.t.Context())
		if err == nil {
			break
		}
		if r.t.Context().Err() != nil {
			r.t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // Run has its turn
	}
	left := r.rows("rolled") + r.rows("archive")
	if left > 0 {
		r.left++
	}
	if left > 0 && r.rows("tsdb-meta") == 0 {
		r.t.Fatalf("%d rows are left of a series that is not registered", left)
	}
	if _, err := r.one.Delete(r.t.Context(), storage.Deletion{Refs: refs, Whole: true}); err != nil {
		r.t.Fatal(err)
	}
	if left := r.rows("rolled") + r.rows("archive"); left > 0 {
		r.t.Fatalf("%d rows are left after a deletion", left)
	}
}

// rows returns how many rows a table has.
func (r *rolledRace) rows(table string) (n int) {
	family := "t"
	if table == "tsdb-meta" {
		family = "name"
	}
	for _, err := range r.db.Scan(r.t.Context(), kv.Scan{Table: table, Family: family}) {
		if err != nil {
			r.t.Fatal(err)
		}
		n++
	}
	return n
}
