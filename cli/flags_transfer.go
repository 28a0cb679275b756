package cli

import (
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/cli/ask"
	"github.com/tsdbridge/tsdbridge/cli/migrate"
)

// runningAdapter describes --adapter-url of commands that a running adapter carries out.
const runningAdapter = "URL of the running adapter that does it (it needs --web.enable-admin-api). Default: the tables are opened; if an adapter has the embedded store open, the one on this machine at --web.listen-address does it."

// answeringAdapter is likewise of commands that only ask.
const answeringAdapter = "URL of the running adapter that answers. Default: the tables are opened; if an adapter has the embedded store open, the one on this machine at --web.listen-address answers."

// importCommands are the commands that bring points into the tables.
func (p *parser) importCommands() {
	i := &p.imports
	*i = migrate.DefaultImportOptions()
	all := p.app.Command("import", "Bring points into the tables.")
	c := all.Command("opentsdb", "Import OpenTSDB's text: lines of \"metric timestamp value tag=value ...\", as files, compressed with gzip or not, or from the standard input.")
	filesArgument(c, &i.Files)
	importFlags(c, i, "Files that are imported at once. The lines of one file are stored in their order.")
	c.Flag("skip-errors", "Print bad lines and go on. Otherwise the first one ends the import.").BoolVar(&i.Skip)
	c.Action(func(*kingpin.ParseContext) error { return i.Validate() })
	p.importFilesCommands(all)
	p.importBlocksCommand(all)
	p.importSamplesCommands(all)
}

// importBlocksCommand defines "import prometheus".
func (p *parser) importBlocksCommand(all *kingpin.CmdClause) {
	i := &p.importBlocks
	*i = migrate.DefaultImportBlocksOptions()
	c := all.Command("prometheus", "Import a data directory of Prometheus: its blocks and its write-ahead log, from a snapshot or a copy. Blocks of Thanos and Mimir too. It is only read. What is damaged is printed and left out; the exit code is then 3.")
	c.Arg("dir", "Directory.").Required().StringVar(&i.Dir)
	seriesChoice(c, &i.SeriesChoice)
	c.Flag("external-labels", "Add the external labels that Thanos keeps in its blocks.").Default("true").BoolVar(&i.External)
	c.Flag("metadata", "Types, help texts and units of metrics, which blocks do not have: a file with the answer of a Prometheus' /api/v1/metadata, or the URL of that Prometheus.").PlaceHolder("FILE|URL").StringVar(&i.Metadata)
	c.Flag("temp-dir", "Where a temporary directory is made, of links and of what the write-ahead log becomes in memory-mapped files. Default: that of the system.").PlaceHolder("DIR").StringVar(&i.Temp)
	importFlags(c, &i.ImportOptions, "Parts of blocks that are imported at once.")
	verifyFlag(c, &i.ImportOptions)
	c.Action(func(*kingpin.ParseContext) error { return i.Validate(time.Now()) })
}

