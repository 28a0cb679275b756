package openmetrics

import (
	"bytes"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"
)

// families are what the comments of a text say of its metric families. What one comment says of a family
// holds for that family alone, also when the comments of others come between.
type families struct {
	name string // of the last comment
	metadata.Metadata

	others map[string]metadata.Metadata // of earlier comments, as long as they are small
	bytes  int                          // of others
}

// familiesBytes bounds the memory for families whose comments may go on later.
const familiesBytes = 1 << 20

// begin makes a family the last one.
func (f *families) begin(name []byte) {
	if f.name == string(name) {
		return
	}
	if f.name != "" {
		f.keep()
	}
	known, ok := f.others[string(name)]
	if !ok {
		known.Type = model.MetricTypeUnknown
	}
	f.name, f.Metadata = string(name), known
}

// keep remembers the last family. When all of them become large, the earlier ones are forgotten.
func (f *families) keep() {
	size := sizeOf(f.name, f.Metadata)
	if earlier, ok := f.others[f.name]; ok {
		f.bytes -= sizeOf(f.name, earlier)
	}
	if f.others == nil || f.bytes+size > familiesBytes {
		f.others, f.bytes = map[string]metadata.Metadata{}, 0
	}
	if size <= familiesBytes {
		f.others[f.name] = f.Metadata
		f.bytes += size
	}
}

func sizeOf(name string, m metadata.Metadata) int { return len(name) + len(m.Help) + len(m.Unit) }

// has reports whether a series, as it is in the text, is one of the last family.
func (f *families) has(raw []byte) bool {
	if f.name == "" {
		return false
	}
	base, suffixes := f.name, suffixesOf(f.Type)
	switch f.Type {
	case model.MetricTypeCounter:
		base = strings.TrimSuffix(base, "_total") // of the text format
	case model.MetricTypeInfo:
		base = strings.TrimSuffix(base, "_info")
	}
	rest, ok := bytes.CutPrefix(bytes.TrimPrefix(raw, []byte(`{"`)), []byte(base))
	if !ok {
		return false
	}
	if end := bytes.IndexAny(rest, "{\" \t"); end >= 0 {
		rest = rest[:end]
	}
	return len(rest) == 0 || strings.Contains(suffixes, " "+string(rest)+" ")
}

// suffixesOf returns what names of series may have after that of their family, each between spaces.
func suffixesOf(kind model.MetricType) string {
	switch kind {
	case model.MetricTypeCounter:
		return " _total _created "
	case model.MetricTypeHistogram:
		return " _bucket _sum _count _created "
	case model.MetricTypeGaugeHistogram:
		return " _bucket _gsum _gcount _created "
	case model.MetricTypeSummary:
		return " _sum _count _created "
	case model.MetricTypeInfo:
		return " _info "
	}
	return ""
}
