package changes_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/changes"
)

// BenchmarkBatch is the cost of a batch of 2000 series: newer than what is watched, recent, and late.
func BenchmarkBatch(b *testing.B) {
	for _, c := range []struct {
		name string
		time int64
	}{{"newer", 6*hour + 1}, {"recent", 6*hour - 1000}, {"late", hour}} {
		b.Run(c.name, func(b *testing.B) {
			uids := [300]string{}
			for i := range uids {
				uids[i] = metricOf(storage.Ref(10 * i))
			}
			l := changes.New(func(ref storage.Ref) string { return uids[ref/10] }, now)
			l.Read(0, 6*hour)
			var batch storage.Batch
			for ref := range storage.Ref(2000) {
				batch.Refs, batch.Times = append(batch.Refs, ref), append(batch.Times, c.time)
			}
			for b.Loop() {
				l.Batch(&batch)
			}
		})
	}
}
