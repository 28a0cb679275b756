package write

import (
	"reflect"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// FuzzDeletion: bytes that are not the record of a deletion are an error and nothing worse, and a
// record is written again as it was.
func FuzzDeletion(f *testing.F) {
	x := index.New(schema.DefaultLayout())
	for n := range byte(5) {
		if _, _, err := x.Add([]byte{0, 0, 1, 0, 0, 1, 0, 0, n}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(deletionRecord(7, &Deletion{IDs: []index.ID{0, 3}, Start: 1, End: storage.MaxTime}, x))
	f.Add(deletionRecord(1<<63, &Deletion{IDs: []index.ID{4}, Whole: true, End: storage.MaxTime}, x))
	f.Add(deletionDoneRecord(1 << 63))
	f.Fuzz(func(t *testing.T, record []byte) {
		if !isDeletion(record) {
			return
		}
		if record[0] == recordDeletionDone {
			key, err := parseDeletionDone(record)
			if again, _ := parseDeletionDone(deletionDoneRecord(key)); err == nil && again != key {
				t.Fatalf("key %d became %d", key, again)
			}
			return
		}
		find := func(tsuid []byte) (index.ID, error) {
			id, _, err := x.Add(tsuid)
			return id, err
		}
		key, d, err := parseDeletion(record, find)
		if err != nil {
			return
		}
		keyAgain, again, err := parseDeletion(deletionRecord(key, &d, x), find)
		if err != nil || keyAgain != key || !reflect.DeepEqual(again, d) {
			t.Fatalf("%d %+v became %d %+v, %v", key, d, keyAgain, again, err)
		}
	})
}
