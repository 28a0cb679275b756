package blocks

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/tsdb/wlog"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/object"
	"github.com/tsdbridge/tsdbridge/storage"
)

// wal reads exemplars and metadata of the write-ahead log. Its samples are those of the head.
func (r *reading) wal() error {
	w := &walReader{reading: r, series: map[chunks.HeadSeriesRef]labels.Labels{}, decoder: record.NewDecoder(labels.NewSymbolTable(), slog.New(slog.DiscardHandler))}
	dir := filepath.Join(r.d.o.Dir, walDir)
	first := 0
	checkpoint, at, err := wlog.LastCheckpoint(dir)
	switch {
	case err == nil:
		first = at + 1
		if err := w.segments(wlog.SegmentRange{Dir: checkpoint, First: 0, Last: -1}); err != nil {
			return err
		}
	case !errors.Is(err, record.ErrNotFound):
		r.damage("wal", err)
	}
	return w.segments(wlog.SegmentRange{Dir: dir, First: first, Last: -1})
}

// A walReader reads a write-ahead log.
type walReader struct {
	*reading

	decoder   record.Decoder
	series    map[chunks.HeadSeriesRef]labels.Labels // those that match
	refs      []record.RefSeries
	exemplars []record.RefExemplar
	metadata  []record.RefMetadata
}

// segments reads segments. Where one is damaged, the rest is left out, as Prometheus does.
func (w *walReader) segments(r wlog.SegmentRange) (err error) {
	files, err := wlog.NewSegmentsRangeReader(r)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.damage("wal", err)
		}
		return nil
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	reader := wlog.NewReader(files)
	for reader.Next() {
		if err := guarded(func() error { return w.record(reader.Record()) }); err != nil {
			w.damage("wal", err)
			return nil
		}
		if err := w.full(); err != nil {
			return err
		}
	}
	if err := reader.Err(); err != nil {
		w.damage("wal", err)
	}
	return nil
}

func (w *walReader) record(rec []byte) (err error) {
	switch w.decoder.Type(rec) {
	case record.Series:
		if w.refs, err = w.decoder.Series(rec, w.refs[:0]); err == nil {
			w.addSeries()
		}
	case record.Exemplars:
		if w.exemplars, err = w.decoder.Exemplars(rec, w.exemplars[:0]); err == nil {
			w.addExemplars()
		}
	case record.Metadata:
		if w.metadata, err = w.decoder.Metadata(rec, w.metadata[:0]); err == nil {
			w.addMetadata()
		}
	default: // samples and deletions are read by the head
	}
	return err
}

func (w *walReader) addSeries() {
	match := columns.AnyOf(w.d.o.Match)
	for _, s := range w.refs {
		if columns.AnyMatches(match, s.Labels) && w.wants(s.Labels, w.d.o.Labels) {
			w.series[s.Ref] = columns.With(s.Labels, w.d.o.Labels)
		}
	}
}

func (w *walReader) addExemplars() {
	for _, e := range w.exemplars {
		ls, ok := w.series[e.Ref]
		if !ok || e.T < w.d.o.From || e.T > w.d.o.To {
			continue
		}
		data := object.EncodeExemplar(exemplar.Exemplar{Labels: e.Labels, Value: e.V})
		w.batch.Points.AddObject(w.batch.Series(ls), e.T, storage.KindExemplar, data)
	}
}

func (w *walReader) addMetadata() {
	for _, m := range w.metadata {
		if ls, ok := w.series[m.Ref]; ok {
			kind := record.ToMetricType(m.Type)
			w.batch.AddMetadata(ls, metadata.Metadata{Type: kind, Unit: m.Unit, Help: m.Help})
		}
	}
}
