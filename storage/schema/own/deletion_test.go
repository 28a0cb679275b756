package own

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDeletionRecord(t *testing.T) {
	for _, d := range []Deletion{
		{State: DeletionBegun},
		{State: DeletionDone, Start: 1, End: 2, Whole: true, Until: 1_700_000_000_123, Parts: 4_000_000_000, Done: 5, Owner: "a1", Lease: 6},
		{State: DeletionSettled, End: 1<<63 - 1},
	} {
		if got, err := ParseDeletion(d.Record()); err != nil || got != d {
			t.Errorf("%s: %+v, %v", d.Record(), got, err)
		}
	}
	if d, err := ParseDeletion([]byte("state=done until=7 later=x")); err != nil || d.Until != 7 {
		t.Errorf("a field of a later version: %+v, %v", d, err)
	}
	for _, bad := range []string{"", "until=7", "state", "state=done start=x", "state=done parts=-1", "state=done parts=4294967296", "state=done whole=2"} {
		if d, err := ParseDeletion([]byte(bad)); err == nil {
			t.Errorf("ParseDeletion(%q) = %+v", bad, d)
		}
	}
}

// The journal lies between the trees' own rows and those of the first tree, in the order of the
// times, and apart from the TSUIDs and the leases.
func TestDeletionKey(t *testing.T) {
	start, stop := Deletions()
	first, second := DeletionKey(1_700_000_000_000, 9), DeletionKey(1_700_000_000_001, 1)
	series := DeletionSeriesKey(first, 3)
	for _, key := range [][]byte{first, second} {
		if !IsDeletionKey(key) || bytes.Compare(key, start) < 0 || bytes.Compare(key, stop) >= 0 || bytes.Compare(key, []byte{0, 1}) >= 0 {
			t.Errorf("key %q", key)
		}
	}
	if bytes.Compare(first, second) >= 0 {
		t.Error("the journal is not in the order of the times")
	}
	for _, key := range [][]byte{series, LeaseKey(nil)} {
		if IsDeletionKey(key) || bytes.Compare(key, start) >= 0 && bytes.Compare(key, stop) < 0 || bytes.Compare(key, []byte{0, 1}) >= 0 {
			t.Errorf("key %q is in the journal", key)
		}
	}
	if bytes.Equal(series, DeletionSeriesKey(second, 3)) || bytes.Equal(series, DeletionSeriesKey(first, 4)) {
		t.Error("two parts have one key")
	}
}

func FuzzDeletedSeries(f *testing.F) {
	f.Add(AppendDeletedSeries(nil, [][]byte{{1, 2, 3}, {}, bytes.Repeat([]byte{7}, 200)}))
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, value []byte) {
		tsuids, err := ParseDeletedSeries(value)
		if err != nil {
			return
		}
		again, err := ParseDeletedSeries(AppendDeletedSeries(nil, tsuids))
		if diff := cmp.Diff(tsuids, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
}
