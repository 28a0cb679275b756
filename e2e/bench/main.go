// Command bench compares the adapter with its peers on one machine and prints a table of figures
// with the bars that the project sets for itself. It starts every server itself, on the loopback
// interface and in temporary directories, and uses only their public ports.
//
//	bench [flags]        the table; RESULTS.md contains the last one
//	bench kill [flags]   crashes under load; everything acknowledged must be found
//	bench soak [flags]   everything at once for some minutes, within a limit of memory
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options of all commands.
type options struct {
	quick    bool
	runs     int
	only     string
	ours     string
	victoria string
	out      string
	kills    int
	soak     time.Duration
	maxRSS   int64 // MiB
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	command := "table"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "a tenth of the data")
	flags.IntVar(&o.runs, "runs", 3, "runs of which the median is taken")
	flags.StringVar(&o.only, "only", "", "the rows to measure, separated by commas: "+strings.Join(rowNames(), " "))
	flags.StringVar(&o.ours, "tsdbridge", "", "path of the adapter; empty: built from this checkout")
	flags.StringVar(&o.victoria, "victoria-metrics", "victoria-metrics", "path of VictoriaMetrics; further paths after commas answer queries as well")
	flags.StringVar(&o.out, "out", "", "file that the results are written to as well")
	flags.IntVar(&o.kills, "kills", 20, "how often the kill drill crashes the adapter")
	flags.DurationVar(&o.soak, "time", 10*time.Minute, "how long the soak takes")
	flags.Int64Var(&o.maxRSS, "max-rss", 1500, "MiB of memory that the soak allows the adapter")
	if err := flags.Parse(args); err != nil {
		return err
	}
	measure, ok := commands[command]
	if !ok {
		return fmt.Errorf("no command %q", command)
	}
	return withReport(ctx, o, measure)
}

var commands = map[string]func(context.Context, *report) error{"table": table, "kill": killDrill, "soak": soakCommand}

// withReport prints what was measured, also when something went wrong.
func withReport(ctx context.Context, o options, measure func(context.Context, *report) error) error {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	programs, err := find(ctx, dir, o)
	if err != nil {
		return err
	}
	r := newReport(o, programs)
	err = errors.Join(measure(ctx, r), r.save())
	r.writeTo(os.Stdout)
	return err
}

// table measures the requested rows. A run takes an hour, so when one row fails the others are
// still measured and written to the file.
func table(ctx context.Context, r *report) error {
	var errs []error
	for _, row := range rows {
		if !r.chosen(row.name) {
			continue
		}
		r.log("%s", row.name)
		if err := row.measure(ctx, r); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.note("**%s failed**: %v", row.name, err)
			errs = append(errs, fmt.Errorf("%s: %w", row.name, err))
		}
		if err := r.save(); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// chosen reports whether a row is to be measured.
func (o options) chosen(name string) bool {
	if o.only == "" {
		return true
	}
	for want := range strings.SplitSeq(o.only, ",") {
		if want == name {
			return true
		}
	}
	return false
}
