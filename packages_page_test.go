package main

import (
	"fmt"
	"go/doc"
	goparser "go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packagesPage lists all packages, each with the first sentence of its comment: go test . -run
// PackagesPage -rewrite.
const packagesPage = "docs/packages.md"

func TestPackagesPage(t *testing.T) {
	want := renderPackages(packageSentences(t))
	if *rewrite {
		if err := os.WriteFile(packagesPage, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(packagesPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s differs from the code; go test . -run PackagesPage -rewrite (-code +page):\n%s", packagesPage, diff)
	}
}

// packageSentences returns the first sentence of the comment of each package, by its folder.
func packageSentences(t *testing.T) map[string]string {
	t.Helper()
	sentences := map[string]string{}
	eachGoFile(t, func(file string) {
		f, err := goparser.ParseFile(token.NewFileSet(), file, nil, goparser.ParseComments|goparser.PackageClauseOnly)
		if err != nil {
			t.Error(err)
			return
		}
		text := f.Doc.Text()
		if !strings.HasPrefix(text, "Package ") && !strings.HasPrefix(text, "Command ") {
			text = ""
		}
		if folder := path.Dir(file); sentences[folder] == "" {
			sentences[folder] = new(doc.Package).Synopsis(text)
		}
	})
	for folder, sentence := range sentences {
		if sentence == "" {
			t.Errorf("the package in %s has no comment that begins with Package or Command", folder)
		}
	}
	return sentences
}

// renderPackages renders the packages by the folders of the root as Markdown.
func renderPackages(sentences map[string]string) string {
	var b strings.Builder
	b.WriteString(`# Packages

<!-- Made from the code: go test . -run PackagesPage -rewrite -->

All packages, each with the first sentence of its comment. [ARCHITECTURE.md](../ARCHITECTURE.md) shows how they are layered.
`)
	folders := map[string][]string{}
	for _, folder := range slices.Sorted(maps.Keys(sentences)) {
		folders[top(folder)] = append(folders[top(folder)], folder)
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		name := folder
		if name == "." {
			name = "The root"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| package | |\n|---|---|\n", name)
		for _, pkg := range folders[folder] {
			_, sentence, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(sentences[pkg], "Package "), "Command "), " ")
			fmt.Fprintf(&b, "| `%s` | %s |\n", pkg, strings.ReplaceAll(sentence, "|", `\|`))
		}
	}
	return b.String()
}
