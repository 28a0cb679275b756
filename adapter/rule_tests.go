package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/grafana/regexp"

	"github.com/tsdbridge/tsdbridge/commands"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
	"github.com/tsdbridge/tsdbridge/storage"
)

// RuleTestOptions are the settings of the command that runs unit tests of rules.
type RuleTestOptions struct {
	Files []string
	Run   []string // only tests whose names match one of these; none: all
}

// Validate names the flag that cannot work.
func (t RuleTestOptions) Validate() error {
	_, err := t.wanted()
	return err
}

// wanted returns what the name of a test must match; nil: nothing.
func (t RuleTestOptions) wanted() (*regexp.Regexp, error) {
	if len(t.Run) == 0 {
		return nil, nil //nolint:nilnil // it is an answer
	}
	return regexp.Compile(strings.Join(t.Run, "|"))
}

// RunRuleTests runs the unit tests of files, and prints what fails.
func RunRuleTests(ctx context.Context, o Options, t RuleTestOptions, c commands.Console) error {
	run, err := t.wanted()
	if err != nil {
		return err
	}
	failed := false
	for _, file := range t.Files {
		fmt.Fprintf(c.Out, "Unit Testing:  %s\n", file)
		if err := testRuleFile(ctx, o, file, run, c); err != nil {
			failed = true
			fmt.Fprintf(c.Out, "  FAILED:\n%s\n\n", indented(err.Error(), "    "))
			continue
		}
		fmt.Fprint(c.Out, "  SUCCESS\n\n")
	}
	if failed {
		return &commands.ExitError{Code: 1}
	}
	return nil
}

func indented(text, by string) string { return by + strings.ReplaceAll(text, "\n", "\n"+by) }

// testRuleFile runs the tests of a file. Its error is what fails.
func testRuleFile(ctx context.Context, o Options, file string, run *regexp.Regexp, c commands.Console) error {
	f, missing, err := rules.LoadTests(file)
	if err != nil {
		return err
	}
	for _, pattern := range missing {
		fmt.Fprintf(c.Err, "  WARNING: no file match pattern %s\n", pattern)
	}
	var errs []error
	for i := range f.Tests {
		t := &f.Tests[i]
		if run != nil && !run.MatchString(t.Name) {
			continue
		}
		if err := o.testRules(ctx, f, t); err != nil {
			errs = append(errs, fmt.Errorf("name: %s,\n%s", t.Name, indented(err.Error(), "  ")))
		}
	}
	return errors.Join(errs...)
}

// testRules runs a test over a store of its own.
func (o Options) testRules(ctx context.Context, f *rules.TestFile, t *rules.TestGroup) (err error) {
	o = o.forRuleTest(time.Duration(f.EvaluationInterval))
	files := make([]string, len(f.RuleFiles))
	for i, file := range f.RuleFiles {
		files[i] = literalGlob(file)
	}
	set, err := rules.Load(rules.Config{Files: files, Interval: time.Duration(t.Interval), ExternalLabels: t.ExternalLabels}, o.prometheusOptions().Query.Parser(), o.ruleChecks())
	if err != nil {
		return err
	}
	a, err := New(o)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	if err := a.waitReady(ctx, ended); err != nil {
		return err
	}
	return a.live.Load().prometheus.TestRules(ctx, rules.Test{File: f, Group: t, Set: set})
}

// literalGlob returns the pattern that matches one path.
func literalGlob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(filepath.Clean(path))
}

// forRuleTest returns options of an empty store in memory, which no port reaches, with the settings of queries.
func (o Options) forRuleTest(interval time.Duration) Options {
	n := DefaultOptions()
	n.Engine, n.WriteMode, n.ListenAddress = EngineMemory, string(storage.WriteThrough), ""
	n.Prometheus, n.Graphite = o.Prometheus, o.Graphite
	n.QueryTimeout, n.QuerySamples, n.QuerySeries, n.QueryParallel = o.QueryTimeout, o.QuerySamples, o.QuerySeries, o.QueryParallel
	n.Carbon.ListenAddress, n.Carbon.PickleAddress, n.Carbon.ProtobufAddress, n.OpenTSDB.ListenAddress = "", "", "", ""
	n.Prometheus.Query.DefaultStep, n.Prometheus.Write.Future = interval, 0
	n.Logger, n.Now = slog.New(slog.DiscardHandler), o.Now
	return n
}

// waitReady waits until queries are answered, or the Run of an adapter has ended.
func (a *Adapter) waitReady(ctx context.Context, ended chan error) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for a.Ready(ctx) != nil {
		select {
		case err := <-ended:
			ended <- nil
			return errors.Join(errors.New("the store did not start"), err)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
