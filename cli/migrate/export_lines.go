package migrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/jsonlines"
)

// ExportLinesOptions are the flags of "export victoriametrics".
type ExportLinesOptions struct {
	SeriesChoice
	ExportOptions // With, Match, Start, End and Format are not used
}

// DefaultExportLinesOptions returns the options without a flag.
func DefaultExportLinesOptions() ExportLinesOptions {
	e := ExportLinesOptions{ExportOptions: DefaultExportOptions()}
	e.Parallel = 1
	return e
}

// Validate names the flag that cannot work.
func (e *ExportLinesOptions) Validate(now time.Time) error {
	if err := e.SeriesChoice.Validate(now); err != nil {
		return err
	}
	if err := e.ExportOptions.Validate(now); err != nil {
		return err
	}
	e.start, e.end = max(e.from, 0), e.to
	return nil
}

// ExportLines writes lines of JSON of the tables, or of an adapter that has them open.
func ExportLines(ctx context.Context, o adapter.Options, e ExportLinesOptions, console command.Console) error {
	return openColumns(ctx, o, e.URL, "export victoriametrics", func(ctx context.Context, s openedColumns) error {
		e.reporter, e.unit = s.reporter, "days"
		return e.run(ctx, console, func(start, end int64) (session.Export, error) {
			return &linesSource{source: s, choice: e.SeriesChoice, from: start, to: end, now: o.Now()}, nil
		}, fmt.Sprintf("lines of JSON, %s, in %s", e.what(), s.name))
	})
}

// A linesSource gives lines of JSON by windows of time.
type linesSource struct {
	source   admin.Samples
	choice   SeriesChoice
	from, to int64
	now      time.Time

	windows timeWindows // for people; of length 0: not yet known
}

// linesWindow is the time of a range, in milliseconds: a series has one line in it.
const linesWindow = int64(24 * time.Hour / time.Millisecond)

// Ranges implements pipeline.Source.
func (l *linesSource) Ranges(ctx context.Context, after pipeline.Range) ([]pipeline.Range, error) {
	from := l.from
	if after != (pipeline.Range{}) {
		from = after.To + 1
	}
	at, ok, err := l.source.Next(ctx, from, l.to)
	if err != nil || !ok {
		return nil, err
	}
	begin := at / linesWindow * linesWindow
	if begin > math.MaxInt64-linesWindow {
		return nil, errors.New("a time beyond all")
	}
	if l.windows.length == 0 {
		first := at
		if from > l.from { // an export that goes on
			if first, _, err = l.source.Next(ctx, l.from, l.to); err != nil {
				return nil, err
			}
		}
		l.windows = newTimeWindows(first, l.to, linesWindow, l.now)
	}
	nth, of := l.windows.place(begin)
	return []pipeline.Range{{Name: "lines", From: max(begin, l.from), To: min(begin+linesWindow-1, l.to), Nth: nth, Of: of}}, nil
}

// Read implements pipeline.Source.
func (l *linesSource) Read(ctx context.Context, r pipeline.Range, give func(pipeline.Block) error) error {
	q := admin.SamplesQuery{Match: l.choice.Match, From: r.From, To: r.To, Exemplars: true}
	var text []byte
	return admin.FinalExport(l.source.Read(ctx, q, func(b *columns.Batch) error {
		block := pipeline.Block{}
		text = text[:0]
		b.With(l.choice.labels)
		err := b.Each(func(s columns.Series) error {
			if n := len(s.Objects); n > 0 {
				block.LeftOut += int64(n)
				block.Reason = "lines of JSON cannot hold native histograms, exemplars and start times"
			}
			times, values := withoutNaNs(s.Times, s.Values)
			if n := len(s.Times) - len(times); n > 0 {
				block.LeftOut += int64(n)
				block.Reason = "VictoriaMetrics has no NaNs"
			}
			if len(times) > 0 {
				text = jsonlines.Append(text, s.Labels, times, values)
				block.Points += int64(len(times))
			}
			return nil
		})
		if err != nil {
			return err
		}
		block.Text = text
		return give(block)
	}))
}

// withoutNaNs returns the samples that are none.
func withoutNaNs(times []int64, values []float64) ([]int64, []float64) {
	if !slices.ContainsFunc(values, math.IsNaN) {
		return times, values
	}
	var t []int64
	var v []float64
	for i, one := range values {
		if !math.IsNaN(one) {
			t, v = append(t, times[i]), append(v, one)
		}
	}
	return t, v
}

// Behind implements exportSource.
func (*linesSource) Behind(context.Context) (string, error) { return "", nil }

// exportLines defines "export victoriametrics".
func exportLines(s *command.Set, all *kingpin.CmdClause) {
	e := DefaultExportLinesOptions()
	c := s.Add(all, "victoriametrics", command.With(ExportLines, &e), "Write series as lines of JSON, as VictoriaMetrics' /api/v1/import takes them: floats. The rest is left out and counted; the exit code is then 3.")
	seriesChoice(c, &e.SeriesChoice)
	c.Flag("output", "File, or a directory that gets a numbered file for each of --parallel: one that exists, or a name with a slash at its end. Default: the standard output.").PlaceHolder("PATH").StringVar(&e.Output)
	c.Flag("gzip", "Compress with gzip, as if the name of the file ended with .gz.").BoolVar(&e.Gzip)
	c.Flag("parallel", "Files that are written at once into a directory.").Default(strconv.Itoa(e.Parallel)).IntVar(&e.Parallel)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate(time.Now()) })
}
