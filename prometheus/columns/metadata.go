package columns

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
)

// AddMetadata adds the metadata of a series, as those of its metric family.
func (b *Batch) AddMetadata(ls labels.Labels, m metadata.Metadata) {
	if m.IsEmpty() {
		return
	}
	if b.Metadata == nil {
		b.Metadata = map[string]metadata.Metadata{}
	}
	b.Metadata[histogramcodec.Family(ls.Get(model.MetricNameLabel), m.Type)] = m
}
