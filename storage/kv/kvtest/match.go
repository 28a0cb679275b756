package kvtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// testMatch writes keys of random pairs in several layouts and scans them with random conditions,
// many of which existing keys satisfy. The bytes are those with a meaning in a regular expression,
// in Java's \Q…\E quoting, in text decoders, and in arithmetic on bounds.
func testMatch(s *suite) {
	for i, layout := range []kv.Match{
		{Prefix: 3 + 4, Key: 3, Value: 3},     // the data table
		{Prefix: 1 + 3 + 4, Key: 3, Value: 3}, // salted
		{Prefix: 3, Key: 3, Value: 3},         // tsdb-meta
		{Prefix: 2 + 1 + 4, Key: 2, Value: 4}, // other widths
	} {
		first := byte(0xe0 + i)
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		keys := matchKeys(rng, layout, first)
		var rows []kv.Mutation
		for _, key := range keys {
			rows = append(rows, kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte("q"), Value: key}}})
		}
		s.apply(rows...)
		matched := 0
		for n := range 60 {
			m := randomMatch(rng, layout, keys)
			matched += s.compareMatch(m, first, keys, n%3 == 0)
			if s.Failed() {
				return
			}
		}
		if matched == 0 {
			s.Errorf("layout %+v: no condition held for any key", layout)
		}
	}
}

