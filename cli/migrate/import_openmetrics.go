package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/openmetrics"
	"github.com/tsdbridge/tsdbridge/storage"
)

// ImportTextOptions are the flags of "import openmetrics".
type ImportTextOptions struct {
	ImportOptions
	Format string   // --format: openmetrics or text
	Labels []string // --label

	labels labels.Labels
}

// DefaultImportTextOptions returns the options without a flag.
func DefaultImportTextOptions() ImportTextOptions {
	return ImportTextOptions{ImportOptions: DefaultImportOptions(), Format: openmetrics.OpenMetrics.String()}
}

// Validate names the flag that cannot work.
func (i *ImportTextOptions) Validate() (err error) {
	if i.labels, err = parseLabels(i.Labels); err != nil {
		return err
	}
	if _, err := openmetrics.ParseFormat(i.Format); err != nil && i.Format != nativeFormat {
		return fmt.Errorf("--format: %w", err)
	}
	return i.ImportOptions.Validate()
}

// ImportText imports files of OpenMetrics into the tables, or into the adapter that has them open.
func ImportText(ctx context.Context, o adapter.Options, i ImportTextOptions, console command.Console) error {
	return i.importInto(ctx, o, "import openmetrics", console)
}

// importInto imports files into the tables, or into the adapter that has them open.
func (i ImportTextOptions) importInto(ctx context.Context, o adapter.Options, kind string, console command.Console) error {
	if len(i.Files) == 0 {
		i.Files = []string{pipeline.Stdin}
	}
	if err := i.readable(i.Files); err != nil {
		return err
	}
	return intoColumns(ctx, o, &i.ImportOptions, kind, func(ctx context.Context, t columnsTarget) error {
		return i.run(ctx, console, t)
	})
}

// run imports the files by the store of an import. Each of them is a piece, since its types hold to its end.
func (i *ImportTextOptions) run(ctx context.Context, console command.Console, target columnsTarget) error {
	line := &command.StatusLine{Console: console}
	d := pipeline.DefaultTreeOptions()
	to := pipeline.PiecesOptions{Parallel: i.Parallel, HeldBytes: 1, Patience: i.Patience, Every: d.Every, Now: d.Now, State: i.State, Target: target.name}
	if to.What = i.Format; len(i.Labels) > 0 {
		to.What += " with " + strings.Join(i.Labels, " ")
	}
	files := slices.Sorted(slices.Values(i.Files))
	to.Source = strings.Join(files, " ")
	for _, name := range files {
		path := name
		if name != pipeline.Stdin {
			path, _ = filepath.Abs(name)
		}
		to.Pieces = append(to.Pieces, pipeline.Piece{Name: path, Mark: markOf(path)})
	}
	slices.SortFunc(to.Pieces, func(a, b pipeline.Piece) int { return strings.Compare(a.Name, b.Name) })
	i.watch(ctx, &to, line)
	s := &storing{again: to.Again, store: target.store, tell: func(text string) { fmt.Fprintln(line, text) }}
	to.Store = func(ctx context.Context, piece int) (int64, error) {
		return i.file(ctx, console.In, to.Pieces[piece].Name, s)
	}
	done, err := pipeline.ImportPieces(ctx, to)
	line.Close()
	again := *i
	again.Skip = true // bad lines are told
	return i.end(ctx, console, importResult{done, err, 0, s}, target, &reread{
		units: len(files), by: "files", read: func(ctx context.Context, unit int, _ func(labels.Labels) bool, give func(*columns.Batch) error) error {
			_, err := again.file(ctx, nil, to.Pieces[unit].Name, giving(give))
			if _, bad := errors.AsType[pipeline.SkipError](err); bad {
				return nil
			}
			return err
		},
	})
}

// markOf tells another file from one that was imported under its name.
func markOf(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
}

