package openmetrics

import (
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// End ends a text of OpenMetrics.
const End = "# EOF\n"

// AppendSeries appends the name and the labels of a series, as they begin a line.
func AppendSeries(dst []byte, ls labels.Labels) []byte {
	name := ls.Get(model.MetricNameLabel)
	legacy := model.LegacyValidation.IsValidMetricName(name)
	if legacy {
		dst = append(dst, name...)
	}
	dst = append(dst, '{')
	first := true
	add := func(text string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, text...)
	}
	if !legacy && name != "" {
		add(quoted(name))
	}
	ls.Range(func(l labels.Label) {
		switch {
		case l.Name == model.MetricNameLabel:
		case model.LegacyValidation.IsValidLabelName(l.Name):
			add(l.Name + "=" + quoted(l.Value))
		default:
			add(quoted(l.Name) + "=" + quoted(l.Value))
		}
	})
	return append(dst, '}')
}

func quoted(s string) string { return `"` + escaped(s) + `"` }

func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(s)
}

// AppendSample appends the value and the time (milliseconds) after a series, and ends the line. All
// NaNs look alike.
func AppendSample(dst []byte, v float64, at int64) []byte {
	dst = append(dst, ' ')
	switch {
	case math.IsInf(v, 1):
		dst = append(dst, "+Inf"...)
	default:
		dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	}
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, at/1000, 10)
	if part := at % 1000; part != 0 {
		dst = append(dst, '.', byte('0'+part/100), byte('0'+part/10%10), byte('0'+part%10))
	}
	return append(dst, '\n')
}

// AppendMetadata appends what is known of the metric of a series, if it is a counter or a gauge. Those of histograms and
// summaries would have a reader write the labels le and quantile anew.
func AppendMetadata(dst []byte, name string, m metadata.Metadata) []byte {
	family := name
	switch m.Type {
	case model.MetricTypeCounter:
		short, ok := strings.CutSuffix(name, "_total")
		if !ok {
			return dst
		}
		family = short
	case model.MetricTypeGauge:
	default:
		return dst
	}
	if !model.LegacyValidation.IsValidMetricName(family) {
		return dst
	}
	dst = append(append(append(append(append(dst, "# TYPE "...), family...), ' '), m.Type...), '\n')
	if m.Help != "" {
		dst = append(append(append(append(append(dst, "# HELP "...), family...), ' '), escaped(m.Help)...), '\n')
	}
	return dst
}
