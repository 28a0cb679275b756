package kv

import (
	"bytes"
	"slices"
)

// Skip helps an engine that can seek: given a key that does not match, it appends to dst a greater
// key before which no key after the given one matches either. end means that no later key matches.
// Skip returns dst unchanged where it knows no better key than the one after the given key.
//
// It follows Matches step by step, so it works for any order of the pairs of other keys.
func (m *Match) Skip(dst, key []byte) (next []byte, end bool) {
	pair := m.Key + m.Value
	if len(key) < m.Prefix || pair <= 0 || m.Key < 0 || m.Value < 0 {
		return dst, false
	}
	bySuffix, end := m.skipSuffixes(key)
	if end {
		return dst, true
	}
	byTag, end := m.skipTags(key)
	if end {
		return dst, true
	}
	if bytes.Compare(bySuffix, byTag) < 0 {
		bySuffix = byTag
	}
	return append(dst, bySuffix...), false
}

// skipSuffixes goes to the next suffix under the prefix of key, or after the prefix.
func (m *Match) skipSuffixes(key []byte) (next []byte, end bool) {
	if m.Suffixes == nil {
		return nil, false
	}
	prefix, tags := key[:m.Prefix], key[m.Prefix:]
	at, _ := slices.BinarySearchFunc(m.Suffixes, tags, bytes.Compare)
	for at < len(m.Suffixes) && bytes.Equal(m.Suffixes[at], tags) {
		at++
	}
	if at == len(m.Suffixes) {
		return after(prefix)
	}
	return slices.Concat(prefix, m.Suffixes[at]), false
}

// skipTags finds the first pair at which Matches gives key up. All keys that share what is before
// that pair and have a pair between it and the next one wanted are given up there too.
func (m *Match) skipTags(key []byte) (next []byte, end bool) {
	pair, at := m.Key+m.Value, m.Prefix
	for _, want := range m.Tags {
		for {
			if len(key)-at < pair {
				return nil, false
			}
			tagKey, value := key[at:at+m.Key], key[at+m.Key:at+pair]
			c := bytes.Compare(tagKey, want.Key)
			if c > 0 {
				return after(key[:at])
			}
			if c < 0 {
				at += pair
				continue
			}
			if want.Values == nil {
				break
			}
			i, found := slices.BinarySearchFunc(want.Values, value, bytes.Compare)
			if found {
				break
			}
			if i == len(want.Values) {
				return after(key[:at])
			}
			return slices.Concat(key[:at], want.Key, want.Values[i]), false
		}
		at += pair
	}
	return nil, false
}

// after returns the first key after all those that begin with prefix; end means that there is none.
func after(prefix []byte) (next []byte, end bool) {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			next = bytes.Clone(prefix[:i+1])
			next[i]++
			return next, false
		}
	}
	return nil, true
}
