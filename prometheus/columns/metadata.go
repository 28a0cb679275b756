package columns

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// AddMetadata adds the metadata of a series, as those of its metric family.
func (b *Batch) AddMetadata(ls labels.Labels, m metadata.Metadata) {
	if m.IsEmpty() {
		return
	}
	if b.Metadata == nil {
		b.Metadata = map[string]metadata.Metadata{}
	}
	b.Metadata[Family(ls.Get(model.MetricNameLabel), m.Type)] = m
}

// Family returns the metric family of a series. Series of a classic histogram or summary have a
// suffix.
func Family(name string, kind model.MetricType) string {
	var suffixes []string
	switch kind {
	case model.MetricTypeHistogram, model.MetricTypeGaugeHistogram:
		suffixes = []string{"_bucket", "_sum", "_count", "_gsum", "_gcount"}
	case model.MetricTypeSummary:
		suffixes = []string{"_sum", "_count"}
	}
	for _, suffix := range suffixes {
		if short, ok := strings.CutSuffix(name, suffix); ok && short != "" {
			return short
		}
	}
	return name
}
