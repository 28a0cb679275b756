package hbase

import (
	"fmt"
	"strings"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

const (
	// maxFuzzyKeys bounds the keys of a fuzzy filter: the server compares each of them with each
	// row that it does not skip.
	maxFuzzyKeys = 512
	// maxRegexpValues bounds the values in a regexp over all tags, as
	// tsd.query.filter.expansion_limit does in OpenTSDB.
	maxRegexpValues = 4096
)

// newFilter makes the filter with which a server leaves out rows and values that the scan does not
// want. It may pass more than m does, never less; nil passes all.
func newFilter(m *kv.Match, keysOnly, firstCell bool) (*pb.Filter, error) {
	var filters []filter.Filter
	if m != nil {
		if f := fuzzyFilter(m); f != nil {
			filters = append(filters, f)
		}
		if pattern := rowPattern(m); pattern != "" {
			filters = append(filters, rowFilter(pattern))
		}
	}
	// Filters see a row's cells after the time range and the columns have been applied, so the
	// first cell that they let pass is one that was asked for.
	if keysOnly && firstCell {
		filters = append(filters, filter.NewFirstKeyOnlyFilter())
	}
	if keysOnly {
		filters = append(filters, filter.NewKeyOnlyFilter(false))
	}
	switch len(filters) {
	case 0:
		return nil, nil
	case 1:
		return filters[0].ConstructPBFilter()
	default:
		return filter.NewList(filter.MustPassAll, filters...).ConstructPBFilter()
	}
}

// matchesNothing reports whether no key can satisfy m.
func matchesNothing(m *kv.Match) bool {
	if m == nil {
		return false
	}
	if m.Suffixes != nil && len(m.Suffixes) == 0 {
		return true
	}
	for _, t := range m.Tags {
		if t.Values != nil && len(t.Values) == 0 {
			return true
		}
	}
	return false
}

// fuzzyFilter lets the server jump from one wanted suffix to the next. In a mask 0 means that the
// byte must be equal, and 1 that it may be any. Only the bytes of the key are compared, so longer
// rows pass too. A mask without any 1 must not be sent: HBase takes it for one that it has already
// prepared, and passes everything.
func fuzzyFilter(m *kv.Match) filter.Filter {
	if len(m.Suffixes) == 0 || len(m.Suffixes) > maxFuzzyKeys || m.Prefix == 0 {
		return nil
	}
	pairs := make([]*filter.BytesBytesPair, len(m.Suffixes))
	for i, suffix := range m.Suffixes {
		key, mask := make([]byte, m.Prefix+len(suffix)), make([]byte, m.Prefix+len(suffix))
		copy(key[m.Prefix:], suffix)
		for j := range m.Prefix {
			mask[j] = 1
		}
		pairs[i] = filter.NewBytesBytesPair(key, mask)
	}
	return filter.NewFuzzyRowFilter(pairs)
}

// rowPattern returns the regexp that a row key must match, of the family that OpenTSDB uses (its
// QueryUtil.getRowKeyUIDRegex): the prefix, then the pairs wanted with any number of others between
// them. It is pure ASCII: the pattern travels as UTF-8, where a byte above 7F would arrive as
// another character. The server reads keys as ISO-8859-1, one character a byte.
func rowPattern(m *kv.Match) string {
	if len(m.Tags) == 0 {
		return ""
	}
	values := 0
	for _, t := range m.Tags {
		values += len(t.Values)
	}
	var p strings.Builder
	others := fmt.Sprintf("(?:.{%d})*", m.Key+m.Value)
	fmt.Fprintf(&p, "(?s)^.{%d}%s", m.Prefix, others) // (?s): a line feed is a byte like any other
	for _, t := range m.Tags {
		writeBytes(&p, t.Key)
		if t.Values == nil || values > maxRegexpValues {
			fmt.Fprintf(&p, ".{%d}", m.Value)
		} else {
			writeAny(&p, t.Values)
		}
		p.WriteString(others)
	}
	p.WriteString(`\z`) // not $, which would also match before a line feed at the end
	return p.String()
}

// writeAny writes an alternative.
func writeAny(p *strings.Builder, values [][]byte) {
	p.WriteString("(?:")
	for i, v := range values {
		if i > 0 {
			p.WriteByte('|')
		}
		writeBytes(p, v)
	}
	p.WriteByte(')')
}

func writeBytes(p *strings.Builder, b []byte) {
	for _, c := range b {
		fmt.Fprintf(p, `\x%02X`, c)
	}
}

func rowFilter(pattern string) filter.Filter {
	return filter.NewRowFilter(filter.NewCompareFilter(filter.Equal, newRegex(pattern)))
}

// newRegex returns a comparator for a Java regexp; 32 is DOTALL (HBase looks for a match anywhere,
// so patterns are anchored).
func newRegex(pattern string) *filter.RegexStringComparator {
	const dotAll = 32
	return filter.NewRegexStringComparator(pattern, dotAll, "ISO-8859-1", "JAVA")
}

func regexComparator(pattern string) *pb.Comparator {
	c, err := newRegex(pattern).ConstructPBComparator()
	if err != nil {
		panic(fmt.Sprintf("a comparator of constants does not marshal: %v", err))
	}
	return c
}
