package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// docs/configuration.md lists the flags that a reload applies, and each is a flag.
func TestLiveFlagsPage(t *testing.T) {
	t.Chdir(root)
	page, err := os.ReadFile("docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "<!-- live -->")
	list, _, _ = strings.Cut(list, "<!-- end -->")
	var listed []string
	for i, part := range strings.Split(list, "`--") {
		name, _, _ := strings.Cut(part, "`")
		if i > 0 {
			listed = append(listed, name)
		}
	}
	slices.Sort(listed)
	if want := adapter.LiveFlags(); !slices.Equal(listed, want) {
		t.Errorf("the page lists %q, the code %q", listed, want)
	}
	app := newParser(io.Discard).app
	for _, name := range adapter.LiveFlags() {
		if app.GetFlag(name) == nil {
			t.Errorf("--%s is no flag", name)
		}
	}
}

// TestReloadOfEachFlag changes one flag after the other. What a reload reports is what it does.
func TestReloadOfEachFlag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte("storage.engine: memory\nweb.listen-address: 127.0.0.1:0\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure := func() (adapter.Options, error) {
		c, err := parseCommandIn(settings.Source{}, []string{"--config.file=" + file}, io.Discard, io.Discard)
		return c.options, err
	}
	write("")
	o, err := configure()
	if err != nil {
		t.Fatal(err)
	}
	o.Configure = configure
	a, err := adapter.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	reported := 0
	for _, f := range newParser(io.Discard).app.Model().Flags {
		value := otherValue(f)
		if value == "" || !settings.IsSetting(f) {
			continue
		}
		write(fmt.Sprintf("%s: %q\n", f.Name, value))
		if n, err := configure(); err != nil || n.CheckFiles() != nil {
			continue // it needs another flag or a file
		}
		done, err := a.Reload()
		if err != nil {
			t.Errorf("--%s=%s: %v", f.Name, value, err)
			continue
		}
		live := slices.Contains(adapter.LiveFlags(), f.Name)
		isIn := func(list []adapter.Change) bool {
			return slices.ContainsFunc(list, func(c adapter.Change) bool { return c.Name == f.Name })
		}
		if isIn(done.Applied) != live || isIn(done.Restart) == live {
			t.Errorf("--%s=%s: it is live: %v; applied %v, needs a restart %v", f.Name, value, live, done.Applied, done.Restart)
		}
		if got := a.Flags()[f.Name]; (got != o.Flags[f.Name]) != live {
			t.Errorf("--%s=%s: it is live: %v; it is shown as %q, from %q", f.Name, value, live, got, o.Flags[f.Name])
		}
		reported++
	}
	if reported < 60 {
		t.Errorf("%d flags were changed", reported)
	}
}

// otherValue returns a value that is not the default; empty: none is known.
func otherValue(f *kingpin.FlagModel) string {
	before := f.Value.String()
	for _, value := range []string{"7", "7s", "7h", "7d", "7MiB", "Europe/Berlin", "error", "ro", "table", "double", "line", "http://a", "x"} {
		if f.IsBoolFlag() {
			return fmt.Sprint(before != "true")
		}
		if f.Value.Set(value) == nil && f.Value.String() != before && (value != "7" || f.Name != "log.level") {
			return value
		}
	}
	return ""
}
