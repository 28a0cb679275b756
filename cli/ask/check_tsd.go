package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/opentsdb/client"
	"github.com/tsdbridge/tsdbridge/opentsdb/compare"
)

// CheckTSDOptions are the flags of "check".
type CheckTSDOptions struct {
	TSD, Adapter string        // --tsd, --adapter: URLs
	Queries      string        // --queries: file of requests; empty: random ones
	Sample       int           // --sample: how many random ones
	Span         time.Duration // --sample-span: before now, which these are about
	Seed         uint64        // --sample-seed
	Newest       time.Duration // --newest: points that are younger are not asked for
	Timeout      time.Duration // --timeout: of a request
	Tolerance    float64       // --tolerance: relative difference up to which floats are equal
	Show         int           // --show: series of a request, and instants of a series
}

// DefaultCheckTSDOptions returns the options without a flag.
func DefaultCheckTSDOptions() CheckTSDOptions {
	return CheckTSDOptions{Sample: 100, Span: 30 * 24 * time.Hour, Seed: 1, Newest: 5 * time.Minute, Timeout: time.Minute, Show: 10}
}

// Validate names the flag that cannot work.
func (c *CheckTSDOptions) Validate() error {
	for _, u := range []struct{ flag, url string }{{"tsd", c.TSD}, {"adapter", c.Adapter}} {
		if parsed, err := url.Parse(u.url); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
			return fmt.Errorf("--%s=%s: want a URL such as http://host:4242", u.flag, u.url)
		}
	}
	switch {
	case c.Sample < 1:
		return fmt.Errorf("--sample=%d: must be above 0", c.Sample)
	case c.Span < time.Hour:
		return fmt.Errorf("--sample-span=%v: must be an hour or more", c.Span)
	case c.Newest < 0:
		return fmt.Errorf("--newest=%v: must not be negative", c.Newest)
	case c.Timeout <= 0:
		return fmt.Errorf("--timeout=%v: must be above 0", c.Timeout)
	case !(c.Tolerance >= 0 && c.Tolerance < 1):
		return fmt.Errorf("--tolerance=%v: must be from 0 to below 1", c.Tolerance)
	case c.Show < 1:
		return fmt.Errorf("--show=%d: must be above 0", c.Show)
	}
	return nil
}

// CheckTSD asks a TSD and an adapter the same queries and prints what differs. Its exit codes are 0 for none, 1 for
// differences, ExitUsage if something could not be asked.
func CheckTSD(ctx context.Context, c CheckTSDOptions, console command.Console) error {
	if err := c.Validate(); err != nil {
		return &command.ExitError{Code: command.ExitUsage, Err: err}
	}
	run := &compare.Run{
		Options: compare.Options{
			TSD: client.Client{URL: c.TSD, HTTP: http.DefaultClient}, Adapter: client.Client{URL: c.Adapter, HTTP: http.DefaultClient},
			Timeout: c.Timeout, Tolerance: c.Tolerance, Show: c.Show,
		},
		Times: compare.Times{Now: time.Now(), Newest: c.Newest}, Out: console.Out, Err: console.Err,
	}
	if err := c.compare(ctx, run, console.In); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return &command.ExitError{Code: command.ExitUsage, Err: err}
	}
	fmt.Fprintln(console.Out, run.Summary)
	switch {
	case run.Failed > 0:
		return &command.ExitError{Code: command.ExitUsage}
	case run.Different > 0:
		return &command.ExitError{Code: 1}
	case run.Requests == 0:
		return &command.ExitError{Code: command.ExitUsage, Err: errors.New("there is no request to ask")}
	}
	return nil
}

func (c *CheckTSDOptions) compare(ctx context.Context, run *compare.Run, stdin io.Reader) error {
	switch c.Queries {
	case "":
		s, err := compare.NewSampler(ctx, run.Options, run.Times, c.Span, c.Seed)
		if err != nil {
			return err
		}
		return run.Sample(ctx, s, c.Sample)
	case pipeline.Stdin:
		return run.Lines(ctx, stdin)
	}
	f, err := os.Open(c.Queries)
	if err != nil {
		return fmt.Errorf("--queries: %w", err)
	}
	defer f.Close()
	return run.Lines(ctx, f)
}

// CheckTSDCommand adds "check tsd" to a command line.
func CheckTSDCommand(s *command.Set, all *kingpin.CmdClause) {
	k := DefaultCheckTSDOptions()
	run := func(ctx context.Context, _ adapter.Options, console command.Console) error {
		return CheckTSD(ctx, k, console)
	}
	c := s.Add(all, "tsd", run, "Send the same queries to a TSD and an adapter, and print what differs. It only reads. Exit codes: 0 all equal, 1 differences, 2 a query failed.").Default()
	c.Flag("tsd", "URL of the TSD.").PlaceHolder("URL").StringVar(&k.TSD)
	c.Flag("adapter", "URL of the adapter: of its port for OpenTSDB, or of its web port.").PlaceHolder("URL").StringVar(&k.Adapter)
	c.Flag("queries", "File of requests of /api/query, one in a line: JSON, or URLs, also in lines of an access log; - is the standard input. Default: random queries.").PlaceHolder("FILE").StringVar(&k.Queries)
	c.Flag("sample", "Number of random queries, over the metrics that the TSD lists.").Default(strconv.Itoa(k.Sample)).IntVar(&k.Sample)
	c.Flag("sample-span", "How far back random queries go.").Default(k.Span.String()).DurationVar(&k.Span)
	c.Flag("sample-seed", "Seed of the random queries: the same one makes the same queries of the same metrics at the same time.").Default("1").Uint64Var(&k.Seed)
	c.Flag("newest", "Points younger than this are not queried, since they may have arrived at one of both only.").Default(k.Newest.String()).DurationVar(&k.Newest)
	c.Flag("timeout", "How long a request may take.").Default(k.Timeout.String()).DurationVar(&k.Timeout)
	c.Flag("tolerance", "Relative difference up to which two values are equal.").Default("0").Float64Var(&k.Tolerance)
	c.Flag("show", "Series of a request, and instants of a series, that are shown of those that differ.").Default(strconv.Itoa(k.Show)).IntVar(&k.Show)
}
