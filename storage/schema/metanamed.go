package schema

import (
	"strconv"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A NamedUIDMeta is a UIDMeta with the UID and the name that it is of, as OpenTSDB's API shows it.
type NamedUIDMeta struct {
	Kind storage.NameKind
	UID  string // raw bytes
	Name string
	UIDMeta
}

// AppendShown appends the document as OpenTSDB's HTTP API shows it.
func (m *NamedUIDMeta) AppendShown(dst []byte) []byte {
	dst = appendField(dst, `{"uid":`, FormatTSUID([]byte(m.UID)))
	dst = appendField(dst, `,"type":`, metaType(m.Kind))
	dst = appendField(dst, `,"name":`, m.Name)
	dst = appendField(dst, `,"description":`, m.Description)
	dst = appendField(dst, `,"notes":`, m.Notes)
	dst = strconv.AppendInt(append(dst, `,"created":`...), m.Created, 10)
	dst = m.Custom.AppendTo(append(dst, `,"custom":`...))
	return append(appendField(dst, `,"displayName":`, m.DisplayName), '}')
}

// A SeriesMeta is a TSMeta with the documents of its UIDs and what the row of its series counts, as
// OpenTSDB's API shows it.
type SeriesMeta struct {
	TSMeta
	Metric NamedUIDMeta
	Tags   []NamedUIDMeta // key, value, key, value...
	// Points is the counter, LastReceived its time in seconds.
	Points, LastReceived int64
}

// AppendShown appends the document as OpenTSDB's HTTP API shows it.
func (m *SeriesMeta) AppendShown(dst []byte) []byte {
	dst = appendField(dst, `{"tsuid":`, m.TSUID)
	dst = m.Metric.AppendShown(append(dst, `,"metric":`...))
	dst = append(dst, `,"tags":[`...)
	for i := range m.Tags {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.Tags[i].AppendShown(dst)
	}
	dst = appendField(dst, `],"description":`, m.Description)
	dst = appendField(dst, `,"notes":`, m.Notes)
	dst = strconv.AppendInt(append(dst, `,"created":`...), m.Created, 10)
	if m.Custom != nil {
		dst = m.Custom.AppendTo(append(dst, `,"custom":`...))
	}
	dst = appendField(dst, `,"units":`, m.Units)
	dst = strconv.AppendInt(append(dst, `,"retention":`...), int64(m.Retention), 10)
	dst = appendDouble(append(dst, `,"max":`...), m.Max)
	dst = appendDouble(append(dst, `,"min":`...), m.Min)
	dst = appendField(dst, `,"displayName":`, m.DisplayName)
	dst = appendField(dst, `,"dataType":`, m.DataType)
	dst = strconv.AppendInt(append(dst, `,"lastReceived":`...), m.LastReceived, 10)
	dst = strconv.AppendInt(append(dst, `,"totalDatapoints":`...), m.Points, 10)
	return append(dst, '}')
}

// Series returns the TSUID.
func (m *SeriesMeta) Series() []byte {
	tsuid := []byte(m.Metric.UID)
	for i := range m.Tags {
		tsuid = append(tsuid, m.Tags[i].UID...)
	}
	return tsuid
}
