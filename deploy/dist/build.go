package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	modpath "golang.org/x/mod/module"
)

// A target is one system that is built for.
type target struct {
	*release
	goos, goarch string
	dir          string // of what is built
	modules      []goModule
}

// binary is the path of the binary.
func (t *target) binary() string { return filepath.Join(t.dir, "tsdbridge") }

// build makes the static binary. Nothing of the machine, and nothing but the commit of the checkout, is in it.
func (t *target) build(ctx context.Context) error {
	path, err := filepath.Abs(t.binary())
	if err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X " + module + "/adapter.stamped=" + t.revision, "-o", path}
	_, err = command(ctx, t.source.dir, []string{"CGO_ENABLED=0", "GOOS=" + t.goos, "GOARCH=" + t.goarch, "GOFLAGS=", "GOWORK=off"},
		"go", append(append(args, unfused(t.goarch)...), ".")...)
	return err
}

// unfused are the options with which the compiler joins no multiplication and addition into one, which rounds once in
// place of twice. It does so on arm64 alone, and answers there would differ from those of amd64 in the last bits.
func unfused(goarch string) []string {
	if goarch != "arm64" {
		return nil
	}
	return []string{"-gcflags=all=-d=fmahash=qn"}
}

// A goModule is a module whose code is in a binary.
type goModule struct {
	path, version string
	sum           string // of go.sum
	licences      []licence
}

// readModules finds the modules of the binary, with their licences. The first one is Go's own library.
func (t *target) readModules(ctx context.Context) error {
	info, err := buildinfo.ReadFile(t.binary())
	if err != nil {
		return err
	}
	where, err := command(ctx, t.source.dir, nil, "go", "env", "GOROOT", "GOMODCACHE")
	if err != nil {
		return err
	}
	goroot, cache, _ := strings.Cut(where, "\n")
	std := goModule{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	if std.licences, err = readLicences(goroot); err != nil {
		return err
	}
	t.modules = []goModule{std}
	var unknown []error
	for _, d := range info.Deps {
		if d.Replace != nil {
			return fmt.Errorf("%s is replaced", d.Path)
		}
		m := goModule{path: d.Path, version: d.Version, sum: d.Sum}
		dir, err := dirOf(cache, d.Path, d.Version)
		if err != nil {
			return err
		}
		if m.licences, err = readLicences(dir, chosen()[d.Path]...); err != nil {
			unknown = append(unknown, err)
		}
		t.modules = append(t.modules, m)
	}
	return errors.Join(unknown...)
}

// dirOf returns where the source of a module is.
func dirOf(cache, name, version string) (string, error) {
	escaped, err := modpath.EscapePath(name)
	if err != nil {
		return "", err
	}
	if version, err = modpath.EscapeVersion(version); err != nil {
		return "", err
	}
	return filepath.Join(cache, filepath.FromSlash(escaped)+"@"+version), nil
}

// licenceFile tells the files of a module that must go with it.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([-.].*)?$`)

// chosen are the files of the licences that we choose where a module offers several in a folder of its own.
func chosen() map[string][]string {
	return map[string][]string{"github.com/golang/freetype": {"licenses/ftl.txt"}}
}

// readLicences reads the licences at the top of a module, and others that are named.
func readLicences(dir string, others ...string) ([]licence, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := others
	for _, f := range files {
		if !f.IsDir() && licenceFile.MatchString(f.Name()) && !strings.HasSuffix(f.Name(), ".go") {
			names = append(names, f.Name())
		}
	}
	var all []licence
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		all = append(all, newLicence(name, text))
	}
	if !slices.ContainsFunc(all, func(l licence) bool { return len(l.ids) > 0 }) {
		return nil, fmt.Errorf("%s has no licence that is known", dir)
	}
	return all, nil
}
