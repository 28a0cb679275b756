package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/fetch"
)

// ImportFetchOptions are the flags of "import remote-read".
type ImportFetchOptions struct {
	ImportOptions
	SeriesChoice

	Server  string        // argument: URL of the remote read
	Headers []string      // --header: "name: value"
	Window  time.Duration // --window: time of a request
	Timeout time.Duration // --timeout: of a request

	headers map[string]string
}

// DefaultImportFetchOptions returns the options without a flag.
func DefaultImportFetchOptions() ImportFetchOptions {
	i := ImportFetchOptions{ImportOptions: DefaultImportOptions(), Window: 2 * time.Hour, Timeout: 5 * time.Minute}
	i.Parallel = 2
	return i
}

// Validate names the flag that cannot work.
func (i *ImportFetchOptions) Validate(now time.Time) error {
	switch {
	case i.From == "" || i.To == "":
		return errors.New("--from and --to: both are needed, since nothing tells from when to when a server has samples")
	case i.Window < time.Minute:
		return fmt.Errorf("--window=%v: must be at least 1m", i.Window)
	case i.Timeout <= 0:
		return fmt.Errorf("--timeout=%v: must be above 0", i.Timeout)
	}
	i.headers = map[string]string{}
	for _, text := range i.Headers {
		name, v, ok := strings.Cut(text, ":")
		if !ok {
			return fmt.Errorf("--header=%s: want NAME: VALUE", name)
		}
		i.headers[strings.TrimSpace(name)] = strings.TrimSpace(v)
	}
	if err := i.SeriesChoice.Validate(now); err != nil {
		return err
	}
	if i.to-i.from > mostWindows*i.Window.Milliseconds() {
		return fmt.Errorf("--window=%v: from --from to --to there would be more than %d of them", i.Window, mostWindows)
	}
	return i.ImportOptions.Validate()
}

// mostWindows bounds the requests of an import.
const mostWindows = 1 << 20

// ImportFetch imports what a server answers by remote read into the tables, or into the adapter that
// has them open.
func ImportFetch(ctx context.Context, o adapter.Options, i ImportFetchOptions, console command.Console) error {
	client, err := fetch.New(fetch.Options{URL: i.Server, Headers: i.headers, Timeout: i.Timeout})
	if err != nil {
		return err
	}
	i.unit = "windows"
	return intoColumns(ctx, o, &i.ImportOptions, "import remote-read", func(ctx context.Context, t columnsTarget) error {
		return i.run(ctx, console, client, t)
	})
}

// window returns the times of a piece. Windows begin at multiples of their length.
func (i *ImportFetchOptions) window(piece int) (from, to int64) {
	length := i.Window.Milliseconds()
	from = (i.from/length + int64(piece)) * length
	return max(from, i.from), min(from+length-1, i.to)
}

// run imports window by window.
func (i *ImportFetchOptions) run(ctx context.Context, console command.Console, client *fetch.Client, target columnsTarget) error {
	line := &command.StatusLine{Console: console}
	d := pipeline.DefaultTreeOptions()
	to := pipeline.PiecesOptions{Parallel: i.Parallel, HeldBytes: 1, Patience: i.Patience, Every: d.Every, Now: d.Now, State: i.State, Target: target.name}
	to.Source, to.What = withoutPassword(i.Server), fmt.Sprintf("%s by %v", i.what(), i.Window)
	for n := 0; ; n++ {
		from, end := i.window(n)
		if from > i.to {
			break
		}
		to.Pieces = append(to.Pieces, pipeline.Piece{
			Name: time.UnixMilli(from).UTC().Format("2006-01-02T15:04:05.000Z"), Size: end - from + 1, Mark: fmt.Sprintf("to %d", end),
		})
	}
	i.watch(ctx, &to, line)
	s := &storing{again: to.Again, store: target.store, tell: func(text string) { fmt.Fprintln(line, text) }}
	to.Store = func(ctx context.Context, piece int) (points int64, err error) {
		from, end := i.window(piece)
		var bad damageList
		err = to.Again(ctx, func() error { // of the server too
			points, bad, err = i.fetch(ctx, client, from, end, s)
			return err
		})
		if err == nil {
			err = bad.skip(points)
		}
		return points, err
	}
	done, err := pipeline.ImportPieces(ctx, to)
	line.Close()
	return i.end(ctx, console, importResult{done, err, 0, s}, target, &reread{
		units: len(to.Pieces), by: "windows", asks: true, read: func(ctx context.Context, unit int, _ func(labels.Labels) bool, give func(*columns.Batch) error) error {
			from, end := i.window(unit)
			_, _, err := i.fetch(ctx, client, from, end, giving(give))
			return err
		},
	})
}

// fetch stores what a server has of a window. What cannot be stored is in bad.
func (i *ImportFetchOptions) fetch(ctx context.Context, client *fetch.Client, from, to int64, s *storing) (points int64, bad damageList, err error) {
	match := columns.AnyOf(i.match)
	for n, ms := range match {
		q := fetch.Query{From: from, To: to, Match: ms, Not: match[:n], Bad: bad.add}
		err := client.Read(ctx, q, func(b *columns.Batch) error {
			b.With(i.labels)
			n, err := s.give(ctx, b)
			points += n
			return err
		})
		if err != nil {
			return points, bad, err
		}
	}
	return points, bad, nil
}

// withoutPassword returns a URL as it may be kept.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Redacted()
}

// importFetch defines "import remote-read".
func importFetch(s *command.Set, all *kingpin.CmdClause) {
	f := DefaultImportFetchOptions()
	c := s.Add(all, "remote-read", command.With(ImportFetch, &f), "Import what a server answers by Prometheus' remote read: floats and native histograms.")
	c.Arg("url", "URL of the server's remote read, such as http://prometheus:9090/api/v1/read, with a user and a password if it wants them.").Required().StringVar(&f.Server)
	seriesChoice(c, &f.SeriesChoice)
	c.Flag("header", "Header of all requests, such as \"X-Scope-OrgID: tenant\". It may be repeated.").PlaceHolder("NAME: VALUE").StringsVar(&f.Headers)
	c.Flag("window", "Time of one request.").Default(f.Window.String()).DurationVar(&f.Window)
	c.Flag("timeout", "How long a request may take.").Default(f.Timeout.String()).DurationVar(&f.Timeout)
	importFlags(c, &f.ImportOptions, "Requests at once.")
	verifyFlag(c, &f.ImportOptions)
	c.Action(func(*kingpin.ParseContext) error { return f.Validate(time.Now()) })
}
