package blocks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/fileutil"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	ours "github.com/tsdbridge/tsdbridge/storage"
)

// WriteOptions are what a block is written with.
type WriteOptions struct {
	Dir string // in which the block becomes a directory
	// Source names what is written: the same block of the same source has the same name.
	Source string
	// From and To are the times of the block in milliseconds; To is not included.
	From, To int64
	// Starts writes start times, in chunks that only Prometheus 3.13 and later read.
	Starts bool
}

// Written tells what became of a block.
type Written struct {
	Name    string // of the block; empty: it would have no samples
	Samples int64
	Series  int64
	// Exemplars and Starts are those that were left out.
	Exemplars, Starts int64
}

// A Writer writes one block. Samples are in files at once; of series their labels and the places of
// their chunks are in memory.
type Writer struct {
	o        WriteOptions
	name     ulid.ULID
	tmp      string
	chunks   *chunks.Writer
	encoder  encoder
	series   []writtenSeries
	unsorted bool // the series do not come in the order of their labels
	symbols  map[string]struct{}
	stats    tsdb.BlockStats
	written  Written
}

// writtenSeries is what the index gets of a series.
type writtenSeries struct {
	labels labels.Labels
	chunks []chunks.Meta
}

// tmpSuffix ends the names of directories that a Prometheus removes when it starts.
const tmpSuffix = ".tmp-for-creation"

// segmentBytes is how large a file of chunks becomes, and how much disk space is taken when it is begun. Prometheus takes
// 512 MB, which a small block needs then too.
const segmentBytes = 64 << 20

// NewWriter begins a block. Close ends it.
func NewWriter(o WriteOptions) (w *Writer, err error) {
	w = &Writer{o: o, name: nameOf(o), symbols: map[string]struct{}{}, encoder: encoder{starts: o.Starts}}
	w.tmp = filepath.Join(o.Dir, w.name.String()+tmpSuffix)
	if err := os.RemoveAll(w.tmp); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(w.tmp, 0o777); err != nil {
		return nil, err
	}
	if w.chunks, err = chunks.NewWriter(filepath.Join(w.tmp, "chunks"), chunks.WithSegmentSize(segmentBytes)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(w.tmp))
	}
	return w, nil
}

// nameOf returns the name of a block.
func nameOf(o WriteOptions) (name ulid.ULID) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d", o.Source, o.From, o.To))
	_ = name.SetEntropy(sum[:10]) // it has the right length
	_ = name.SetTime(uint64(max(0, o.To)))
	return name
}

// Add adds the samples of a batch, whose series are complete in it.
func (w *Writer) Add(b *columns.Batch) error { return b.Each(w.add) }

func (w *Writer) add(s columns.Series) error {
	for _, o := range s.Objects {
		if o.Kind == ours.KindExemplar {
			w.written.Exemplars++
		}
	}
	all, samples, left, err := w.encoder.encode(s)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Labels, err)
	}
	w.written.Starts += int64(left)
	if len(all) == 0 {
		return nil
	}
	if err := w.chunks.WriteChunks(all...); err != nil {
		return err
	}
	one := writtenSeries{labels: s.Labels, chunks: slices.Clone(all)}
	for i := range one.chunks {
		if e := one.chunks[i].Chunk.Encoding(); e != chunkenc.EncXOR && e != chunkenc.EncXOR2 {
			w.stats.NumHistogramSamples += uint64(one.chunks[i].Chunk.NumSamples())
		}
		one.chunks[i].Chunk = nil
	}
	if n := len(w.series); n > 0 && labels.Compare(w.series[n-1].labels, s.Labels) >= 0 {
		w.unsorted = true
	}
	w.series = append(w.series, one)
	s.Labels.Range(func(l labels.Label) {
		w.symbols[l.Name], w.symbols[l.Value] = struct{}{}, struct{}{}
	})
	w.stats.NumSamples += uint64(samples)
	w.stats.NumChunks += uint64(len(all))
	return nil
}

// Abandon removes what was written.
func (w *Writer) Abandon() error {
	return errors.Join(w.chunks.Close(), os.RemoveAll(w.tmp))
}

// Close completes the block. It is there as a whole, and after a crash too, or not at all.
func (w *Writer) Close(ctx context.Context) (Written, error) {
	w.written.Samples, w.written.Series = int64(w.stats.NumSamples), int64(len(w.series))
	if len(w.series) == 0 {
		return w.written, w.Abandon()
	}
	err := w.chunks.Close()
	for _, step := range []func() error{w.sort, func() error { return w.index(ctx) }, w.meta, w.place} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return w.written, errors.Join(err, os.RemoveAll(w.tmp))
	}
	w.written.Name = w.name.String()
	return w.written, nil
}

// sort puts the series, and their chunks in the files, into the order of the labels, which an index needs.
func (w *Writer) sort() (err error) {
	if !w.unsorted {
		return nil
	}
	slices.SortFunc(w.series, func(a, b writtenSeries) int { return labels.Compare(a.labels, b.labels) })
	dir, old := filepath.Join(w.tmp, "chunks"), filepath.Join(w.tmp, "unsorted")
	if err := os.Rename(dir, old); err != nil {
		return err
	}
	from, err := chunks.NewDirReader(old, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close(), os.RemoveAll(old)) }()
	to, err := chunks.NewWriter(dir, chunks.WithSegmentSize(segmentBytes))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	for _, s := range w.series {
		if err := move(to, from, s.chunks); err != nil {
			return fmt.Errorf("%s: %w", s.labels, err)
		}
	}
	return nil
}

// move writes the chunks of a series to another place.
func move(to *chunks.Writer, from *chunks.Reader, all []chunks.Meta) (err error) {
	for i := range all {
		if all[i].Chunk, _, err = from.ChunkOrIterable(all[i]); err != nil {
			return err
		}
	}
	if err := to.WriteChunks(all...); err != nil {
		return err
	}
	for i := range all {
		all[i].Chunk = nil
	}
	return nil
}

// index writes the index.
func (w *Writer) index(ctx context.Context) (err error) {
	ix, err := index.NewWriter(ctx, filepath.Join(w.tmp, "index"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	symbols := make([]string, 0, len(w.symbols))
	for s := range w.symbols {
		symbols = append(symbols, s)
	}
	slices.Sort(symbols)
	for _, s := range symbols {
		if err := ix.AddSymbol(s); err != nil {
			return err
		}
	}
	for i, s := range w.series {
		if err := ix.AddSeries(storage.SeriesRef(i), s.labels, s.chunks...); err != nil {
			return fmt.Errorf("%s: %w", s.labels, err)
		}
	}
	return nil
}

// meta writes meta.json, and that nothing is deleted.
func (w *Writer) meta() error {
	w.stats.NumSeries = uint64(len(w.series))
	w.stats.NumFloatSamples = w.stats.NumSamples - w.stats.NumHistogramSamples
	meta := tsdb.BlockMeta{ULID: w.name, MinTime: w.o.From, MaxTime: w.o.To, Stats: w.stats, Version: 1}
	meta.Compaction.Level, meta.Compaction.Sources = 1, []ulid.ULID{w.name}
	text, err := json.MarshalIndent(meta, "", "\t")
	if err != nil {
		return err
	}
	if _, err := tombstones.WriteFile(slog.New(slog.DiscardHandler), w.tmp, tombstones.NewMemTombstones()); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(w.tmp, "meta.json"))
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// place gives the directory its name, in place of one that an earlier run has written.
func (w *Writer) place() error {
	dir := filepath.Join(w.o.Dir, w.name.String())
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return fileutil.Rename(w.tmp, dir)
}
