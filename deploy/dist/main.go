// Command dist builds what is released: for each system an archive with the static binary, its manual page,
// completions and licences; for Linux a deb and an rpm; bills of materials and checksums. Two runs over one
// commit make the same bytes.
//
//	make dist
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	repository := flags.String("repository", "../..", "checkout that is built")
	out := flags.String("out", "../../dist", "directory of the result")
	targets := flags.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "systems that are built for")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := sourceOf(ctx, *repository)
	if err != nil {
		return err
	}
	r := &release{source: s, out: *out}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if err := r.describe(ctx); err != nil {
		return err
	}
	for target := range strings.SplitSeq(*targets, ",") {
		goos, goarch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("-targets: %q is not like linux/amd64", target)
		}
		if err := r.make(ctx, goos, goarch); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	return r.sums()
}

// make makes everything of one system.
func (r *release) make(ctx context.Context, goos, goarch string) error {
	t := &target{release: r, goos: goos, goarch: goarch, dir: filepath.Join(r.out, "build", goos+"-"+goarch)}
	if err := t.build(ctx); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	if err := t.readModules(ctx); err != nil {
		return err
	}
	if err := t.writeBill(); err != nil {
		return err
	}
	if err := t.archive(); err != nil {
		return err
	}
	if goos == "linux" {
		return t.packages()
	}
	return nil
}
