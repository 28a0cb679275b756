package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// module is the path of what is built.
const module = "github.com/tsdbridge/tsdbridge"

// A source is a checkout.
type source struct {
	dir      string    // of the checkout
	revision string    // the commit, with -dirty if files differ from it
	time     time.Time // of the commit: that of all files of the result
	tagged   bool      // the commit is that of a release
}

// sourceOf asks git about a checkout. SOURCE_DATE_EPOCH goes before the time of the commit.
func sourceOf(ctx context.Context, dir string) (source, error) {
	s := source{dir: dir}
	revision, err := command(ctx, dir, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return s, err
	}
	changed, err := command(ctx, dir, nil, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return s, err
	}
	if s.revision = revision; changed != "" {
		s.revision += "-dirty"
	}
	tags, err := command(ctx, dir, nil, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return s, err
	}
	s.tagged = tags != "" && changed == ""
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = command(ctx, dir, nil, "git", "log", "-1", "--format=%ct"); err != nil {
			return s, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	s.time = time.Unix(n, 0).UTC()
	return s, nil
}

// A release is what all systems share.
type release struct {
	source
	out     string
	version string            // such as 0.1.0, or 0.1.0~20261125.0123456789ab before it is released
	texts   map[string][]byte // the manual page and the completions, by their names
}

// describe builds the binary for this machine and asks it for its version, manual page and completions.
func (r *release) describe(ctx context.Context) error {
	t := &target{release: r, goos: runtime.GOOS, goarch: runtime.GOARCH, dir: filepath.Join(r.out, "build", runtime.GOOS+"-"+runtime.GOARCH)}
	if err := t.build(ctx); err != nil {
		return err
	}
	r.texts = map[string][]byte{}
	for name, args := range map[string][]string{
		"tsdbridge.1": {"man"}, "tsdbridge.bash": {"completion", "bash"}, "_tsdbridge": {"completion", "zsh"}, "tsdbridge.fish": {"completion", "fish"},
	} {
		text, err := command(ctx, "", nil, t.binary(), args...)
		if err != nil {
			return err
		}
		r.texts[name] = []byte(text + "\n")
	}
	said, err := command(ctx, "", nil, t.binary(), "version")
	if err != nil {
		return err
	}
	r.version, err = versionOf(said, r.source)
	return err
}

var said = regexp.MustCompile(`^tsdbridge (\d+\.\d+\.\d+)(\+\S+)?$`)

// versionOf makes the version of packages of what the binary says. What comes before a release sorts before it.
func versionOf(text string, s source) (string, error) {
	m := said.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("the binary says %q, want tsdbridge and a version", text)
	}
	if s.tagged {
		return m[1], nil
	}
	return m[1] + "~" + s.time.Format("20060102") + "." + s.revision[:12], nil
}

// command runs a program and returns what it prints, without the last line break.
func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	var out, complaints bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &complaints
	c.Env = append(os.Environ(), env...)
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), errors.Join(err, errors.New(complaints.String())))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}