// importSamplesCommands defines the imports of texts, and of what a server answers.
func (p *parser) importSamplesCommands(all *kingpin.CmdClause) {
	i := &p.importText
	*i = migrate.DefaultImportTextOptions()
	c := all.Command("openmetrics", "Import samples in OpenMetrics, as promtool's create-blocks-from reads them, or in the text format of Prometheus. Each sample needs a timestamp.")
	filesArgument(c, &i.Files)
	c.Flag("format", "openmetrics, or text: the text format, with timestamps in milliseconds.").Default(i.Format).EnumVar(&i.Format, "openmetrics", "text")
	c.Flag("label", "Label that each series gets in addition, in place of one of that name. It may be repeated.").PlaceHolder("NAME=VALUE").StringsVar(&i.Labels)
	c.Flag("skip-errors", "Go on after bad lines, and print the first of them at the end of a file. Otherwise the first one ends the import.").BoolVar(&i.Skip)
	importFlags(c, &i.ImportOptions, "Files that are imported at once.")
	verifyFlag(c, &i.ImportOptions)
	c.Action(func(*kingpin.ParseContext) error { return i.Validate() })

	l := &p.importLines
	*l = migrate.DefaultImportOptions()
	l.Parallel = 1
	c = all.Command("victoriametrics", "Import series as lines of JSON, as VictoriaMetrics' /api/v1/export answers, as files, compressed with gzip or not, or from the standard input. A line has at most 64 MiB: ask for max_rows_per_line=100000.")
	filesArgument(c, &l.Files)
	c.Flag("skip-errors", "Print bad lines and go on. Otherwise the first one ends the import.").BoolVar(&l.Skip)
	importFlags(c, l, "Files that are imported at once.")
	verifyFlag(c, l)
	c.Action(func(*kingpin.ParseContext) error { return l.Validate() })

	n := &p.importNative
	*n = migrate.DefaultImportNativeOptions()
	n.Parallel = 2
	c = all.Command("victoriametrics-native", "Import what VictoriaMetrics' /api/v1/export/native answers, as files, compressed with gzip or not, or from the standard input.")
	filesArgument(c, &n.Files)
	c.Flag("label", "Label that each series gets in addition, in place of one of that name. It may be repeated.").PlaceHolder("NAME=VALUE").StringsVar(&n.Labels)
	c.Flag("skip-errors", "Go on after blocks that cannot be read, and print the first of them at the end of a file. Otherwise the first one ends the import.").BoolVar(&n.Skip)
	importFlags(c, &n.ImportOptions, "Files that are imported at once.")
	verifyFlag(c, &n.ImportOptions)
	c.Action(func(*kingpin.ParseContext) error { return n.Validate() })

	f := &p.importFetch
	*f = migrate.DefaultImportFetchOptions()
	c = all.Command("remote-read", "Import what a server answers by Prometheus' remote read: floats and native histograms.")
	c.Arg("url", "URL of the server's remote read, such as http://prometheus:9090/api/v1/read, with a user and a password if it wants them.").Required().StringVar(&f.Server)
	seriesChoice(c, &f.SeriesChoice)
	c.Flag("header", "Header of all requests, such as \"X-Scope-OrgID: tenant\". It may be repeated.").PlaceHolder("NAME: VALUE").StringsVar(&f.Headers)
	c.Flag("window", "Time of one request.").Default(f.Window.String()).DurationVar(&f.Window)
	c.Flag("timeout", "How long a request may take.").Default(f.Timeout.String()).DurationVar(&f.Timeout)
	importFlags(c, &f.ImportOptions, "Requests at once.")
	verifyFlag(c, &f.ImportOptions)
	c.Action(func(*kingpin.ParseContext) error { return f.Validate(time.Now()) })
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

// exportLinesCommand defines "export openmetrics" and "export victoriametrics".
func (p *parser) exportLinesCommand(all *kingpin.CmdClause) {
	x := &p.exportText
	*x = migrate.DefaultExportTextOptions()
	c := all.Command("openmetrics", "Write floats in OpenMetrics, as promtool's create-blocks-from reads them. The rest is left out and counted; the exit code is then 3.")
	seriesChoice(c, &x.SeriesChoice)
	c.Flag("output", "File. Default: the standard output.").PlaceHolder("FILE").StringVar(&x.Output)
	c.Flag("gzip", "Compress with gzip, as if the name of the file ended with .gz.").BoolVar(&x.Gzip)
	exportFlags(c, &x.URL, &x.State, &x.Patience, &x.Every)
	c.Action(func(*kingpin.ParseContext) error { return x.Validate(time.Now()) })

	e := &p.exportLines
	*e = migrate.DefaultExportLinesOptions()
	c = all.Command("victoriametrics", "Write series as lines of JSON, as VictoriaMetrics' /api/v1/import takes them: floats. The rest is left out and counted; the exit code is then 3.")
	seriesChoice(c, &e.SeriesChoice)
	c.Flag("output", "File, or a directory that gets a numbered file for each of --parallel: one that exists, or a name with a slash at its end. Default: the standard output.").PlaceHolder("PATH").StringVar(&e.Output)
	c.Flag("gzip", "Compress with gzip, as if the name of the file ended with .gz.").BoolVar(&e.Gzip)
	c.Flag("parallel", "Files that are written at once into a directory.").Default(text(e.Parallel)).IntVar(&e.Parallel)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate(time.Now()) })
}

