package migrate

import (
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/cli/command"
)

// Commands adds the commands to a command line. load reads a configuration file of another store.
func Commands(s *command.Set, load Load) {
	in := s.Group("import", "Bring points into the tables.")
	importOpenTSDB(s, in)
	importWhisper(s, in)
	importCeres(s, in)
	importBlocks(s, in)
	importText(s, in)
	importLines(s, in)
	importNative(s, in)
	importFetch(s, in)
	out := s.Group("export", "Write points of the tables.")
	exportWhisper(s, out)
	exportBlocks(s, out)
	exportParquet(s, out)
	exportText(s, out)
	exportLines(s, out)
	exportOpenTSDB(s, out)
	copyCommand(s, load)
}

// filesArgument is the argument of commands that read files, or the standard input.
func filesArgument(c *kingpin.CmdClause, files *[]string) {
	c.Arg("file", "File; - is the standard input, as is no file at all.").StringsVar(files)
	c.Action(func(*kingpin.ParseContext) error {
		for n, file := range *files {
			if file == "" { // what kingpin makes of a lone -
				(*files)[n] = "-"
			}
		}
		return nil
	})
}

// seriesChoice are the flags that select series as PromQL does.
func seriesChoice(c *kingpin.CmdClause, s *SeriesChoice) {
	c.Flag("match", "Series, as a selector of PromQL. It may be repeated: series of any of them. Default: all series.").PlaceHolder("SELECTOR").StringsVar(&s.Match)
	c.Flag("from", "Time of the first samples: 2026-01-31T12:00:00Z, 2026/01/31-12:00:00 (UTC), 1356998400, 30d-ago.").PlaceHolder("TIME").StringVar(&s.From)
	c.Flag("to", "Time of the last samples.").PlaceHolder("TIME").StringVar(&s.To)
	c.Flag("label", "Label that each series gets in addition, in place of one of that name. It may be repeated.").PlaceHolder("NAME=VALUE").StringsVar(&s.Labels)
}

// verifyFlag is a flag of imports of labelled samples.
func verifyFlag(c *kingpin.CmdClause, i *ImportOptions) {
	c.Flag("verify", "What is compared afterwards with what is stored, in all bits: none, sample (a twentieth of the series, at random, and at least 1000), all. What is missing or other is printed; the exit code is then 3.").Default(i.Verify).EnumVar(&i.Verify, VerifyNone, VerifySample, VerifyAll)
}

// importFlags are the flags of every import.
func importFlags(c *kingpin.CmdClause, i *ImportOptions, parallel string) {
	c.Flag("adapter-url", command.RunningAdapter).PlaceHolder("URL").StringVar(&i.URL)
	c.Flag("parallel", parallel).Default(strconv.Itoa(i.Parallel)).IntVar(&i.Parallel)
	c.Flag("state", "File that keeps how much of each file is durable. The same command goes on there after an interruption.").PlaceHolder("FILE").StringVar(&i.State)
	c.Flag("patience", "How long requests to a store, or an adapter, that fails are repeated before the import ends.").Default(i.Patience.String()).DurationVar(&i.Patience)
	c.Flag("progress", "Time between two lines of progress on the standard error. Default: each second on a terminal, otherwise none.").Default("0s").DurationVar(&i.Every)
}

// exportFlags are flags of every export that has a state.
func exportFlags(c *kingpin.CmdClause, url, state *string, patience, every *time.Duration) {
	c.Flag("adapter-url", command.RunningAdapter).PlaceHolder("URL").StringVar(url)
	c.Flag("state", "File that keeps how far the export is. The same command goes on there after an interruption.").PlaceHolder("FILE").StringVar(state)
	c.Flag("patience", "How long requests to a store, or an adapter, that fails are repeated before the export ends.").Default(patience.String()).DurationVar(patience)
	c.Flag("progress", "Time between two lines of progress on the standard error. Default: each second on a terminal, otherwise none.").Default("0s").DurationVar(every)
}
