// Package ask has the commands that ask what answers, a TSD or a running adapter, and print it: queries and lookups of OpenTSDB's
// command line, the comparison of two servers, and whether an adapter is ready. It changes nothing.
package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	"github.com/tsdbridge/tsdbridge/opentsdb/client"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// Options are the flags and arguments of the commands that ask OpenTSDB's API: "query" and "search lookup".
type Options struct {
	URL   string // --adapter-url: of the adapter that answers; empty: the tables are opened, or this machine's adapter answers
	Args  []string
	Limit int // --limit: of series, of "search lookup"; 0: none
}

// with calls use with a client of the adapter that runs, or of the tables.
func (a *Options) with(ctx context.Context, o adapter.Options, use func(ctx context.Context, c client.Client) error) error {
	return session.Place{Options: o, URL: a.URL}.Read(ctx, func(ctx context.Context, t session.Tables) error { return use(ctx, t.OpenTSDB()) })
}

// Query answers the queries of a command line as a TSD's "tsdb query" does.
func Query(ctx context.Context, o adapter.Options, a Options, console command.Console) error {
	zone, err := query.ParseZone(o.OpenTSDB.TimeZone)
	if err != nil {
		return err
	}
	bodies, err := query.ParseCommandLine(a.Args, zone, o.Now())
	if err != nil {
		return &command.ExitError{Code: command.ExitUsage, Err: fmt.Errorf("%w: want START [END] FUNC [rate] [counter,MAX,RESET] [downsample MILLISECONDS FUNC] METRIC [tag=value ...]", err)}
	}
	return a.with(ctx, o, func(ctx context.Context, c client.Client) error {
		out := bufio.NewWriterSize(console.Out, 64<<10)
		for _, body := range bodies {
			err := c.Query(ctx, body, func(s *client.Series) error {
				tsdtext.WriteQueryLines(out, s)
				return out.Flush()
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Lookup prints the series that a lookup finds: TSUID, metric and tags.
func Lookup(ctx context.Context, o adapter.Options, a Options, console command.Console) error {
	body, err := query.ParseLookupArguments(a.Args, a.Limit)
	if err != nil {
		return &command.ExitError{Code: command.ExitUsage, Err: fmt.Errorf("%w: want [METRIC] [tag=value ...]", err)}
	}
	return a.with(ctx, o, func(ctx context.Context, c client.Client) error {
		out := bufio.NewWriterSize(console.Out, 64<<10)
		err := c.Lookup(ctx, body, func(f client.Found) error {
			var line strings.Builder
			line.WriteString(f.TSUID + " " + f.Metric)
			for _, key := range slices.Sorted(maps.Keys(f.Tags)) {
				line.WriteString(" " + key + "=" + f.Tags[key])
			}
			_, err := out.WriteString(line.String() + "\n")
			return err
		})
		return errors.Join(err, out.Flush())
	})
}

// QueryCommand adds "query" to a command line.
func QueryCommand(s *command.Set) {
	var a Options
	q := s.Add(s.App, "query", command.With(Query, &a), "Print points that a query finds, as \"tsdb query\" of OpenTSDB does: START [END] FUNC [rate] [counter,MAX,RESET] [downsample MILLISECONDS FUNC] METRIC [tag=value ...], followed by further queries.")
	q.Flag("adapter-url", command.AnsweringAdapter).PlaceHolder("URL").StringVar(&a.URL)
	q.Arg("argument", "Argument of the query.").Required().StringsVar(&a.Args)
}

// LookupCommand adds "search lookup" to a command line.
func LookupCommand(s *command.Set) {
	var a Options
	l := s.Add(s.Group("search", "Search series."), "lookup", command.With(Lookup, &a), "Print the series that have a metric and tags: [METRIC] [tag=value ...]. tag= is any value, =value any tag.")
	l.Flag("adapter-url", command.AnsweringAdapter).PlaceHolder("URL").StringVar(&a.URL)
	l.Flag("limit", "Number of series that are printed at most; 0: all.").Default("0").IntVar(&a.Limit)
	l.Arg("argument", "Metric or tag.").Required().StringsVar(&a.Args)
}