// seriesChoice are the flags that select series as PromQL does.
func seriesChoice(c *kingpin.CmdClause, s *migrate.SeriesChoice) {
	c.Flag("match", "Series, as a selector of PromQL. It may be repeated: series of any of them. Default: all series.").PlaceHolder("SELECTOR").StringsVar(&s.Match)
	c.Flag("from", "Time of the first samples: 2026-01-31T12:00:00Z, 2026/01/31-12:00:00 (UTC), 1356998400, 30d-ago.").PlaceHolder("TIME").StringVar(&s.From)
	c.Flag("to", "Time of the last samples.").PlaceHolder("TIME").StringVar(&s.To)
	c.Flag("label", "Label that each series gets in addition, in place of one of that name. It may be repeated.").PlaceHolder("NAME=VALUE").StringsVar(&s.Labels)
}

// importFilesCommands defines "import whisper" and "import ceres".
func (p *parser) importFilesCommands(all *kingpin.CmdClause) {
	i := &p.importFiles
	*i = migrate.DefaultImportFilesOptions()
	c := all.Command("whisper", "Import the whisper files (*.wsp) below a directory, such as carbon's /opt/graphite/storage/whisper. The finest archive of a file becomes points, the coarser ones are kept beside them for Graphite. Files that cannot be read are printed and skipped; the exit code is then 3.")
	p.importFilesFlags(c, false)
	c.Flag("tagged-names", "File of names of series with tags, one in a line: carbon names the files of these by hashes, from which names do not follow.").PlaceHolder("FILE").StringVar(&i.TaggedNames)
	c = all.Command("ceres", "Import the series of ceres below a directory, such as carbon's /opt/graphite/storage/ceres, as \"import whisper\" does.")
	p.importFilesFlags(c, true)
}

// importFilesFlags are the flags of both.
func (p *parser) importFilesFlags(c *kingpin.CmdClause, ceres bool) {
	i := &p.importFiles
	c.Arg("dir", "Directory.").Required().StringVar(&i.Dir)
	importFlags(c, &i.ImportOptions, "Files that are imported at once.")
	c.Flag("archives", "Archives that are imported: all, finest, or a list of steps such as 1m,1h.").Default(i.Archives).StringVar(&i.Archives)
	c.Action(func(*kingpin.ParseContext) error {
		i.Ceres = ceres
		return i.Validate()
	})
}

// verifyFlag is a flag of imports of labelled samples.
func verifyFlag(c *kingpin.CmdClause, i *migrate.ImportOptions) {
	c.Flag("verify", "What is compared afterwards with what is stored, in all bits: none, sample (a twentieth of the series, at random, and at least 1000), all. What is missing or other is printed; the exit code is then 3.").Default(i.Verify).EnumVar(&i.Verify, migrate.VerifyNone, migrate.VerifySample, migrate.VerifyAll)
}

// importFlags are the flags of every import.
func importFlags(c *kingpin.CmdClause, i *migrate.ImportOptions, parallel string) {
	c.Flag("adapter-url", runningAdapter).PlaceHolder("URL").StringVar(&i.URL)
	c.Flag("parallel", parallel).Default(text(i.Parallel)).IntVar(&i.Parallel)
	c.Flag("state", "File that keeps how much of each file is durable. The same command goes on there after an interruption.").PlaceHolder("FILE").StringVar(&i.State)
	c.Flag("patience", "How long a store, or an adapter, that fails is asked again before the import ends.").Default(i.Patience.String()).DurationVar(&i.Patience)
	c.Flag("progress", "Time between two lines of progress on the standard error. Default: each second on a terminal, otherwise none.").Default("0s").DurationVar(&i.Every)
}

// exportCommands are the commands that write points of the tables.
func (p *parser) exportCommands() {
	e := &p.exports
	*e = migrate.DefaultExportOptions()
	all := p.app.Command("export", "Write points of the tables.")
	p.exportWhisperCommand(all)
	p.exportBlocksCommand(all)
	p.exportParquetCommand(all)
	p.exportLinesCommand(all)
	c := all.Command("opentsdb", "Write OpenTSDB's import text: lines of \"metric timestamp value tag=value ...\".")
	c.Flag("format", "What is written: import (text), or raw: the cells of the rows, as \"tsdb scan\" prints them.").Default(e.Format).EnumVar(&e.Format, migrate.ExportText, migrate.ExportRaw)
	c.Flag("match", "Series: metric{tag=filter,...} as in m= of a query; * is any metric. It may be repeated. Default: all series.").PlaceHolder("SERIES").StringsVar(&e.Match)
	c.Flag("with", "What is written in addition to points: histograms, annotations (the global ones too, without --match), rollups (the values of --storage.rollups). A TSD's import does not take these lines. It may be repeated.").EnumsVar(&e.With, migrate.ExportExtras()...)
	c.Flag("start", "Time of the first points, as in a query of OpenTSDB: 2026/01/31-12:00:00 (UTC), 1356998400, 30d-ago.").PlaceHolder("TIME").StringVar(&e.Start)
	c.Flag("end", "Time of the last points.").PlaceHolder("TIME").StringVar(&e.End)
	c.Flag("output", "File, or a directory that gets a numbered file for each of --parallel: one that exists, or a name with a slash at its end. Default: the standard output.").PlaceHolder("PATH").StringVar(&e.Output)
	c.Flag("gzip", "Compress with gzip, as if the name of the file ended with .gz.").BoolVar(&e.Gzip)
	c.Flag("parallel", "Files that are written at once into a directory.").Default(text(e.Parallel)).IntVar(&e.Parallel)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate(time.Now()) })
}

