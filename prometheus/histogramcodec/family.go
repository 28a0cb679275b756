package histogramcodec

import (
	"strings"

	"github.com/prometheus/common/model"
)

// Family returns the metric family of a series with a name. Series of a classic histogram or summary have a
// suffix.
func Family[T string | []byte](name T, kind model.MetricType) T {
	var suffixes []string
	switch kind {
	case model.MetricTypeHistogram, model.MetricTypeGaugeHistogram:
		suffixes = []string{"_bucket", "_sum", "_count", "_gsum", "_gcount"}
	case model.MetricTypeSummary:
		suffixes = []string{"_sum", "_count"}
	}
	for _, suffix := range suffixes {
		if len(name) > len(suffix) && strings.HasSuffix(string(name), suffix) {
			return name[:len(name)-len(suffix)]
		}
	}
	return name
}
