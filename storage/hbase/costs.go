package hbase

import "github.com/tsdbridge/tsdbridge/storage/kv"

// Costs implements kv.Versioned. The figures follow from reference measurements on HBase 2.6, for
// rows of 360 points of which 200 among 200,000 are wanted: a multi-get takes 5 to 8 ms; a scan
// that a regexp filters on the server 301 ms; one that jumps by a fuzzy filter 12 ms; one of
// everything 840 ms. That a scan takes a millisecond to begin is an estimate.
func (*Engine) Costs() kv.Costs {
	return kv.Costs{Get: 30, Row: 4.2, Scan: 1000, Suffix: 4.2, Tag: 1.5, Leap: 60, Leaps: maxFuzzyKeys}
}