// exportParquetCommand defines "export parquet".
func (p *parser) exportParquetCommand(all *kingpin.CmdClause) {
	e := &p.exportParquet
	*e = migrate.DefaultExportParquetOptions()
	c := all.Command("parquet", "Write floats as files of Apache Parquet, a row for each sample: metric, labels, time, value. The rest is left out and counted; the exit code is then 3.")
	c.Arg("dir", "Directory for the files.").Required().StringVar(&e.Dir)
	seriesChoice(c, &e.SeriesChoice)
	c.Flag("file-duration", "Time of each file: a multiple of 2h, at most 744h.").Default(e.Length.String()).DurationVar(&e.Length)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate(time.Now()) })
}

// exportBlocksCommand defines "export prometheus".
func (p *parser) exportBlocksCommand(all *kingpin.CmdClause) {
	e := &p.exportBlocks
	*e = migrate.DefaultExportBlocksOptions()
	c := all.Command("prometheus", "Write blocks of Prometheus: floats and native histograms. Exemplars are left out, since blocks cannot hold them; the exit code is then 3.")
	c.Arg("dir", "Directory, such as the data directory of a Prometheus. A block that is there from the same export is replaced.").Required().StringVar(&e.Dir)
	c.Flag("block-duration", "Time of a block: 2h, 6h, 18h, 54h, 162h or 486h.").Default(e.Length.String()).DurationVar(&e.Length)
	c.Flag("start-times", "Write start times too, in chunks that only a Prometheus reads that knows them (3.15 does).").BoolVar(&e.Starts)
	seriesChoice(c, &e.SeriesChoice)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate(time.Now()) })
}

// exportFlags are flags of every export that has a state.
func exportFlags(c *kingpin.CmdClause, url, state *string, patience, every *time.Duration) {
	c.Flag("adapter-url", runningAdapter).PlaceHolder("URL").StringVar(url)
	c.Flag("state", "File that keeps how far the export is. The same command goes on there after an interruption.").PlaceHolder("FILE").StringVar(state)
	c.Flag("patience", "How long a store, or an adapter, that fails is asked again before the export ends.").Default(patience.String()).DurationVar(patience)
	c.Flag("progress", "Time between two lines of progress on the standard error. Default: each second on a terminal, otherwise none.").Default("0s").DurationVar(every)
}

// exportWhisperCommand defines "export whisper".
func (p *parser) exportWhisperCommand(all *kingpin.CmdClause) {
	e := &p.exportFiles
	*e = migrate.DefaultExportFilesOptions()
	c := all.Command("whisper", "Write whisper files, as carbon has them, of the names that Graphite shows. Archives are those of imported files, else of --graphite.storage-schemas.")
	c.Arg("dir", "Directory. Files that are there are replaced.").Required().StringVar(&e.Dir)
	c.Flag("match", "Names, with the wildcards of targets: servers.*.cpu. It may be repeated. Default: all.").PlaceHolder("PATTERN").StringsVar(&e.Match)
	c.Flag("retentions", "Archives of series for which nothing tells them, as in storage-schemas.conf: 10s:6h,1m:7d. Default: their own step for a year.").PlaceHolder("LIST").StringVar(&e.Retentions)
	c.Flag("tagged-by-name", "Name the files of series with tags by their names, as carbon does with TAG_HASH_FILENAMES = False. Otherwise they are named by hashes.").BoolVar(&e.Named)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate() })
}

