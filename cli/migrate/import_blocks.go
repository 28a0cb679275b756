package migrate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/blocks"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
)

// ImportBlocksOptions are the flags of "import prometheus".
type ImportBlocksOptions struct {
	ImportOptions // Skip and Files are not used
	SeriesChoice

	Dir      string // argument
	Temp     string // --temp-dir
	External bool   // --external-labels
	Metadata string // --metadata: a file, or the URL of a Prometheus
}

// DefaultImportBlocksOptions returns the options without a flag.
func DefaultImportBlocksOptions() ImportBlocksOptions {
	return ImportBlocksOptions{ImportOptions: DefaultImportOptions(), External: true}
}

// Validate names the flag that cannot work.
func (i *ImportBlocksOptions) Validate(now time.Time) error {
	if err := i.SeriesChoice.Validate(now); err != nil {
		return err
	}
	return i.ImportOptions.Validate()
}

// ImportBlocks imports a data directory of Prometheus into the tables, or into the adapter that has
// them open.
func ImportBlocks(ctx context.Context, o adapter.Options, i ImportBlocksOptions, console command.Console) error {
	if err := i.readable([]string{i.Dir}); err != nil {
		return err
	}
	return intoColumns(ctx, o, &i.ImportOptions, "import prometheus", func(ctx context.Context, t columnsTarget) error {
		return i.run(ctx, console, t)
	})
}

// source are the options of what is read.
func (i *ImportBlocksOptions) source() blocks.Options {
	return blocks.Options{
		Dir: i.Dir, Temp: i.Temp, Match: i.match, From: i.from, To: i.to, Labels: i.labels, External: i.External,
	}
}

// run imports the directory by the store of an import.
func (i *ImportBlocksOptions) run(ctx context.Context, console command.Console, target columnsTarget) (err error) {
	line := &command.StatusLine{Console: console}
	described, err := readMetadata(ctx, i.Metadata)
	if err != nil {
		return err
	}
	fmt.Fprintf(line, "opening %s\n", i.Dir)
	dir, err := blocks.Open(i.source())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	for _, d := range dir.Damaged() {
		fmt.Fprintln(line, strings.ToValidUTF8(d.Error(), "?"))
	}
	source, err := filepath.Abs(i.Dir)
	if err != nil {
		return err
	}
	to := i.pieces(ctx, line, dir)
	to.State, to.Source, to.Target, to.What = i.State, source, target.name, i.what()
	s := &storing{again: to.Again, store: target.store, tell: func(text string) { fmt.Fprintln(line, text) }}
	to.Store = func(ctx context.Context, piece int) (points int64, err error) {
		damaged, err := dir.Read(ctx, piece, func(b *columns.Batch) error {
			samples, err := s.give(ctx, b)
			points += samples
			return err
		})
		if err != nil {
			return points, err
		}
		var all damageList
		for _, d := range damaged {
			all.add(d)
		}
		return points, all.skip(points)
	}
	done, err := pipeline.ImportPieces(ctx, to)
	if err == nil && i.Metadata != "" {
		var families int
		families, err = storeMetadata(ctx, s, described)
		fmt.Fprintf(line, "metadata of %d metrics stored\n", families)
	}
	line.Close()
	return i.end(ctx, console, importResult{done, err, len(dir.Damaged()), s}, target, &reread{
		units: dir.Groups(), by: "groups of blocks", read: dir.ReadGroup,
	})
}

// pieces returns the options of an import in the pieces of a directory.
func (i *ImportBlocksOptions) pieces(ctx context.Context, line *command.StatusLine, dir *blocks.Dir) pipeline.PiecesOptions {
	d := pipeline.DefaultTreeOptions()
	to := pipeline.PiecesOptions{Parallel: i.Parallel, HeldBytes: 1, Patience: i.Patience, Every: d.Every, Now: d.Now}
	for n := range dir.Pieces() {
		name, mark, size := dir.Piece(n)
		to.Pieces = append(to.Pieces, pipeline.Piece{Name: name, Size: size, Mark: mark})
	}
	i.watch(ctx, &to, line)
	return to
}

// watch has an import tell of what it does.
func (i *ImportOptions) watch(ctx context.Context, to *pipeline.PiecesOptions, line *command.StatusLine) {
	to.Skipped = func(name string, err error) { fmt.Fprintln(line, strings.ToValidUTF8(name+": "+err.Error(), "?")) }
	to.Failed = waiting(line)
	to.Progress = i.progress(ctx, line)
}

// mostDamageTold is how many places of a piece are named.
const mostDamageTold = 10

// A damageList is what cannot be read or stored of a piece.
type damageList struct {
	first []error
	n     int
}

func (d *damageList) add(err error) {
	if d.n++; d.n <= mostDamageTold {
		d.first = append(d.first, err)
	}
}

// skip returns the error of a piece of which so many samples are durable; nil: nothing is in the list.
func (d *damageList) skip(points int64) error {
	if d.n == 0 {
		return nil
	}
	errs := slices.Clone(d.first)
	if more := d.n - len(errs); more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	return pipeline.SkipError{Err: errors.Join(errs...), Points: points}
}

// importBlocks defines "import prometheus".
func importBlocks(s *command.Set, all *kingpin.CmdClause) {
	i := DefaultImportBlocksOptions()
	c := s.Add(all, "prometheus", command.With(ImportBlocks, &i), "Import a data directory of Prometheus: its blocks and its write-ahead log, from a snapshot or a copy. Blocks of Thanos and Mimir too. It is only read. What is damaged is printed and left out; the exit code is then 3.")
	c.Arg("dir", "Directory.").Required().StringVar(&i.Dir)
	seriesChoice(c, &i.SeriesChoice)
	c.Flag("external-labels", "Add the external labels that Thanos keeps in its blocks.").Default("true").BoolVar(&i.External)
	c.Flag("metadata", "Types, help texts and units of metrics, which blocks do not have: a file with the answer of a Prometheus' /api/v1/metadata, or the URL of that Prometheus.").PlaceHolder("FILE|URL").StringVar(&i.Metadata)
	c.Flag("temp-dir", "Where a temporary directory is made, of links and of what the write-ahead log becomes in memory-mapped files. Default: that of the system.").PlaceHolder("DIR").StringVar(&i.Temp)
	importFlags(c, &i.ImportOptions, "Parts of blocks that are imported at once.")
	verifyFlag(c, &i.ImportOptions)
	c.Action(func(*kingpin.ParseContext) error { return i.Validate(time.Now()) })
}
