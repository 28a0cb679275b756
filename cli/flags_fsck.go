package cli

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/cli/maintain"
)

// fsckCommand is the command that checks the tables.
func (p *parser) fsckCommand() {
	f := &p.fsck
	*f = maintain.DefaultFsckOptions()
	c := p.app.Command(commandFsck, "Check the rows of the OpenTSDB tables, on every engine, and print what is wrong with them. The exit code is 0 if nothing is, 1 if something is, 2 if the check did not come to its end.")
	c.Flag("table", "Tables that are checked, separated by commas: data (tsdb), meta (tsdb-meta), tree (tsdb-tree). Default: all.").PlaceHolder("TABLE,...").StringVar(&f.Tables)
	c.Flag("fix", "Kinds of findings that are mended, separated by commas; lossless: all whose mend loses nothing; all: all that can be mended. Default: nothing is changed.").PlaceHolder("KIND,...").StringVar(&f.Fix)
	p.checkFlags(c, f)
}

// metaCommands are the commands about tsdb-meta.
func (p *parser) metaCommands() {
	f := &p.metaSync
	*f = maintain.DefaultFsckOptions()
	c := p.app.Command("meta", "The rows of tsdb-meta.").Command("sync", "List the series that have data and no row of tsdb-meta, or no counter or document in it. The exit code is 0 if nothing is missing, 1 if something is, 2 if the command did not come to its end.")
	fix := c.Flag("fix", "Make what is missing, as a TSD's uid metasync does.").Bool()
	c.Action(func(*kingpin.ParseContext) error {
		if *fix {
			f.Fix = "no-meta"
		}
		return nil
	})
	p.checkFlags(c, f)
}

// checkFlags are the flags of checks.
func (p *parser) checkFlags(c *kingpin.CmdClause, f *maintain.FsckOptions) {
	c.Flag("metric", "Check the rows of this metric; repeatable. Default: all rows.").PlaceHolder("METRIC").StringsVar(&f.Metrics)
	c.Flag("start", "Check the hours from this one on, such as 2013-01-01T00:00:00Z, or seconds since 1970.").PlaceHolder("TIME").StringVar(&f.Start)
	c.Flag("end", "Check the hours up to this one.").PlaceHolder("TIME").StringVar(&f.End)
	c.Flag("parallel", "Stretches of rows that are checked at once.").Default(text(f.Parallel)).IntVar(&f.Parallel)
	c.Flag("state", "File that keeps how far the check is. The same command goes on there after an interruption.").PlaceHolder("FILE").StringVar(&f.State)
	c.Flag("adapter-url", runningAdapter).PlaceHolder("URL").StringVar(&f.URL)
	c.Flag("progress", "Time between two lines of progress on the standard error. Default: each second on a terminal, otherwise none.").Default("0s").DurationVar(&f.Every)
	c.Action(func(*kingpin.ParseContext) error { return f.Validate() })
}
