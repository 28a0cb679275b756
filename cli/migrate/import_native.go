package migrate

import (
	"context"
	"errors"
	"io"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/vmnative"
)

// nativeFormat is the Format of native exports of VictoriaMetrics.
const nativeFormat = "native"

// DefaultImportNativeOptions returns the options of "import victoriametrics-native" without a flag.
func DefaultImportNativeOptions() ImportTextOptions {
	return ImportTextOptions{ImportOptions: DefaultImportOptions(), Format: nativeFormat}
}

// ImportNative imports native exports of VictoriaMetrics into the tables, or into the adapter that has them open.
func ImportNative(ctx context.Context, o adapter.Options, i ImportTextOptions, console command.Console) error {
	return i.importInto(ctx, o, "import victoriametrics-native", console)
}

// native stores the blocks of a native export. Bad ones are as bad lines are.
func (v *textVisitor) native(from io.Reader) error {
	r, err := vmnative.NewReader(from)
	if err != nil {
		return pipeline.FinalError{Err: err}
	}
	defer r.Close()
	for {
		b, err := r.Next()
		switch _, bad := errors.AsType[*vmnative.BadBlockError](err); {
		case errors.Is(err, io.EOF):
			return nil
		case bad:
			if err := v.leaveOut(err); err != nil {
				return err
			}
			continue
		case err != nil:
			return pipeline.FinalError{Err: errors.Join(err, v.flush())}
		}
		ref := v.batch.Series(columns.With(b.Labels, v.added))
		for n, t := range b.Times {
			v.batch.Points.Add(ref, t, b.Values[n])
		}
		if v.batch.Size() >= batchPoints {
			if err := v.flush(); err != nil {
				return err
			}
		}
	}
}

// importNative defines "import victoriametrics-native".
func importNative(s *command.Set, all *kingpin.CmdClause) {
	n := DefaultImportNativeOptions()
	n.Parallel = 2
	c := s.Add(all, "victoriametrics-native", command.With(ImportNative, &n), "Import what VictoriaMetrics' /api/v1/export/native answers, as files, compressed with gzip or not, or from the standard input.")
	filesArgument(c, &n.Files)
	c.Flag("label", "Label that each series gets in addition, in place of one of that name. It may be repeated.").PlaceHolder("NAME=VALUE").StringsVar(&n.Labels)
	c.Flag("skip-errors", "Go on after blocks that cannot be read, and print the first of them at the end of a file. Otherwise the first one ends the import.").BoolVar(&n.Skip)
	importFlags(c, &n.ImportOptions, "Files that are imported at once.")
	verifyFlag(c, &n.ImportOptions)
	c.Action(func(*kingpin.ParseContext) error { return n.Validate() })
}