func (s *suite) compareMatch(m *kv.Match, first byte, keys [][]byte, keysOnly bool) (matched int) {
	s.Helper()
	var want, got []string
	for _, key := range keys {
		if holds(m, key) {
			want = append(want, fmt.Sprintf("%x", key))
		}
	}
	scan := kv.Scan{
		Table: dataTable, Family: dataFamily, Start: []byte{first}, Stop: []byte{first + 1}, Match: m, KeysOnly: keysOnly,
	}
	for _, row := range s.scan(scan) {
		got = append(got, fmt.Sprintf("%x", row.Key))
		if !keysOnly && (len(row.Cells) != 1 || !bytes.Equal(row.Cells[0].Value, row.Key)) {
			s.Errorf("row %x has cells %v", row.Key, row.Cells)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("scan with %s differs (-want +got):\n%s", describe(m), diff)
	}
	if scan.Limit = len(want) / 2; scan.Limit > 0 {
		if rows := s.scan(scan); len(rows) != scan.Limit {
			s.Errorf("scan with %s gave %d rows, its limit is %d", describe(m), len(rows), scan.Limit)
		}
	}
	return len(want)
}

// holds implements the contract of kv.Match in another way than Match.Matches.
func holds(m *kv.Match, key []byte) bool {
	if len(key) < m.Prefix {
		return false
	}
	part := key[m.Prefix:]
	pairs := map[string]string{}
	for rest := part; len(rest) > 0; rest = rest[m.Key+m.Value:] {
		if len(rest) < m.Key+m.Value {
			return false
		}
		pairs[string(rest[:m.Key])] = string(rest[m.Key : m.Key+m.Value])
	}
	for _, tag := range m.Tags {
		value, ok := pairs[string(tag.Key)]
		among := func(v []byte) bool { return string(v) == value }
		if !ok || tag.Values != nil && !slices.ContainsFunc(tag.Values, among) {
			return false
		}
	}
	whole := func(suffix []byte) bool { return bytes.Equal(suffix, part) }
	return m.Suffixes == nil || slices.ContainsFunc(m.Suffixes, whole)
}

// matchKeys returns keys with no pair to six pairs each; some have extra bytes.
func matchKeys(rng *rand.Rand, layout kv.Match, first byte) [][]byte {
	tagKeys := pool(rng, 8, layout.Key)
	values := pool(rng, 12, layout.Value)
	prefixes := pool(rng, 5, layout.Prefix-1)
	var keys [][]byte
	for range 600 {
		key := append([]byte{first}, pick(rng, prefixes)...)
		for _, tagKey := range tagKeys {
			if rng.IntN(2) == 0 {
				key = append(append(key, tagKey...), pick(rng, values)...)
			}
		}
		if rng.IntN(10) == 0 {
			key = append(key, nasty(rng, 1+rng.IntN(layout.Key+layout.Value-1))...)
		}
		keys = append(keys, key)
	}
	keys = append(keys, []byte{first}) // shorter than the prefix
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}

func randomMatch(rng *rand.Rand, layout kv.Match, keys [][]byte) *kv.Match {
	m := layout
	pair := m.Key + m.Value
	// The pairs of one key, so that the scan finds something.
	model := pick(rng, keys)
	for len(model) < m.Prefix || (len(model)-m.Prefix)%pair != 0 {
		model = pick(rng, keys)
	}
	for rest := model[m.Prefix:]; len(rest) > 0; rest = rest[pair:] {
		if rng.IntN(3) > 0 {
			continue
		}
		tag := kv.Tag{Key: rest[:m.Key]}
		switch rng.IntN(4) {
		case 0: // any
		case 1:
			tag.Values = [][]byte{rest[m.Key:pair]}
		default:
			tag.Values = append(pool(rng, 3, m.Value), rest[m.Key:pair])
		}
		m.Tags = append(m.Tags, sortedTag(tag))
	}
	if rng.IntN(8) == 0 {
		m.Tags = append(m.Tags, kv.Tag{Key: nasty(rng, m.Key)})
	}
	slices.SortFunc(m.Tags, func(a, b kv.Tag) int { return bytes.Compare(a.Key, b.Key) })
	m.Tags = slices.CompactFunc(m.Tags, func(a, b kv.Tag) bool { return bytes.Equal(a.Key, b.Key) })
	switch rng.IntN(4) {
	case 0:
		for range 1 + rng.IntN(40) {
			if key := pick(rng, keys); len(key) >= m.Prefix && (len(key)-m.Prefix)%pair == 0 {
				m.Suffixes = append(m.Suffixes, key[m.Prefix:])
			}
		}
		m.Suffixes = append(m.Suffixes, model[m.Prefix:], nasty(rng, pair))
		slices.SortFunc(m.Suffixes, bytes.Compare)
		m.Suffixes = slices.CompactFunc(m.Suffixes, bytes.Equal)
	case 1:
		if rng.IntN(4) == 0 {
			m.Suffixes = [][]byte{} // none is wanted
		}
	}
	return &m
}

func sortedTag(t kv.Tag) kv.Tag {
	slices.SortFunc(t.Values, bytes.Compare)
	t.Values = slices.CompactFunc(t.Values, bytes.Equal)
	return t
}

// pool returns n random strings of a width, sorted, each once.
func pool(rng *rand.Rand, n, width int) [][]byte {
	var all [][]byte
	for range n {
		all = append(all, nasty(rng, width))
	}
	slices.SortFunc(all, bytes.Compare)
	return slices.CompactFunc(all, bytes.Equal)
}

func nasty(rng *rand.Rand, n int) []byte {
	const bytes = "\x00\x01\n\r\\EQ.*+?()[]{}^$|-\x7f\x80\x85\xc3\xa9\xfe\xff"
	b := make([]byte, n)
	for i := range b {
		b[i] = bytes[rng.IntN(len(bytes))]
	}
	if n >= 2 && rng.IntN(4) == 0 {
		copy(b[rng.IntN(n-1):], `\E`)
	}
	return b
}

func pick(rng *rand.Rand, from [][]byte) []byte { return from[rng.IntN(len(from))] }

func describe(m *kv.Match) string {
	var b []byte
	b = fmt.Appendf(b, "prefix %d, pairs of %d+%d", m.Prefix, m.Key, m.Value)
	for _, t := range m.Tags {
		b = fmt.Appendf(b, ", tag %x in %x", t.Key, t.Values)
	}
	if m.Suffixes != nil {
		b = fmt.Appendf(b, ", suffix in %x", m.Suffixes)
	}
	return string(b)
}
