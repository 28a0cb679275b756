package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/util/junitxml"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// TestOptions are the settings of the command that runs unit tests of rules.
type TestOptions struct {
	Files []string
	Run   []string // only tests whose names match one of these; none: all
	// JUnit is a file that gets the results in JUnit's format; empty: none does.
	JUnit string
	// Debug tells when tests begin and end, and lists all data after each.
	Debug bool
	// Diff shows alerts that differ as a coloured difference.
	Diff bool
	// IgnoreUnknown takes rule files with fields that nobody knows.
	IgnoreUnknown bool
}

// Validate names the flag that cannot work.
func (t TestOptions) Validate() error {
	_, err := t.wanted()
	return err
}

// wanted returns what the name of a test must match; nil: nothing.
func (t TestOptions) wanted() (*regexp.Regexp, error) {
	if len(t.Run) == 0 {
		return nil, nil //nolint:nilnil // it is an answer
	}
	return regexp.Compile(strings.Join(t.Run, "|"))
}

// Test runs the unit tests of files, and prints what fails.
func Test(ctx context.Context, o adapter.Options, t TestOptions, c command.Console) error {
	run, err := t.wanted()
	if err != nil {
		return err
	}
	r := testRun{t, o, run, c}
	failed, results := false, &junitxml.JUnitXML{}
	for _, file := range t.Files {
		fmt.Fprintf(c.Out, "Unit Testing:  %s\n", file)
		if err := r.file(ctx, file, results.Suite(file)); err != nil {
			failed = true
			fmt.Fprintf(c.Out, "  FAILED:\n%s\n\n", indented(err.Error(), "    "))
			continue
		}
		fmt.Fprint(c.Out, "  SUCCESS\n\n")
	}
	if err := t.writeResults(results); err != nil {
		return err
	}
	if failed {
		return &command.ExitError{Code: 1}
	}
	return nil
}

// writeResults writes the file that is asked for.
func (t TestOptions) writeResults(results *junitxml.JUnitXML) error {
	if t.JUnit == "" {
		return nil
	}
	var text bytes.Buffer
	if err := results.WriteXML(&text); err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	if err := os.WriteFile(t.JUnit, text.Bytes(), 0o644); err != nil { //nolint:gosec // others may read results of tests
		return fmt.Errorf("--junit: %w", err)
	}
	return nil
}

func indented(text, by string) string { return by + strings.ReplaceAll(text, "\n", "\n"+by) }

// A testRun runs the tests of files.
type testRun struct {
	TestOptions

	options adapter.Options
	wanted  *regexp.Regexp // nil: all
	console command.Console
}

// file runs the tests of a file, and notes their results. Its error is what fails.
func (r testRun) file(ctx context.Context, file string, results *junitxml.TestSuite) error {
	f, missing, err := rules.LoadTests(file)
	if err != nil {
		results.Abort(err)
		return err
	}
	for _, pattern := range missing {
		fmt.Fprintf(r.console.Err, "  WARNING: no file match pattern %s\n", pattern)
	}
	results.Settime(time.Now().Format("2006-01-02T15:04:05"))
	var errs []error
	for i := range f.Tests {
		t := &f.Tests[i]
		if r.wanted != nil && !r.wanted.MatchString(t.Name) {
			continue
		}
		results.Case(t.ShownName())
		failures := r.test(ctx, f, t)
		for _, err := range failures {
			results.Fail(err.Error())
		}
		if len(failures) > 0 {
			errs = append(errs, fmt.Errorf("name: %s,\n%s", t.ShownName(), indented(errors.Join(failures...).Error(), "  ")))
		}
	}
	return errors.Join(errs...)
}

// test runs a test over a store of its own, and returns what fails.
func (r testRun) test(ctx context.Context, f *rules.TestFile, t *rules.TestGroup) (failures []error) {
	if r.Debug {
		begin := time.Now()
		fmt.Fprintf(r.console.Err, "DEBUG: Starting test %s\n", t.ShownName())
		defer func() {
			fmt.Fprintf(r.console.Err, "DEBUG: Test %s finished, took %v\n", t.ShownName(), time.Since(begin))
		}()
	}
	o := r.options.ForRuleTest(time.Duration(f.EvaluationInterval))
	set, err := r.rules(o, f, t)
	if err != nil {
		return []error{err}
	}
	a, err := adapter.New(o)
	if err != nil {
		return []error{err}
	}
	test := rules.Test{File: f, Group: t, Set: set, Diff: r.Diff}
	if r.Debug {
		test.Debug = r.console.Err
	}
	err = session.Run(ctx, a, func(ctx context.Context, a *adapter.Adapter) error {
		failures = a.TestRules(ctx, test)
		return nil
	})
	if err != nil {
		failures = append(failures, err)
	}
	return failures
}

// rules reads the rule files of a test.
func (r testRun) rules(o adapter.Options, f *rules.TestFile, t *rules.TestGroup) (*rules.Set, error) {
	files := make([]string, len(f.RuleFiles))
	for i, file := range f.RuleFiles {
		files[i] = literalGlob(file)
	}
	c := rules.Config{Files: files, Interval: time.Duration(t.Interval), ExternalLabels: t.ExternalLabels, IgnoreUnknown: r.IgnoreUnknown}
	return o.LoadRules(c)
}

// literalGlob returns the pattern that matches one path.
func literalGlob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(filepath.Clean(path))
}

// TestCommand adds "test rules" to a command line.
func TestCommand(s *command.Set) {
	var t TestOptions
	c := s.Add(s.Group("test", "Test what was written."), "rules", command.With(Test, &t), "Run unit tests of rules: files in promtool's format. The rules and queries are evaluated over empty stores in memory, with the languages of rules that promtool does not know. The exit code is 0 if all tests pass, 1 if some fail.")
	c.Flag("run", "Only tests whose names match this regular expression (RE2). It may be repeated.").PlaceHolder("REGEXP").StringsVar(&t.Run)
	c.Flag("junit", "File that gets the results in JUnit's format.").PlaceHolder("FILE").StringVar(&t.JUnit)
	c.Flag("debug", "Print when a test begins and ends, and list all data after it.").BoolVar(&t.Debug)
	c.Flag("diff", "Show alerts that differ as a coloured difference.").BoolVar(&t.Diff)
	c.Flag("ignore-unknown-fields", "Accept rule files with unknown fields.").BoolVar(&t.IgnoreUnknown)
	c.Arg("file", "Files of tests.").Required().StringsVar(&t.Files)
	s.WithoutOptions(c)
	c.Action(func(*kingpin.ParseContext) error { return t.Validate() })
}
