package blocks

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/tsdb/wlog"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// wal reads exemplars and metadata of the write-ahead log. Its samples are those of the head.
func (r *reading) wal() error {
	w := &walReader{reading: r, series: map[chunks.HeadSeriesRef]labels.Labels{}, decoder: record.NewDecoder(labels.NewSymbolTable(), slog.New(slog.DiscardHandler))}
	dir := filepath.Join(r.d.o.Dir, walDir)
	checkpoint, all, err := segmentsOf(dir)
	if err != nil {
		r.damage("wal", err)
		return nil
	}
	if checkpoint >= 0 {
		files, err := wlog.NewSegmentsReader(wlog.CheckpointDir(dir, checkpoint))
		if _, err = w.records(files, err); err != nil {
			return err
		}
	}
	for _, n := range all {
		if n <= checkpoint {
			continue
		}
		file, err := wlog.OpenReadSegment(wlog.SegmentName(dir, n))
		if err != nil {
			r.damage("wal", err)
			return nil
		}
		if whole, err := w.records(wlog.NewSegmentBufReader(file), nil); err != nil || !whole {
			return err
		}
	}
	return nil
}

// segmentsOf returns the numbers of the last checkpoint, -1 for none, and of the segments of a log, ascending. It
// may have gaps. There may be no log.
func segmentsOf(dir string) (checkpoint int, all []int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil, nil
	}
	if err != nil {
		return -1, nil, err
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	_, checkpoint, err = wlog.LastCheckpoint(dir)
	if errors.Is(err, record.ErrNotFound) {
		return -1, all, nil
	}
	return checkpoint, all, err
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

// records reads segments that are open, or could not be opened. Where one is damaged, the rest is left out, as
// Prometheus does.
func (w *walReader) records(files io.ReadCloser, opened error) (whole bool, err error) {
	if opened != nil {
		w.damage("wal", opened)
		return false, nil
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	reader := wlog.NewReader(files)
	for reader.Next() {
		if err := guarded(func() error { return w.record(reader.Record()) }); err != nil {
			w.damage("wal", err)
			return false, nil
		}
		if err := w.full(); err != nil {
			return false, err
		}
	}
	if err := reader.Err(); err != nil {
		w.damage("wal", err)
		return false, nil
	}
	return true, nil
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
		data := histogramcodec.EncodeExemplar(exemplar.Exemplar{Labels: e.Labels, Value: e.V})
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
