package migrate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/openmetrics"
)

// ExportTextOptions are the flags of "export openmetrics".
type ExportTextOptions struct{ ExportLinesOptions }

// DefaultExportTextOptions returns the options without a flag.
func DefaultExportTextOptions() ExportTextOptions {
	return ExportTextOptions{DefaultExportLinesOptions()}
}

// Validate names the flag that cannot work.
func (e *ExportTextOptions) Validate(now time.Time) error {
	if strings.HasSuffix(e.Output, "/") {
		return fmt.Errorf("--output=%s: want the name of a file, since a text has one end", e.Output)
	}
	return e.ExportLinesOptions.Validate(now)
}

// ExportOpenMetrics writes OpenMetrics of the tables, or of an adapter that has them open.
func ExportOpenMetrics(ctx context.Context, o adapter.Options, e ExportTextOptions, console command.Console) error {
	return openColumns(ctx, o, e.URL, "export openmetrics", func(ctx context.Context, s openedColumns) error {
		e.reporter = s.reporter
		known, err := s.Metadata(ctx)
		if err != nil {
			return err
		}
		return e.run(ctx, console, func(start, end int64) (session.Export, error) {
			return &textSource{source: s, choice: e.SeriesChoice, from: start, to: end, known: known}, nil
		}, fmt.Sprintf("OpenMetrics, %s, in %s", e.what(), s.name))
	})
}

// A textSource gives OpenMetrics: all samples of a metric together, as the format wants it, so all time at once.
type textSource struct {
	source   admin.Samples
	choice   SeriesChoice
	from, to int64
	known    map[string]metadata.Metadata
}

// The ranges of a text.
const (
	textSamples = "samples"
	textEnd     = "the end"
)

// Ranges implements pipeline.Source.
func (s *textSource) Ranges(_ context.Context, after pipeline.Range) ([]pipeline.Range, error) {
	switch after.Name {
	case "":
		return []pipeline.Range{{Name: textSamples, From: s.from, To: s.to}}, nil
	case textSamples:
		return []pipeline.Range{{Name: textEnd, From: s.from, To: s.to}}, nil
	}
	return nil, nil
}

// Read implements pipeline.Source.
func (s *textSource) Read(ctx context.Context, r pipeline.Range, give func(pipeline.Block) error) error {
	if r.Name == textEnd {
		return give(pipeline.Block{Text: []byte(openmetrics.End)})
	}
	w := &textWriter{textSource: s, give: give}
	q := admin.SamplesQuery{Match: s.choice.Match, From: r.From, To: r.To, Exemplars: true}
	err := s.source.Read(ctx, q, func(b *columns.Batch) error {
		b.With(s.choice.labels)
		if err := b.Each(w.series); err != nil {
			return err
		}
		return w.flush()
	})
	return admin.FinalExport(err)
}

// Behind implements exportSource.
func (*textSource) Behind(context.Context) (string, error) { return "", nil }

// A textWriter writes series.
type textWriter struct {
	*textSource

	give   func(pipeline.Block) error
	metric string // of the series before
	line   []byte
	block  pipeline.Block
}

// textBytes is about how much is given at once.
const textBytes = 1 << 20

func (w *textWriter) series(s columns.Series) error {
	if n := len(s.Objects); n > 0 {
		w.leaveOut(int64(n), "OpenMetrics is written without native histograms, exemplars and start times")
	}
	if len(s.Times) == 0 {
		return nil
	}
	if name := s.Labels.Get(model.MetricNameLabel); name != w.metric {
		w.metric = name
		w.block.Text = openmetrics.AppendMetadata(w.block.Text, name, w.about(name))
	}
	w.line = openmetrics.AppendSeries(w.line[:0], s.Labels)
	for i, v := range s.Values {
		if value.IsStaleNaN(v) {
			w.leaveOut(1, "OpenMetrics has no stale markers")
			continue
		}
		w.block.Text = openmetrics.AppendSample(append(w.block.Text, w.line...), v, s.Times[i])
		w.block.Points++
		if len(w.block.Text) >= textBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// about returns the metadata of a metric, or of its family.
func (w *textWriter) about(name string) metadata.Metadata {
	if m, ok := w.known[name]; ok {
		return m
	}
	return w.known[strings.TrimSuffix(name, "_total")]
}

func (w *textWriter) leaveOut(n int64, reason string) {
	w.block.LeftOut += n
	if w.block.Reason == "" {
		w.block.Reason = reason
	}
}

func (w *textWriter) flush() error {
	err := w.give(w.block)
	w.block = pipeline.Block{Text: w.block.Text[:0]}
	return err
}

// exportText defines "export openmetrics".
func exportText(s *command.Set, all *kingpin.CmdClause) {
	x := DefaultExportTextOptions()
	c := s.Add(all, "openmetrics", command.With(ExportOpenMetrics, &x), "Write floats in OpenMetrics, as promtool's create-blocks-from reads them. The rest is left out and counted; the exit code is then 3.")
	seriesChoice(c, &x.SeriesChoice)
	c.Flag("output", "File. Default: the standard output.").PlaceHolder("FILE").StringVar(&x.Output)
	c.Flag("gzip", "Compress with gzip, as if the name of the file ended with .gz.").BoolVar(&x.Gzip)
	exportFlags(c, &x.URL, &x.State, &x.Patience, &x.Every)
	c.Action(func(*kingpin.ParseContext) error { return x.Validate(time.Now()) })
}
