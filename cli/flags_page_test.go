package cli

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// flagsPage is the reference of all flags, made from the code: go test ./cli -run FlagsPage -rewrite.
const flagsPage = "docs/flags.md"

var rewrite = flag.Bool("rewrite", false, "rewrite "+flagsPage)

func TestFlagsPage(t *testing.T) {
	t.Chdir(root)
	want := renderFlags(newParser(io.Discard).app.Model())
	if *rewrite {
		if err := os.WriteFile(flagsPage, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(flagsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s differs from the code; go test ./cli -run FlagsPage -rewrite (-code +page):\n%s", flagsPage, diff)
	}
}

// renderFlags renders the flags of the adapter and of each sub-command as Markdown.
func renderFlags(app *kingpin.ApplicationModel) string {
	var b strings.Builder
	b.WriteString(`# Flags

<!-- Made from the code: go test ./cli -run FlagsPage -rewrite -->

Each flag of the adapter is also a key of the YAML file that ` + "`--config.file`" + ` names, flat
(` + "`storage.engine: hbase`" + `) or nested at the dots. The command line wins over the file.

`)
	renderTable(&b, app.Flags)
	for _, c := range app.Commands {
		renderCommand(&b, c)
	}
	return b.String()
}

func renderCommand(b *strings.Builder, c *kingpin.CmdModel) {
	if len(c.Commands) == 0 {
		fmt.Fprintf(b, "\n## tsdbridge %s\n\n%s\n", c.FullCommand, c.Help)
		if len(c.Args) > 0 {
			b.WriteString("\n| argument | |\n|---|---|\n")
			for _, a := range c.Args {
				fmt.Fprintf(b, "| `%s` | %s |\n", a.Name, cell(a.Help))
			}
		}
		if len(c.Flags) > 0 {
			b.WriteString("\n")
			renderTable(b, c.Flags)
		}
	}
	for _, below := range c.Commands {
		renderCommand(b, below)
	}
}

func renderTable(b *strings.Builder, flags []*kingpin.FlagModel) {
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	for _, f := range flags {
		if internalFlag(f) {
			continue
		}
		value := ""
		if len(f.Default) > 0 && f.Default[0] != "" {
			value = "`" + f.Default[0] + "`"
		}
		fmt.Fprintf(b, "| `--%s` | %s | %s |\n", f.Name, value, cell(f.Help))
	}
}

// cell escapes a text for a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// Each flag that a shipped text names exists, and no retired name is a flag.
func TestFlagsNamed(t *testing.T) {
	t.Chdir(root)
	app := newParser(io.Discard).app
	named := regexp.MustCompile(`--([a-z0-9]+(?:\.[a-z0-9-]+)+)`)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "e2e" || d.Name() == ".git" || d.Name() == "data" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		shipped := strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
		if !shipped && (!strings.HasSuffix(file, ".md") || file == "CHANGELOG.md") || file == "cli/settings/retired.go" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			family := func(f *kingpin.FlagModel) bool { return strings.HasPrefix(f.Name, m[1]+".") }
			if app.GetFlag(m[1]) == nil && !slices.ContainsFunc(app.Model().Flags, family) {
				t.Errorf("%s names --%s, which is no flag", file, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range app.Model().Flags {
		if now := settings.Retired(f.Name); now != "" {
			t.Errorf("--%s is a flag and retired (%s)", f.Name, now)
		}
	}
}