// file imports one file, compressed with gzip or not.
func (i *ImportTextOptions) file(ctx context.Context, stdin io.Reader, name string, s *storing) (int64, error) {
	from, err := pipeline.OpenText(name, stdin)
	if err != nil {
		return 0, pipeline.FinalError{Err: err}
	}
	defer func() { _ = from.Close() }() // it was only read
	v := &textVisitor{ctx: func() context.Context { return ctx }, storing: s, added: i.labels, skip: i.Skip, refs: map[string]storage.Ref{}}
	if i.Format == nativeFormat {
		err = v.native(from)
	} else {
		err = v.text(from, i.Format)
	}
	if err == nil {
		err = v.flush()
	}
	if err == nil {
		err = v.bad.skip(v.samples)
	}
	return v.samples, err
}

// A textVisitor stores what a text has.
type textVisitor struct {
	ctx     func() context.Context
	storing *storing
	added   labels.Labels
	skip    bool
	bad     damageList

	batch   columns.Batch
	refs    map[string]storage.Ref // of the batch, by the type and the text of a series
	key     []byte
	samples int64
}

// text stores the samples of a text.
func (v *textVisitor) text(from io.Reader, name string) error {
	format, err := openmetrics.ParseFormat(name)
	if err != nil {
		return err
	}
	return openmetrics.Read(from, openmetrics.Options{Format: format}, v)
}

var errNoTime = errors.New("the sample has no timestamp, and it is not known when it was")

// Sample implements openmetrics.Visitor.
func (v *textVisitor) Sample(s *openmetrics.Sample) error {
	if !s.Timed {
		return v.Bad(&openmetrics.BadLine{Line: s.Line, Text: string(s.Raw), Err: errNoTime})
	}
	v.key = append(append(append(v.key[:0], s.Type()...), ' '), s.Raw...)
	ref, ok := v.refs[string(v.key)]
	if !ok {
		ls := s.Labels()
		if s.Family != "" {
			v.batch.AddMetadata(ls, s.Metadata)
		}
		ref = v.batch.Series(columns.With(ls, v.added))
		v.refs[string(v.key)] = ref
	}
	v.batch.Points.Add(ref, s.Time, s.Value)
	if e, ok := s.Exemplar(); ok {
		if !e.HasTs {
			e.Ts = s.Time
		}
		v.batch.Points.AddObject(ref, e.Ts, storage.KindExemplar, histogramcodec.EncodeExemplar(e))
	}
	if v.batch.Size() < batchPoints {
		return nil
	}
	return v.flush()
}

// Bad implements openmetrics.Visitor.
func (v *textVisitor) Bad(b *openmetrics.BadLine) error { return v.leaveOut(b) }

// leaveOut notes what cannot be read, or ends the import there.
func (v *textVisitor) leaveOut(bad error) error {
	if !v.skip {
		return pipeline.FinalError{Err: errors.Join(bad, v.flush())}
	}
	v.bad.add(bad)
	return nil
}

// flush stores the batch.
func (v *textVisitor) flush() error {
	if v.batch.Empty() {
		return nil
	}
	n, err := v.storing.give(v.ctx(), &v.batch)
	v.samples += n
	v.batch.Reset()
	clear(v.refs)
	return err
}

// importText defines "import openmetrics".
func importText(s *command.Set, all *kingpin.CmdClause) {
	i := DefaultImportTextOptions()
	c := s.Add(all, "openmetrics", command.With(ImportText, &i), "Import samples in OpenMetrics, as promtool's create-blocks-from reads them, or in the text format of Prometheus. Each sample needs a timestamp.")
	filesArgument(c, &i.Files)
	c.Flag("format", "openmetrics, or text: the text format, with timestamps in milliseconds.").Default(i.Format).EnumVar(&i.Format, "openmetrics", "text")
	c.Flag("label", "Label that each series gets in addition, in place of one of that name. It may be repeated.").PlaceHolder("NAME=VALUE").StringsVar(&i.Labels)
	c.Flag("skip-errors", "Go on after bad lines, and print the first of them at the end of a file. Otherwise the first one ends the import.").BoolVar(&i.Skip)
	importFlags(c, &i.ImportOptions, "Files that are imported at once.")
	verifyFlag(c, &i.ImportOptions)
	c.Action(func(*kingpin.ParseContext) error { return i.Validate() })
}
