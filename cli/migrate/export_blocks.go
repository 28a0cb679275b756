package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/blocks"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
)

// ExportBlocksOptions are the flags of "export prometheus".
type ExportBlocksOptions struct {
	ExportWindowsOptions // Length is --block-duration

	Starts bool // --start-times
}

// DefaultExportBlocksOptions returns the options without a flag.
func DefaultExportBlocksOptions() ExportBlocksOptions {
	return ExportBlocksOptions{ExportWindowsOptions: windowsOf(2 * time.Hour)}
}

// Validate names the flag that cannot work.
func (e *ExportBlocksOptions) Validate(now time.Time) error {
	length := 2 * time.Hour
	for length < e.Length {
		length *= 3
	}
	if e.Length != length || length > 31*24*time.Hour {
		return fmt.Errorf("--block-duration=%v: want 2h, 6h, 18h, 54h, 162h or 486h", e.Length)
	}
	return e.ExportWindowsOptions.Validate(now)
}

// ExportBlocks writes blocks of Prometheus of the tables, or of an adapter that has them open.
func ExportBlocks(ctx context.Context, o adapter.Options, e ExportBlocksOptions, console command.Console) error {
	return e.export(ctx, o, "export prometheus", e.format(), console)
}

// A blockWriter is a windowWriter of blocks.
type blockWriter struct{ *blocks.Writer }

func (w blockWriter) end(ctx context.Context) (string, int64, pipeline.LeftObjects, error) {
	written, err := w.Close(ctx)
	return written.Name, written.Samples, pipeline.LeftObjects{Exemplars: written.Exemplars, Starts: written.Starts}, err
}

// format writes blocks.
func (e *ExportBlocksOptions) format() windowFormat {
	return windowFormat{"blocks", func(named string, begin, end int64) (windowWriter, error) {
		w, err := blocks.NewWriter(blocks.WriteOptions{Dir: e.Dir, Source: named, From: begin, To: end, Starts: e.Starts})
		return blockWriter{w}, err
	}, func(left pipeline.LeftObjects) string {
		switch {
		case left.Exemplars > 0 && left.Starts > 0:
			return fmt.Sprintf("%d exemplars were left out, which blocks cannot hold, and %d start times (--start-times)", left.Exemplars, left.Starts)
		case left.Exemplars > 0:
			return fmt.Sprintf("%d exemplars were left out, which blocks cannot hold", left.Exemplars)
		case left.Starts > 0:
			return fmt.Sprintf("%d start times were left out (--start-times)", left.Starts)
		}
		return ""
	}}
}

// exportBlocks defines "export prometheus".
func exportBlocks(s *command.Set, all *kingpin.CmdClause) {
	e := DefaultExportBlocksOptions()
	c := s.Add(all, "prometheus", command.With(ExportBlocks, &e), "Write blocks of Prometheus: floats and native histograms. Exemplars are left out, since blocks cannot hold them; the exit code is then 3.")
	c.Arg("dir", "Directory, such as the data directory of a Prometheus. A block that is there from the same export is replaced.").Required().StringVar(&e.Dir)
	c.Flag("block-duration", "Time of a block: 2h, 6h, 18h, 54h, 162h or 486h.").Default(e.Length.String()).DurationVar(&e.Length)
	c.Flag("start-times", "Write start times too, in chunks that only a Prometheus reads that knows them (3.15 does).").BoolVar(&e.Starts)
	seriesChoice(c, &e.SeriesChoice)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate(time.Now()) })
}
