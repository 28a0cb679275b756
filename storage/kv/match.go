package kv

import (
	"bytes"
	"slices"
)

// Match is a condition on the tag part of a row key, the pairs of fixed width that follow the
// prefix (salt, metric and time in the data table, the metric alone in tsdb-meta). It is structural
// so that each engine may skip rows with what it has: seeks, fuzzy filters or row-key regexps. Each
// engine checks every key that it returns with Matches.
type Match struct {
	// Prefix is the number of bytes before the first pair; Key and Value are the widths of a pair's
	// halves.
	Prefix, Key, Value int
	// Tags must all be present in the row key. They are in ascending order of Key, which occurs
	// once.
	Tags []Tag
	// Suffixes, when not nil, are the only tag parts wanted, whole, in ascending order.
	Suffixes [][]byte
}

// A Tag is a condition on one pair of a row key.
type Tag struct {
	Key []byte
	// Values are the values allowed, in ascending order; nil allows any.
	Values [][]byte
}

// Matches reports whether a row key satisfies m. Keys whose tag part is no whole number of pairs
// never do.
func (m *Match) Matches(key []byte) bool {
	pair := m.Key + m.Value
	if len(key) < m.Prefix || pair <= 0 || (len(key)-m.Prefix)%pair != 0 {
		return false
	}
	tags := key[m.Prefix:]
	if m.Suffixes != nil {
		if _, ok := slices.BinarySearchFunc(m.Suffixes, tags, bytes.Compare); !ok {
			return false
		}
	}
	for _, want := range m.Tags {
		// Pairs are sorted by their bytes, so the scan for the next key goes on where the last one
		// ended.
		for {
			if len(tags) == 0 {
				return false
			}
			c := bytes.Compare(tags[:m.Key], want.Key)
			if c > 0 {
				return false
			}
			value := tags[m.Key:pair]
			tags = tags[pair:]
			if c == 0 {
				if want.Values != nil {
					if _, ok := slices.BinarySearchFunc(want.Values, value, bytes.Compare); !ok {
						return false
					}
				}
				break
			}
		}
	}
	return true
}
