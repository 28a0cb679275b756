package schema

import (
	"iter"
	"strconv"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A DescribedUID is a UID with its name and its document. A UID without a document has an empty one.
type DescribedUID struct {
	UIDMeta
	UID  []byte
	Name string
}

// AppendShown appends what OpenTSDB's HTTP API shows of a UID.
func (d DescribedUID) AppendShown(dst []byte) []byte {
	dst = append(appendHex(append(dst, `{"uid":"`...), d.UID), '"')
	dst = appendField(dst, `,"type":`, d.Type)
	dst = appendField(dst, `,"name":`, d.Name)
	dst = appendField(dst, `,"description":`, d.Description)
	dst = appendField(dst, `,"notes":`, d.Notes)
	dst = strconv.AppendInt(append(dst, `,"created":`...), d.Created, 10)
	dst = d.Custom.AppendTo(append(dst, `,"custom":`...))
	return append(appendField(dst, `,"displayName":`, d.DisplayName), '}')
}

// A DescribedSeries is a series with its document and those of its UIDs.
type DescribedSeries struct {
	TSMeta
	Metric DescribedUID
	Tags   []DescribedUID // key, value, key, value...
	// LastReceived is the time of the counter in seconds, Points is the counter: see
	// CounterQualifier.
	LastReceived, Points int64
}

// AppendShown appends what OpenTSDB's HTTP API shows of a series.
func (d DescribedSeries) AppendShown(dst []byte) []byte {
	dst = appendField(dst, `{"tsuid":`, d.TSUID)
	dst = d.Metric.AppendShown(append(dst, `,"metric":`...))
	dst = append(dst, `,"tags":[`...)
	for i, tag := range d.Tags {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = tag.AppendShown(dst)
	}
	dst = appendField(dst, `],"description":`, d.Description)
	dst = appendField(dst, `,"notes":`, d.Notes)
	dst = strconv.AppendInt(append(dst, `,"created":`...), d.Created, 10)
	if d.Custom != nil {
		dst = d.Custom.AppendTo(append(dst, `,"custom":`...))
	}
	dst = appendField(dst, `,"units":`, d.Units)
	dst = strconv.AppendInt(append(dst, `,"retention":`...), int64(d.Retention), 10)
	dst = appendDouble(append(dst, `,"max":`...), d.Max)
	dst = appendDouble(append(dst, `,"min":`...), d.Min)
	dst = appendField(dst, `,"displayName":`, d.DisplayName)
	dst = appendField(dst, `,"dataType":`, d.DataType)
	dst = strconv.AppendInt(append(dst, `,"lastReceived":`...), d.LastReceived, 10)
	dst = strconv.AppendInt(append(dst, `,"totalDatapoints":`...), d.Points, 10)
	return append(dst, '}')
}

// MarshalJSON implements json.Marshaler.
func (d DescribedSeries) MarshalJSON() ([]byte, error) { return d.AppendShown(nil), nil }

// MarshalJSON implements json.Marshaler.
func (d DescribedUID) MarshalJSON() ([]byte, error) { return d.AppendShown(nil), nil }

// UIDs gives the UIDs of a series in the order of its TSUID.
func (d *DescribedSeries) UIDs() iter.Seq2[storage.NameKind, *DescribedUID] {
	return func(yield func(storage.NameKind, *DescribedUID) bool) {
		if !yield(storage.MetricName, &d.Metric) {
			return
		}
		for i := range d.Tags {
			kind := storage.TagKeyName
			if i%2 == 1 {
				kind = storage.TagValueName
			}
			if !yield(kind, &d.Tags[i]) {
				return
			}
		}
	}
}
