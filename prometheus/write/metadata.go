package write

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/prometheus/common/model"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// newMetadata is metadata that will be stored.
type newMetadata struct {
	storage.Metadata
	family string
	times  int // in the request
}

// metadataTypes are the types by their numbers, which are the same in both versions.
var metadataTypes = [...]model.MetricType{
	model.MetricTypeUnknown, model.MetricTypeCounter, model.MetricTypeGauge, model.MetricTypeHistogram,
	model.MetricTypeGaugeHistogram, model.MetricTypeSummary, model.MetricTypeInfo, model.MetricTypeStateset,
}

func metadataType(kind int32) model.MetricType {
	if kind < 0 || int(kind) >= len(metadataTypes) {
		return model.MetricTypeUnknown
	}
	return metadataTypes[kind]
}

// hasMetadata reports whether a series of 2.0 has metadata. Most generated code always writes an
// empty message.
func (r *message) hasMetadata(i int) bool {
	m := r.series[i].meta
	return m != (seriesMetadata{}) && (m.kind != 0 || r.symbols.refersToText(m.help) || r.symbols.refersToText(m.unit))
}

// check fails if the metadata of a series of 2.0 refer to symbols that do not exist. Prometheus
// refuses such a series as a whole, and so do we.
func (m *seriesMetadata) check(s symbols) error {
	if m.help == 0 && m.unit == 0 {
		return nil
	}
	if _, err := s.text(m.help); err != nil {
		return fmt.Errorf("metadata: help: %w", err)
	}
	if _, err := s.text(m.unit); err != nil {
		return fmt.Errorf("metadata: unit: %w", err)
	}
	return nil
}

// size returns how many bytes the texts of the metadata have.
func (m *seriesMetadata) size(s symbols) (n int) {
	if m.help == 0 && m.unit == 0 {
		return 0
	}
	for _, ref := range []uint32{m.help, m.unit} {
		text, _ := s.text(ref) // check reports an error
		n += len(text)
	}
	return n
}

// putMetadata stores the metadata of the request, the last of each metric.
func (j *job) putMetadata(ctx context.Context) error {
	if j.received[kindMetadata] == 0 {
		return nil
	}
	for i := range j.req.metadata {
		m := &j.req.metadata[i]
		j.addMetadata(m.family, metadataType(m.kind), m.help, m.unit)
	}
	for i := range j.req.series {
		if j.bad[i] == nil && !j.isDropped(i) && j.req.hasMetadata(i) {
			j.addSeriesMetadata(i)
		}
	}
	return j.sendMetadata(ctx)
}

// addSeriesMetadata stores the metadata of a series of 2.0 as those of its metric family.
func (j *job) addSeriesMetadata(i int) {
	m := j.req.series[i].meta
	help, err := j.req.symbols.text(m.help)
	if err != nil {
		j.refuse(kindMetadata, i, fmt.Errorf("metadata: help: %w", err))
		return
	}
	unit, err := j.req.symbols.text(m.unit)
	if err != nil {
		j.refuse(kindMetadata, i, fmt.Errorf("metadata: unit: %w", err))
		return
	}
	ls, err := j.seriesLabels(i)
	if err != nil {
		j.refuse(kindMetadata, i, err)
		return
	}
	kind := metadataType(m.kind)
	j.addMetadata(histogramcodec.Family(metricName(ls), kind), kind, help, unit)
}

// maxFamilies is of how many metrics a request may have metadata: each is put by itself.
const maxFamilies = 50_000

var errFamilies = fmt.Errorf("metadata of more than %d metrics", maxFamilies)

func (j *job) addMetadata(family []byte, kind model.MetricType, help, unit []byte) {
	if err := j.checkMetadata(family, help, unit); err != nil {
		j.refused.data[kindMetadata]++
		j.refused.name(func() string { return "metadata of " + quoteShort(family) }, err)
		return
	}
	stored := j.o.Names.MetricName(string(family))
	before := j.metadata[stored]
	if len(j.metadata) >= maxFamilies && before.times == 0 {
		j.refused.data[kindMetadata]++
		j.refused.name(func() string { return "metadata of " + quoteShort(family) }, errFamilies)
		return
	}
	m := newMetadata{family: string(family), times: before.times + 1}
	m.Metadata = storage.Metadata{Type: string(kind), Help: string(help), Unit: string(unit)}
	if m.TellsLess(before.Metadata) { // Mimir's clients give the text with the first series of a metric
		m.Metadata = before.Metadata
	}
	j.metadata[stored] = m
}

func (j *job) checkMetadata(family, help, unit []byte) error {
	switch {
	case len(family) == 0:
		return errors.New("no metric family name")
	case len(family)+len(help)+len(unit) > j.o.SeriesBytes:
		return fmt.Errorf("more than %d bytes", j.o.SeriesBytes)
	case !utf8.Valid(family) || !utf8.Valid(help) || !utf8.Valid(unit):
		return errors.New("not UTF-8")
	}
	return nil
}

// sendMetadata stores all metadata at once, or one by one if the store refuses any.
func (j *job) sendMetadata(ctx context.Context) error {
	if len(j.metadata) == 0 {
		return nil
	}
	all := make(map[string]storage.Metadata, len(j.metadata))
	for stored, m := range j.metadata {
		all[stored] = m.Metadata
	}
	err := j.o.Metadata.PutMetadata(ctx, all)
	if err == nil || !storage.IsRefusal(err) {
		return wrapMetadata(err)
	}
	for stored, m := range j.metadata {
		err := j.o.Metadata.PutMetadata(ctx, map[string]storage.Metadata{stored: m.Metadata})
		if err != nil && !storage.IsRefusal(err) {
			return wrapMetadata(err)
		}
		if err != nil {
			j.refused.data[kindMetadata] += m.times
			j.refused.name(func() string { return "metadata of " + quoteShort([]byte(m.family)) }, err)
		}
	}
	return nil
}

func wrapMetadata(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("put metadata: %w", err)
}
