package migrate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/ceres"
	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/whisper"
)

// ImportFilesOptions are the flags of imports of directories of files.
type ImportFilesOptions struct {
	ImportOptions // Skip and Files are not used

	Ceres       bool   // the files are those of ceres, otherwise of whisper
	Dir         string // argument
	Archives    string // --archives: all, finest or steps
	TaggedNames string // --tagged-names: a file of names; empty: none
}

// DefaultImportFilesOptions returns the options without a flag.
func DefaultImportFilesOptions() ImportFilesOptions {
	return ImportFilesOptions{ImportOptions: DefaultImportOptions(), Archives: graphitefiles.AllArchives}
}

// Validate names the flag that cannot work.
func (i ImportFilesOptions) Validate() error {
	if _, err := graphitefiles.ParseArchiveChoice(i.Archives); err != nil {
		return fmt.Errorf("--archives=%s: %w", i.Archives, err)
	}
	return i.ImportOptions.Validate()
}

// ImportFiles imports the whisper files, or the series of ceres, below a directory into the tables, or into the adapter
// that has them open.
func ImportFiles(ctx context.Context, o adapter.Options, i ImportFilesOptions, console command.Console) error {
	if err := i.readable([]string{i.Dir}); err != nil {
		return err
	}
	of := &graphitefiles.Import{Dir: i.Dir}
	of.Archives, _ = graphitefiles.ParseArchiveChoice(i.Archives) // checked by Validate
	var err error
	if of.Tagged, err = readTaggedNames(i.TaggedNames); err != nil {
		return fmt.Errorf("--tagged-names: %w", err)
	}
	return session.Place{Options: o, URL: i.URL}.Write(ctx, func(ctx context.Context, t session.Tables) error {
		of.Store, i.reporter = t.Parts(), t.Reporter(i.kind())
		return i.run(i.reporter.With(ctx), console, of, t.Name())
	})
}

// kind names the import for people.
func (i ImportFilesOptions) kind() string {
	if i.Ceres {
		return "import ceres"
	}
	return "import whisper"
}

// maxTaggedName bounds a line of --tagged-names, in bytes.
const maxTaggedName = 64 << 10

// readTaggedNames reads names, one in a line.
func readTaggedNames(file string) (map[whisper.Hash]string, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	names := map[whisper.Hash]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxTaggedName)
	for lines.Scan() {
		if name := strings.TrimSpace(lines.Text()); name != "" {
			names[whisper.HashOf(name)] = name
		}
	}
	return names, lines.Err()
}

// run imports the files by the store of an import.
func (i ImportFilesOptions) run(ctx context.Context, console command.Console, of *graphitefiles.Import, target string) error {
	line := &command.StatusLine{Console: console}
	to := pipeline.DefaultTreeOptions()
	to.Dir, to.Suffix, to.Store, to.Parallel, to.State, to.Target, to.Patience = i.Dir, whisper.Suffix, of.Whisper, i.Parallel, i.State, target, i.Patience
	to.What = "archives: " + i.Archives
	if i.Ceres {
		to.Suffix, to.Store, to.What = ceres.NodeFile, of.Ceres, "ceres, "+to.What
	}
	to.Skipped = func(path string, err error) { fmt.Fprintln(line, strings.ToValidUTF8(path+": "+err.Error(), "?")) }
	to.Failed = waiting(line)
	to.Progress = i.progress(ctx, line)
	done, err := pipeline.ImportTree(ctx, to)
	i.reporter.End(ctx, importProgress(done), err)
	line.Close()
	took := done.Took.Round(time.Millisecond)
	if err != nil {
		fmt.Fprintf(console.Err, "%d points were imported in %v; %s\n", done.Points, took, pipeline.Hint(pipeline.ImportOptions{State: i.State}))
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	fmt.Fprintf(console.Out, "%d points of %d files imported in %v, %.0f/s", done.Points, int64(done.Done)-done.Skipped, took, done.Rate())
	if done.Before > 0 {
		fmt.Fprintf(console.Out, "; %d before", done.Before)
	}
	fmt.Fprintln(console.Out)
	if done.Skipped > 0 {
		return &command.ExitError{Code: command.ExitIncomplete, Err: fmt.Errorf("%d files were skipped, or imported in part", done.Skipped)}
	}
	return nil
}

// importWhisper defines "import whisper".
func importWhisper(s *command.Set, all *kingpin.CmdClause) {
	i := DefaultImportFilesOptions()
	c := s.Add(all, "whisper", command.With(ImportFiles, &i), "Import the whisper files (*.wsp) below a directory, such as carbon's /opt/graphite/storage/whisper. The finest archive of a file becomes points, the coarser ones are kept in addition for Graphite. Files that cannot be read are printed and skipped; the exit code is then 3.")
	importFilesFlags(c, &i)
	c.Flag("tagged-names", "File of names of series with tags, one in a line: carbon names the files of these by hashes, from which names do not follow.").PlaceHolder("FILE").StringVar(&i.TaggedNames)
}

// importCeres defines "import ceres".
func importCeres(s *command.Set, all *kingpin.CmdClause) {
	i := DefaultImportFilesOptions()
	i.Ceres = true
	c := s.Add(all, "ceres", command.With(ImportFiles, &i), "Import the series of ceres below a directory, such as carbon's /opt/graphite/storage/ceres, as \"import whisper\" does.")
	importFilesFlags(c, &i)
}

// importFilesFlags are the flags of both.
func importFilesFlags(c *kingpin.CmdClause, i *ImportFilesOptions) {
	c.Arg("dir", "Directory.").Required().StringVar(&i.Dir)
	importFlags(c, &i.ImportOptions, "Files that are imported at once.")
	c.Flag("archives", "Archives that are imported: all, finest, or a list of steps such as 1m,1h.").Default(i.Archives).StringVar(&i.Archives)
	c.Action(func(*kingpin.ParseContext) error { return i.Validate() })
}
