package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/jsonlines"
	"github.com/tsdbridge/tsdbridge/storage"
)

// ImportLines imports series as lines of JSON, as VictoriaMetrics exports them, into the tables, or into
// the adapter that has them open.
func ImportLines(ctx context.Context, o adapter.Options, i ImportOptions, console command.Console) error {
	if len(i.Files) == 0 {
		i.Files = []string{pipeline.Stdin}
	}
	if err := i.readable(i.Files); err != nil {
		return err
	}
	i.block = lineBytes
	return intoColumns(ctx, o, &i, "import victoriametrics", func(ctx context.Context, t columnsTarget) error {
		done, told := i.run(ctx, console, linesStore(t.store), t.name)
		return i.compare(ctx, console, done, told, t, &reread{
			units: len(i.Files), by: "files", read: func(ctx context.Context, unit int, _ func(labels.Labels) bool, give func(*columns.Batch) error) error {
				return pipeline.EachBlock(ctx, i.Files[unit], lineBytes, func(block []byte) error {
					_, err := linesStore(func(_ context.Context, b *columns.Batch) error { return give(b) })(ctx, block, true)
					return err
				})
			},
		})
	})
}

// lineBytes bounds a line of JSON.
const lineBytes = 64 << 20

// linesStore returns what stores blocks of lines of JSON.
func linesStore(store columnsStore) pipeline.Store {
	return func(ctx context.Context, block []byte, skip bool) (pipeline.Stored, error) {
		w := &linesWriter{store: store, skip: skip}
		for line := range bytes.Lines(block) {
			if err := w.line(ctx, line); err != nil {
				return w.stored, err
			}
			if w.ended {
				break
			}
		}
		return w.stored, w.flush(ctx)
	}
}

// A linesWriter stores lines of a block.
type linesWriter struct {
	store  columnsStore
	skip   bool
	ended  bool // at a bad line
	batch  columns.Batch
	read   pipeline.Stored // what the batch has
	stored pipeline.Stored
}

// line adds a line.
func (w *linesWriter) line(ctx context.Context, text []byte) error {
	w.read.Lines++
	w.read.Bytes += len(text)
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	l, err := jsonlines.Parse(text)
	if err != nil {
		return w.refuse(ctx, text, err.Error())
	}
	ref := w.batch.Series(l.Labels)
	for i, t := range l.Times {
		w.batch.Points.Add(ref, t, l.Values[i])
	}
	w.read.Points += len(l.Times)
	if w.batch.Size() < batchPoints {
		return nil
	}
	return w.flush(ctx)
}

// batchPoints is about how many samples are stored at once.
const batchPoints = 100_000

// refuse notes a bad line, which ends the block if bad lines are not skipped.
func (w *linesWriter) refuse(ctx context.Context, text []byte, reason string) error {
	if !w.skip {
		w.read.Lines--
		w.read.Bytes -= len(text)
		w.ended = true
		if err := w.flush(ctx); err != nil {
			return err
		}
		w.read.Refuse(1, text, reason)
		return nil
	}
	w.read.Refuse(w.read.Lines, text, reason)
	return nil
}

// flush stores the batch. What the store refuses of it counts as one bad line for each series.
func (w *linesWriter) flush(ctx context.Context) error {
	if !w.batch.Empty() {
		err := w.store(ctx, &w.batch)
		if refused, ok := errors.AsType[*appendable.RefusedError](err); ok {
			w.read.Points -= refused.Samples
			w.read.Bad += refused.Series - min(refused.Series, len(refused.Culprits))
			for _, culprit := range refused.Culprits {
				w.read.Refuse(w.read.Lines, nil, culprit)
			}
			if !w.skip { // these lines are read again
				w.ended, w.read.Lines, w.read.Bytes, w.read.Points = true, 0, 0, 0
			}
		} else if err != nil {
			if storage.IsRefusal(err) {
				err = pipeline.FinalError{Err: err}
			}
			return fmt.Errorf("store: %w", err)
		}
	}
	w.batch.Reset()
	w.stored.Add(w.read)
	w.read = pipeline.Stored{}
	return nil
}

// importLines defines "import victoriametrics".
func importLines(s *command.Set, all *kingpin.CmdClause) {
	l := DefaultImportOptions()
	l.Parallel = 1
	c := s.Add(all, "victoriametrics", command.With(ImportLines, &l), "Import series as lines of JSON, as VictoriaMetrics' /api/v1/export answers, as files, compressed with gzip or not, or from the standard input. A line has at most 64 MiB: export with max_rows_per_line=100000.")
	filesArgument(c, &l.Files)
	c.Flag("skip-errors", "Print bad lines and go on. Otherwise the first one ends the import.").BoolVar(&l.Skip)
	importFlags(c, &l, "Files that are imported at once.")
	verifyFlag(c, &l)
	c.Action(func(*kingpin.ParseContext) error { return l.Validate() })
}
