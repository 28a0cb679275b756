// Command acceptance runs all tests at their full sizes, the kill drill and the soak, and writes a
// page with what was run and how it ended. It exits with 1 when anything failed.
//
// It is run in the folder e2e:
//
//	acceptance [-out FILE] [-soak 10m] [-run REGEXP] [packages]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

type options struct {
	out      string
	run      string        // of go test
	soak     time.Duration // 0: neither the soak nor the kill drill
	packages []string      // of this module; empty: all of both modules
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "file for the results; empty: standard output alone")
	flag.StringVar(&o.run, "run", "", "tests to run, as in go test; empty: all")
	flag.DurationVar(&o.soak, "soak", 10*time.Minute, "duration of the soak; 0: no soak and no kill drill")
	flag.Parse()
	o.packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	begin := time.Now()
	tests, err := runTests(ctx, o)
	page := &strings.Builder{}
	fmt.Fprintf(page, "# Acceptance\n\nWritten by `make acceptance`: all tests at full size. %s, %d cores, %s, revision %s.\n\n",
		begin.UTC().Format(time.DateOnly), runtime.GOMAXPROCS(0), runtime.Version(), revision(ctx))
	tests.writeTo(page)
	if o.soak > 0 {
		for _, drill := range [][]string{{"kill"}, {"soak", "-time", o.soak.String()}} {
			out, drillErr := command(ctx, "go", append([]string{"run", "./bench"}, drill...)...).Output()
			fmt.Fprintf(page, "\n## bench %s\n\n%s\n", strings.Join(drill, " "), out)
			if drillErr != nil {
				drillErr = fmt.Errorf("bench %s: %w", drill[0], drillErr)
				fmt.Fprintf(page, "**%v**\n", drillErr)
			}
			err = errors.Join(err, drillErr)
		}
	}
	fmt.Fprintf(page, "\nAll of it took %v.\n", time.Since(begin).Round(time.Second))
	fmt.Print(page)
	if o.out != "" {
		err = errors.Join(err, os.WriteFile(o.out, []byte(page.String()), 0o644)) //nolint:gosec // a document
	}
	return err
}

// runTests runs go test in the adapter's module and in this one, and collects what it reports.
func runTests(ctx context.Context, o options) (*results, error) {
	tests := newResults()
	if len(o.packages) > 0 {
		return tests, tests.runIn(ctx, ".", o.run, o.packages)
	}
	all := []string{"./..."}
	return tests, errors.Join(tests.runIn(ctx, "..", o.run, all), tests.runIn(ctx, ".", o.run, all))
}

// runIn runs the tests of packages in the module of a directory. pattern is that of -run; empty: all.
func (r *results) runIn(ctx context.Context, dir, pattern string, packages []string) error {
	args := []string{"-C", dir, "test", "-json", "-count=1", "-timeout=4h"}
	if pattern != "" {
		args = append(args, "-run", pattern)
	}
	test := command(ctx, "go", append(args, packages...)...)
	test.Env = append(os.Environ(), scale.Env+"=1")
	out, err := test.StdoutPipe()
	if err != nil {
		return err
	}
	if err := test.Start(); err != nil {
		return err
	}
	readErr := r.read(out, os.Stderr)
	if err := test.Wait(); err != nil {
		readErr = errors.Join(readErr, fmt.Errorf("go test: %w", err))
	}
	return readErr
}

func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Stderr = os.Stderr
	return c
}

func revision(ctx context.Context) string {
	out, err := command(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
