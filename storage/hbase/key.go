package hbase

import "github.com/tsdbridge/tsdbridge/storage/kv"

// following is the first key after key; empty if there is none, for HBase takes no key longer than
// kv.MaxKeyLength, not even as a bound of a scan.
func following(key []byte) []byte {
	if len(key) < kv.MaxKeyLength {
		return append(key[:len(key):len(key)], 0)
	}
	return behind(key)
}

// clip returns a bound that HBase takes and that lies among the possible keys as this one does;
// empty if it is behind all of them.
func clip(bound []byte) []byte {
	if len(bound) <= kv.MaxKeyLength {
		return append([]byte(nil), bound...)
	}
	return behind(bound[:kv.MaxKeyLength])
}

// behind is the first key that is greater than all keys beginning with prefix; empty if there is
// none.
func behind(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			next := append([]byte(nil), prefix[:i+1]...)
			next[i]++
			return next
		}
	}
	return nil
}
