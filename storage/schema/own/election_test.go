package own

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

func TestElectionRecord(t *testing.T) {
	for _, e := range []storage.Election{
		{},
		{Elected: "a", Since: 1_700_000_000_123, Heard: 1_700_000_015_000},
		{Elected: "with space = and \x00 ü", Since: -1, Heard: 1},
	} {
		if got, err := ParseElection(ElectionRecord(e)); err != nil || got != e {
			t.Errorf("ParseElection(%s) = %+v, %v", ElectionRecord(e), got, err)
		}
	}
	if e, err := ParseElection([]byte("heard=7 later=x")); err != nil || e.Heard != 7 {
		t.Errorf("a field of a later version: %+v, %v", e, err)
	}
	for _, bad := range []string{"heard", "heard=x", "elected=1", "since="} {
		if e, err := ParseElection([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, e)
		}
	}
	if e, err := ParseElection(nil); err != nil || e != (storage.Election{}) {
		t.Errorf("without a record: %+v, %v", e, err)
	}
}

// No key of an election is one of a tree, a branch or a lease.
func TestElectionKey(t *testing.T) {
	for _, name := range []string{"", "a", "\x00"} {
		key := ElectionKey(name)
		if len(key) == 2 || key[0] != 0 || key[1] != 0 {
			t.Errorf("ElectionKey(%q) = %x", name, key)
		}
		if _, ok := ParseLeaseKey(key); ok {
			t.Errorf("ElectionKey(%q) is a lease", name)
		}
	}
}
