package hbase

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// following returns the first key after key; empty if there is none, for HBase takes no key longer
// than kv.MaxKeyLength, not even as a bound of a scan.
func following(key []byte) []byte {
	if len(key) < kv.MaxKeyLength {
		return append(slices.Clip(key), 0)
	}
	return firstAfter(key)
}

// clip returns a bound that HBase takes and that has the same keys before it; empty if all possible
// keys are before it.
func clip(bound []byte) []byte {
	if len(bound) <= kv.MaxKeyLength {
		return append([]byte(nil), bound...)
	}
	return firstAfter(bound[:kv.MaxKeyLength])
}

// firstAfter returns the first key that is greater than all keys beginning with prefix; empty if
// there is none.
func firstAfter(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			next := append([]byte(nil), prefix[:i+1]...)
			next[i]++
			return next
		}
	}
	return nil
}