// askCommands are the commands that ask as a TSD's tools do.
func (p *parser) askCommands() {
	q := p.app.Command("query", "Print points that a query finds, as \"tsdb query\" of OpenTSDB does: START [END] FUNC [rate] [counter,MAX,RESET] [downsample MILLISECONDS FUNC] METRIC [tag=value ...], and further queries behind it.")
	q.Flag("adapter-url", answeringAdapter).PlaceHolder("URL").StringVar(&p.ask.URL)
	q.Arg("argument", "Argument of the query.").Required().StringsVar(&p.ask.Args)
	l := p.app.Command("search", "Search series.").Command("lookup", "Print the series that have a metric and tags: [METRIC] [tag=value ...]. tag= is any value, =value any tag.")
	l.Flag("adapter-url", answeringAdapter).PlaceHolder("URL").StringVar(&p.ask.URL)
	l.Flag("limit", "Number of series that are printed at most; 0: all.").Default("0").IntVar(&p.ask.Limit)
	l.Arg("argument", "Metric or tag.").Required().StringsVar(&p.ask.Args)
}

// checkCommands are the commands that compare.
func (p *parser) checkCommands() {
	k := &p.checkTSD
	*k = ask.DefaultCheckTSDOptions()
	all := p.app.Command("check", "Check files of configuration, or the answers of an adapter.")
	config := all.Command("config", "Check a configuration file and the files that it names. It prints all errors, each with its line. The exit code is 0 if there are none, 1 if there are some.")
	config.Arg("file", "YAML file for --config.file.").Required().StringVar(&p.checked)
	ruleFiles := all.Command("rules", "Check rule files, as promtool does, with the languages of rules that it does not know. Exit codes as those of check config.")
	ruleFiles.Arg("file", "Rule files.").Required().StringsVar(&p.ruleFiles)
	web := all.Command("web-config", "Check a file with TLS and passwords, and the certificates that it names. Exit codes as those of check config.")
	web.Arg("file", "File for --web.config.file.").Required().StringVar(&p.checked)
	c := all.Command("tsd", "Ask a TSD and an adapter the same queries, and print what differs. It only reads. Exit codes: 0 all equal, 1 differences, 2 something could not be asked.").Default()
	c.Flag("tsd", "URL of the TSD.").PlaceHolder("URL").StringVar(&k.TSD)
	c.Flag("adapter", "URL of the adapter: of its port for OpenTSDB, or of its web port.").PlaceHolder("URL").StringVar(&k.Adapter)
	c.Flag("queries", "File of requests of /api/query, one in a line: JSON, or URLs, also in lines of an access log; - is the standard input. Default: random queries.").PlaceHolder("FILE").StringVar(&k.Queries)
	c.Flag("sample", "Number of random queries, over the metrics that the TSD lists.").Default(text(k.Sample)).IntVar(&k.Sample)
	c.Flag("sample-span", "How far back random queries go.").Default(k.Span.String()).DurationVar(&k.Span)
	c.Flag("sample-seed", "Seed of the random queries: the same one makes the same queries of the same metrics at the same time.").Default("1").Uint64Var(&k.Seed)
	c.Flag("newest", "Points younger than this are not asked for, since they may have arrived at one of both only.").Default(k.Newest.String()).DurationVar(&k.Newest)
	c.Flag("timeout", "How long a request may take.").Default(k.Timeout.String()).DurationVar(&k.Timeout)
	c.Flag("tolerance", "Relative difference up to which two values are equal.").Default("0").Float64Var(&k.Tolerance)
	c.Flag("show", "Series of a request, and instants of a series, that are shown of those that differ.").Default(text(k.Show)).IntVar(&k.Show)
}

// ruleCommands defines "rules".
func (p *parser) ruleCommands() {
	b := &p.backfill
	c := p.app.Command("rules", "Recording rules and alerts.").Command("backfill", "Fill the recording rules of files for the past: they are evaluated at all instants of a time, and a running adapter stores the results. Alerts are left out. It may be run again: the same instants get the same points.")
	c.Flag("start", "First instant, such as 2026-01-01T00:00:00Z, or seconds since 1970.").Required().PlaceHolder("TIME").StringVar(&b.Start)
	c.Flag("end", "Last instant. Default: now.").PlaceHolder("TIME").StringVar(&b.End)
	c.Flag("eval-interval", "Interval of groups that have none.").Default("1m").DurationVar(&b.Interval)
	c.Flag("adapter-url", "URL of the adapter (it needs --web.enable-admin-api). Default: the one on this machine at --web.listen-address.").PlaceHolder("URL").StringVar(&b.URL)
	c.Arg("file", "Rule files.").Required().StringsVar(&b.Files)
	c.Action(func(*kingpin.ParseContext) error { return b.Validate() })
}

