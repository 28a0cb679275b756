package own

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// LayoutQualifier is the column in which a store that only tsdbridge uses records its layout, in
// the row of the UID counters. OpenTSDB's own tables record it nowhere.
const LayoutQualifier = "tsdbridge.layout"

// Keys of the record: "metric_width=3 tagk_width=3 tagv_width=3 salt_width=0". salt_buckets is
// present only with a salt.
const (
	metricWidthKey = "metric_width"
	tagkWidthKey   = "tagk_width"
	tagvWidthKey   = "tagv_width"
	saltWidthKey   = "salt_width"
	saltBucketsKey = "salt_buckets"
)

// flagKey returns the key for a name under which early versions recorded a value: the flags' names
// of that time. These names are data of existing stores and do not follow the flags.
func flagKey(name string) string {
	switch name {
	case "--storage.uid-width.metric":
		return metricWidthKey
	case "--storage.uid-width.tagk":
		return tagkWidthKey
	case "--storage.uid-width.tagv":
		return tagvWidthKey
	case "--storage.salt.width":
		return saltWidthKey
	case "--storage.salt.buckets":
		return saltBucketsKey
	default:
		return name
	}
}

// LayoutRecord returns the layout in the form that ParseLayout reads.
func LayoutRecord(l schema.Layout) []byte {
	text := fmt.Sprintf("%s=%d %s=%d %s=%d %s=%d", metricWidthKey, l.MetricWidth,
		tagkWidthKey, l.TagkWidth, tagvWidthKey, l.TagvWidth, saltWidthKey, l.SaltWidth)
	if l.SaltWidth > 0 {
		text += fmt.Sprintf(" %s=%d", saltBucketsKey, l.SaltBuckets)
	}
	return []byte(text)
}

// ParseLayout reads a record, also one with the flags' names of early versions. Without a salt the
// number of buckets is 1. A record with a missing, repeated or unknown key is refused.
func ParseLayout(record []byte) (schema.Layout, error) {
	var l schema.Layout
	fields := map[string]*int{
		metricWidthKey: &l.MetricWidth, tagkWidthKey: &l.TagkWidth, tagvWidthKey: &l.TagvWidth,
		saltWidthKey: &l.SaltWidth, saltBucketsKey: &l.SaltBuckets,
	}
	for field := range strings.FieldsSeq(string(record)) {
		key, value, _ := strings.Cut(field, "=")
		target := fields[flagKey(key)]
		n, err := strconv.Atoi(value)
		if target == nil || err != nil {
			return schema.Layout{}, fmt.Errorf("layout record %q: field %q is not understood", record, field)
		}
		*target = n
		delete(fields, flagKey(key))
	}
	if fields[saltBucketsKey] != nil && l.SaltWidth == 0 {
		l.SaltBuckets = 1
		delete(fields, saltBucketsKey)
	}
	if len(fields) > 0 {
		return schema.Layout{}, fmt.Errorf("layout record %q is incomplete", record)
	}
	return l, nil
}
