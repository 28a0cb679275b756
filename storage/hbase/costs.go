package hbase

import "github.com/tsdbridge/tsdbridge/storage/kv"

// nearRows is how many rows lie between two that count as near. So many are in one block of a file, so
// rows that do not exist bring no further blocks into the cache, where a Get would see that from the
// file's Bloom filter.
const nearRows = 64

// Costs implements kv.Versioned. The figures follow from reference measurements on HBase 2.6, for
// rows of 360 points of which 200 among 200,000 are wanted: a multi-get takes 5 to 8 ms; a scan
// that a regexp filters on the server 301 ms; one that jumps by a fuzzy filter 12 ms; one of
// everything 840 ms. That a scan takes a millisecond to begin is an estimate. Rows that are near to
// each other take a third of the time of others.
func (*Engine) Costs() kv.Costs {
	return kv.Costs{Get: 30, Near: 10, NearRows: nearRows, Row: 4.2, Scan: 1000, Suffix: 4.2, Tag: 1.5, Leap: 60, Leaps: maxFuzzyKeys}
}