// testCommand defines "test".
func (p *parser) testCommand() {
	t := &p.ruleTests
	c := p.app.Command("test", "Test what was written.").Command("rules", "Run unit tests of rules: files in promtool's format. The rules and queries are evaluated over empty stores in memory, with the languages of rules that promtool does not know. The exit code is 0 if all tests pass, 1 if some fail.")
	c.Flag("run", "Only tests whose names match this regular expression (RE2). It may be repeated.").PlaceHolder("REGEXP").StringsVar(&t.Run)
	c.Flag("junit", "File that gets the results in JUnit's format.").PlaceHolder("FILE").StringVar(&t.JUnit)
	c.Flag("debug", "Tell when a test begins and ends, and list all data after it.").BoolVar(&t.Debug)
	c.Flag("diff", "Show alerts that differ as a coloured difference.").BoolVar(&t.Diff)
	c.Flag("ignore-unknown-fields", "Take rule files with fields that nobody knows.").BoolVar(&t.IgnoreUnknown)
	c.Arg("file", "Files of tests.").Required().StringsVar(&t.Files)
	c.Action(func(*kingpin.ParseContext) error { return t.Validate() })
}

// copyCommand defines "copy".
func (p *parser) copyCommand() {
	o := &p.copies
	*o = migrate.DefaultCopyOptions()
	c := p.app.Command("copy", "Copy all that a store holds into another one, whatever engines, UID widths and salts they have: points, histograms, exemplars, annotations, metadata, trees, archives and rolled up values. What the other store has in addition stays.")
	const side = "a configuration file of tsdbridge that names it, or the URL of an adapter that has it open (it needs --web.enable-admin-api). Default: the store of the flags of this command."
	c.Flag("from", "Store that is read: "+side).PlaceHolder("FILE|URL").StringVar(&o.From.Given)
	c.Flag("to", "Store that is written: "+side).PlaceHolder("FILE|URL").StringVar(&o.To.Given)
	c.Flag("match", "Series: metric{tag=filter,...} as in m= of a query; * is any metric. It may be repeated. Default: all series, and what belongs to none.").PlaceHolder("SERIES").StringsVar(&o.Match)
	c.Flag("from-time", "Time of the first points, as in a query of OpenTSDB: 2026/01/31-12:00:00 (UTC), 1356998400, 30d-ago.").PlaceHolder("TIME").StringVar(&o.Start)
	c.Flag("to-time", "Time of the last points.").PlaceHolder("TIME").StringVar(&o.End)
	c.Flag("state", "File that keeps how far the copy is. The same command goes on there after an interruption.").PlaceHolder("FILE").StringVar(&o.State)
	c.Flag("verify", "What is compared afterwards: none, sample (all series, and the points of a twentieth of the ranges, at random), all.").Default(o.Verify).EnumVar(&o.Verify, migrate.VerifyNone, migrate.VerifySample, migrate.VerifyAll)
	c.Flag("follow", "After the copy, copy what changes in the source, until a signal; then once more.").BoolVar(&o.Follow)
	c.Flag("follow-every", "Time between two rounds of --follow.").Default(o.Pause.String()).DurationVar(&o.Pause)
	c.Flag("delete", "With --follow: delete points of the copied series in the target where the source has deleted some.").BoolVar(&o.Delete)
	c.Flag("rate", "Points that are copied in a second at most; 0: no limit.").Default("0").IntVar(&o.Rate)
	c.Flag("parallel", "Ranges that are copied at once. Default: the number of cores.").PlaceHolder("N").IntVar(&o.Parallel)
	c.Flag("patience", "How long a store that fails is asked again before the copy ends.").Default(o.Patience.String()).DurationVar(&o.Patience)
	c.Flag("progress", "Time between two lines of progress on the standard error. Default: each second on a terminal, otherwise none.").Default("0s").DurationVar(&o.Every)
	c.Action(func(*kingpin.ParseContext) error { return o.Validate(time.Now()) })
}
