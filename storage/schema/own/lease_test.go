package own

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLeaseRecord(t *testing.T) {
	for _, l := range []Lease{
		{},
		{Owner: "a1", Until: 1_700_000_000_123, Done: 3600, Again: 7200},
		{Done: 1356998400, From: 1356994800, To: 1356998400, At: []byte{0, 0xff, ' ', '='}, End: []byte{1}},
		{Walked: 1_700_000_000_123, Walk: 1_700_086_400_000, WalkAt: []byte{0, 0xff}},
	} {
		got, err := ParseLease(l.Record())
		if diff := cmp.Diff(l, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", l.Record(), err, diff)
		}
	}
	if l, err := ParseLease([]byte("done=7 later=x")); err != nil || l.Done != 7 {
		t.Errorf("a field of a later version: %+v, %v", l, err)
	}
	for _, bad := range []string{"done", "done=x", "done=-1", "done=4294967296", "until=", "at=0", "at=xy", "walk=x", "walked=", "walkat=0"} {
		if l, err := ParseLease([]byte(bad)); err == nil {
			t.Errorf("ParseLease(%q) = %+v", bad, l)
		}
	}
}

// Leases lie between the trees' own rows and those of the first tree.
func TestLeaseKey(t *testing.T) {
	for _, start := range [][]byte{nil, {0}, {0xff, 0xff, 0xff}} {
		key := LeaseKey(start)
		if got, ok := ParseLeaseKey(key); !ok || !bytes.Equal(got, start) {
			t.Errorf("ParseLeaseKey(LeaseKey(%x)) = %x, %v", start, got, ok)
		}
		if bytes.Compare(key, LeasesEnd()) >= 0 || bytes.Compare(key, []byte{0, 1}) >= 0 || len(key) == 2 {
			t.Errorf("LeaseKey(%x) = %x", start, key)
		}
	}
	if _, ok := ParseLeaseKey([]byte{0, 1}); ok {
		t.Error("the row of a tree is a lease")
	}
}
