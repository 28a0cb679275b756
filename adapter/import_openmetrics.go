package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/object"
	"github.com/tsdbridge/tsdbridge/prometheus/openmetrics"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/transfer"
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
	if _, err := openmetrics.ParseFormat(i.Format); err != nil {
		return fmt.Errorf("--format: %w", err)
	}
	return i.ImportOptions.Validate()
}

// ImportText imports files of OpenMetrics into the tables, or into the adapter that has them open.
func ImportText(ctx context.Context, o Options, i ImportTextOptions, console Console) error {
	return o.aloneOrAsked(i.URL, func() error {
		return o.runAlone(ctx, func(ctx context.Context, a *Adapter) error {
			return i.run(ctx, console, a.appendable().Store, o.target())
		})
	}, func(base string) error {
		i.teller = newTransferTeller(base, "import openmetrics")
		return i.run(i.teller.with(ctx), console, remoteImport{base}.columns, cmp.Or(i.URL, o.target()))
	})
}

// run imports the files by the store of an import. Each of them is a piece, since its types hold to its end.
func (i *ImportTextOptions) run(ctx context.Context, console Console, store columnsStore, target string) error {
	line := &statusLine{console: console}
	d := transfer.DefaultTreeOptions()
	to := transfer.PiecesOptions{Parallel: i.Parallel, HeldBytes: 1, Patience: i.Patience, Every: d.Every, Now: d.Now, State: i.State, Target: target, What: i.Format}
	files := slices.Sorted(slices.Values(i.Files))
	if len(files) == 0 {
		files = []string{transfer.Stdin}
	}
	to.Source = strings.Join(files, " ")
	for _, name := range files {
		path := name
		if name != transfer.Stdin {
			path, _ = filepath.Abs(name)
		}
		to.Pieces = append(to.Pieces, transfer.Piece{Name: path})
	}
	slices.SortFunc(to.Pieces, func(a, b transfer.Piece) int { return strings.Compare(a.Name, b.Name) })
	i.watch(ctx, &to, line)
	s := &storing{again: to.Again, store: store, tell: func(text string) { fmt.Fprintln(line, text) }}
	to.Store = func(ctx context.Context, piece int) (int64, error) {
		return i.file(ctx, console.In, to.Pieces[piece].Name, s)
	}
	done, err := transfer.ImportPieces(ctx, to)
	line.close()
	return i.end(ctx, console, done, err, 0, s)
}

// file imports one file, compressed with gzip or not.
func (i *ImportTextOptions) file(ctx context.Context, stdin io.Reader, name string, s *storing) (int64, error) {
	from := stdin
	if name != transfer.Stdin {
		f, err := os.Open(name)
		if err != nil {
			return 0, transfer.FinalError{Err: err}
		}
		defer f.Close()
		from = f
	}
	if strings.HasSuffix(name, ".gz") {
		zip, err := gzip.NewReader(from)
		if err != nil {
			return 0, transfer.FinalError{Err: err}
		}
		from = zip
	}
	format, err := openmetrics.ParseFormat(i.Format)
	if err != nil {
		return 0, err
	}
	v := &textVisitor{ctx: func() context.Context { return ctx }, storing: s, added: i.labels, skip: i.Skip, refs: map[string]storage.Ref{}}
	err = openmetrics.Read(from, openmetrics.Options{Format: format}, v)
	if err == nil {
		err = v.flush()
	}
	if err == nil && len(v.bad) > 0 {
		err = transfer.SkipError{Err: errors.Join(v.bad...), Points: v.samples}
	}
	return v.samples, err
}

// A textVisitor stores what a text has.
type textVisitor struct {
	ctx     func() context.Context
	storing *storing
	added   labels.Labels
	skip    bool
	bad     []error

	batch   columns.Batch
	refs    map[string]storage.Ref // of the batch, by the type and the text of a series
	key     []byte
	samples int64
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
		v.batch.Points.AddObject(ref, e.Ts, storage.KindExemplar, object.EncodeExemplar(e))
	}
	if v.batch.Size() < batchPoints {
		return nil
	}
	return v.flush()
}

// Bad implements openmetrics.Visitor.
func (v *textVisitor) Bad(b *openmetrics.BadLine) error {
	if !v.skip {
		return transfer.FinalError{Err: errors.Join(b, v.flush())}
	}
	if len(v.bad) < mostDamageTold {
		v.bad = append(v.bad, b)
	}
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
