// Package parquet writes labelled samples as files of Apache Parquet, for tools that analyse tables. It
// reads none.
package parquet

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/fileutil"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Written tells what became of a file.
type Written struct {
	Name    string // of the file; empty: it would have no rows
	Samples int64
	// Histograms, Exemplars and Starts are those that were left out: the table has none.
	Histograms, Exemplars, Starts int64
}

// The leaves of a row, in the order of the file: groups have theirs by name.
const (
	leafKey = iota
	leafText
	leafMetric
	leafTime
	leafValue
)

// schema has a row for each sample:
//
//	labels  map of names and values, without the name of the metric
//	metric  text
//	time    milliseconds, UTC
//	value   double; null for a marker of Prometheus that the series ends
func schema() *pq.Schema {
	word := pq.Encoded(pq.String(), &pq.RLEDictionary)
	return pq.NewSchema("samples", pq.Group{
		"metric": word,
		"labels": pq.Map(word, word),
		"time":   pq.Encoded(pq.Timestamp(pq.Millisecond), &pq.DeltaBinaryPacked),
		"value":  pq.Optional(pq.Leaf(pq.DoubleType)),
	})
}

const (
	// groupRows bounds the rows that are in memory.
	groupRows = 128 << 10
	// rowsAtOnce is how many rows the library gets at once.
	rowsAtOnce = 256
	// tmpSuffix ends the name of a file that is not complete.
	tmpSuffix = ".tmp"
)

// A Writer writes one file. Some rows are in memory, the others in the file.
type Writer struct {
	name    string
	path    string
	file    *os.File
	buffer  *bufio.Writer
	table   *pq.GenericWriter[any]
	rows    []pq.Row
	prefix  []pq.Value // of the labels of a series
	written Written
}

// NewWriter begins a file in a directory. It has the name of a time, in milliseconds: that of its first
// samples. Close ends it.
func NewWriter(dir string, from int64) (*Writer, error) {
	name := time.UnixMilli(from).UTC().Format("20060102T150405Z") + ".parquet"
	w := &Writer{name: name, path: filepath.Join(dir, name)}
	var err error
	if w.file, err = os.Create(w.path + tmpSuffix); err != nil {
		return nil, err
	}
	w.buffer = bufio.NewWriterSize(w.file, 1<<20)
	w.table = pq.NewGenericWriter[any](w.buffer, schema(), pq.Compression(&zstd.Codec{}), pq.MaxRowsPerRowGroup(groupRows), pq.CreatedBy("tsdbridge", "", ""))
	return w, nil
}

// Add adds the samples of a batch.
func (w *Writer) Add(b *columns.Batch) error { return b.Each(w.series) }

func (w *Writer) series(s columns.Series) error {
	for _, o := range s.Objects {
		switch o.Kind {
		case storage.KindExemplar:
			w.written.Exemplars++
		case storage.KindStartTime:
			w.written.Starts++
		default:
			w.written.Histograms++
		}
	}
	w.prefix = appendLabels(w.prefix[:0], s.Labels)
	for len(s.Times) > 0 {
		n := min(len(s.Times), rowsAtOnce)
		w.rows = w.rows[:0]
		for i := range n {
			w.rows = append(w.rows, w.row(i, s.Times[i], s.Values[i]))
		}
		if _, err := w.table.WriteRows(w.rows); err != nil {
			return fmt.Errorf("%s: %w", s.Labels, err)
		}
		w.written.Samples += int64(n)
		s.Times, s.Values = s.Times[n:], s.Values[n:]
	}
	return nil
}

// row returns the nth row of those that are written together. Its memory is used again.
func (w *Writer) row(n int, at int64, v float64) pq.Row {
	var row pq.Row
	if all := w.rows[:cap(w.rows)]; n < len(all) {
		row = all[n][:0]
	}
	row = append(row, w.prefix...)
	row = append(row, pq.Int64Value(at).Level(0, 0, leafTime))
	if value.IsStaleNaN(v) {
		return append(row, pq.NullValue().Level(0, 0, leafValue))
	}
	return append(row, pq.DoubleValue(v).Level(0, 1, leafValue))
}

// appendLabels appends the leaves of the labels and of the metric. The names of labels come before
// their values, as in the file.
func appendLabels(dst []pq.Value, ls labels.Labels) []pq.Value {
	metric := ""
	var names, texts []pq.Value
	ls.Range(func(l labels.Label) {
		if l.Name == model.MetricNameLabel {
			metric = l.Value
			return
		}
		again := min(len(names), 1) // the level of repetition
		names = append(names, text(l.Name).Level(again, 1, leafKey))
		texts = append(texts, text(l.Value).Level(again, 1, leafText))
	})
	if len(names) == 0 {
		names, texts = append(names, pq.NullValue().Level(0, 0, leafKey)), append(texts, pq.NullValue().Level(0, 0, leafText))
	}
	return append(append(append(dst, names...), texts...), text(metric).Level(0, 0, leafMetric))
}

func text(s string) pq.Value { return pq.ByteArrayValue([]byte(s)) }

// Abandon removes what was written.
func (w *Writer) Abandon() error {
	return errors.Join(w.file.Close(), os.Remove(w.path+tmpSuffix))
}

// Close completes the file. It is there as a whole, and after a crash too, or not at all.
func (w *Writer) Close() (Written, error) {
	if w.written.Samples == 0 {
		return w.written, w.Abandon()
	}
	if err := errors.Join(w.table.Close(), w.buffer.Flush(), w.file.Sync(), w.file.Close()); err != nil {
		return w.written, errors.Join(err, os.Remove(w.path+tmpSuffix))
	}
	w.written.Name = w.name
	return w.written, fileutil.Rename(w.path+tmpSuffix, w.path)
}
