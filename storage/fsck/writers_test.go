package fsck_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Tables that our writers write have no findings: numbers, special values, objects and annotations, in
// every mode, written once and corrected, compacted and deleted, by two stores at once.
func TestWriters(t *testing.T) {
	for seed := range uint64(6) {
		for _, exclusive := range []bool{true, false} {
			t.Run(fmt.Sprint(exclusive, seed), func(t *testing.T) { writers(t, exclusive, seed) })
		}
	}
}

func writers(t *testing.T, exclusive bool, seed uint64) {
	var db kv.KV = kv.NewShared(storetest.Tables()...)
	stores := 2
	if exclusive {
		db, stores = kv.NewMem(storetest.Tables()...), 1
	}
	r := rand.New(rand.NewPCG(seed, 5))
	var list []storage.Series
	for i := range 20 {
		list = append(list, storetest.Series(fmt.Sprint("m", i%3), "host", fmt.Sprint("h", i)))
	}
	var open []*storetest.Process
	m := storetest.NewModel(len(list))
	for i := range stores {
		change := func(o *store.Options) {
			o.Exclusive = exclusive
			o.Layout.SaltWidth, o.Layout.SaltBuckets = int(seed%2), 5
			if i > 0 || seed%3 == 0 {
				o.Mode = write.Through
			}
		}
		open = append(open, storetest.StartBuffered(t, db, logtest.New(seed), change))
	}
	for range 6 {
		for _, s := range open {
			refs := storetest.Resolve(t, s.Store, list...)
			var b storage.Batch
			for range 100 {
				m.AddRandom(r, &b, refs, 3*3600_000)
			}
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := open[0]
	if _, err := s.Annotations().Put(t.Context(), storage.MergeAnnotation, []storage.Annotation{{Start: 1356998410, Notes: "global"}, {Start: 1356998410500}}); err != nil {
		t.Fatal(err)
	}
	checker := s.Fsck(nil)
	for _, s := range open {
		s.End()
	}
	report, err := fsck.Run(t.Context(), checker, fsck.RunOptions{Parallel: 2, Every: time.Hour, Now: time.Now, Found: func(f fsck.Finding) { t.Error(f) }})
	if err != nil || report.Rows == 0 || report.Cells < report.Rows {
		t.Errorf("%+v, %v", report, err)
	}
}
