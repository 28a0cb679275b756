package migrate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/parquet"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
)

// ExportParquetOptions are the flags of "export parquet".
type ExportParquetOptions struct {
	ExportWindowsOptions // Length is --file-duration
}

// DefaultExportParquetOptions returns the options without a flag.
func DefaultExportParquetOptions() ExportParquetOptions {
	return ExportParquetOptions{windowsOf(24 * time.Hour)}
}

// Validate names the flag that cannot work.
func (e *ExportParquetOptions) Validate(now time.Time) error {
	if unit := 2 * time.Hour; e.Length < unit || e.Length%unit != 0 || e.Length > 31*24*time.Hour {
		return fmt.Errorf("--file-duration=%v: want a multiple of 2h, at most 744h", e.Length)
	}
	return e.ExportWindowsOptions.Validate(now)
}

// ExportParquet writes files of Parquet of the tables, or of an adapter that has them open.
func ExportParquet(ctx context.Context, o adapter.Options, e ExportParquetOptions, console command.Console) error {
	return e.export(ctx, o, "export parquet", e.format(), console)
}

// format writes files of Parquet.
func (e *ExportParquetOptions) format() windowFormat {
	return windowFormat{"files", func(_ string, begin, _ int64) (windowWriter, error) {
		w, err := parquet.NewWriter(e.Dir, begin)
		return parquetWriter{w}, err
	}, func(left pipeline.LeftObjects) string {
		var all []string
		for _, one := range []struct {
			n    int64
			what string
		}{{left.Histograms, "native histograms"}, {left.Exemplars, "exemplars"}, {left.Starts, "start times"}} {
			if one.n > 0 {
				all = append(all, fmt.Sprintf("%d %s", one.n, one.what))
			}
		}
		if len(all) == 0 {
			return ""
		}
		return strings.Join(all, ", ") + " were left out: the files have floats"
	}}
}

// A parquetWriter is a windowWriter of files of Parquet.
type parquetWriter struct{ *parquet.Writer }

func (w parquetWriter) end(context.Context) (string, int64, pipeline.LeftObjects, error) {
	written, err := w.Close()
	return written.Name, written.Samples, pipeline.LeftObjects{Histograms: written.Histograms, Exemplars: written.Exemplars, Starts: written.Starts}, err
}

// exportParquet defines "export parquet".
func exportParquet(s *command.Set, all *kingpin.CmdClause) {
	e := DefaultExportParquetOptions()
	c := s.Add(all, "parquet", command.With(ExportParquet, &e), "Write floats as files of Apache Parquet, a row for each sample: metric, labels, time, value. The rest is left out and counted; the exit code is then 3.")
	c.Arg("dir", "Directory for the files.").Required().StringVar(&e.Dir)
	seriesChoice(c, &e.SeriesChoice)
	c.Flag("file-duration", "Time of each file: a multiple of 2h, at most 744h.").Default(e.Length.String()).DurationVar(&e.Length)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate(time.Now()) })
}
