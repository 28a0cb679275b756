package main

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers are the folders of the root, the highest first. A package imports packages of its own folder
// and of lower layers. Folders of one layer do not import each other.
var layers = [][]string{
	{"."},
	{"cli"},
	{"adapter"},
	{"migrate"},
	{"prometheus", "graphite", "opentsdb"},
	{"tree"},
	{"translate"},
	{"storage"},
	{"web"},
	{"docs"},
	{"internal"},
}

// A ban is a rule inside the layers: packages of from and below it do not import packages of to and
// below it, unless these are in except.
type ban struct{ from, to, except []string }

var bans = []ban{
	// Which engine holds the tables is chosen where the process starts.
	{[]string{"migrate", "prometheus", "graphite", "opentsdb", "tree", "translate"}, []string{"storage/hbase", "storage/pebble"}, nil},
	{[]string{"storage"}, []string{"storage/hbase", "storage/pebble"}, nil},
	// Engines know tables and bytes, and nothing of a store.
	{[]string{"storage/hbase", "storage/pebble", "storage/kv"}, []string{"storage"}, []string{"storage/kv", "storage/schema", "storage/columns", "storage/mark"}},
	// The bytes of the schema know nothing.
	{[]string{"storage/schema"}, all, nil},
	{[]string{"storage/columns"}, all, []string{"storage/schema"}},
	// What only serves knows no point. persistentqueue is written as the log is.
	{[]string{"internal"}, []string{"storage"}, []string{"storage/log"}},
	// A log and a head know nothing of tables.
	{[]string{"storage/log", "storage/head"}, []string{"storage"}, []string{"storage/log", "storage/mark", "storage/row", "storage/schema", "storage/columns"}},
}

var all = []string{"."}

// contract is the package of what a store is to its users. All below it may import it.
const contract = "storage"

// notYet are imports that break a rule and are to go: importing package, imported package.
var notYet = map[[2]string]bool{
	{"internal/persistentqueue", "storage/log"}: true,
}

// outside lists foreign packages that only one folder, and the folders below it, may import.
var outside = map[string]string{
	"github.com/tsuna/gohbase":                        "storage/hbase",
	"github.com/cockroachdb/pebble":                   "storage/pebble",
	"github.com/prometheus/prometheus/prompb":         "prometheus",
	"github.com/prometheus/prometheus/storage/remote": "prometheus",
}

// forTests matches packages that no shipped binary contains: servers, fakes and suites of tests. They
// import what they like, and shipped packages do not import them.
var forTests = regexp.MustCompile(`^(e2e|deploy|docs/build|internal/testkit)(/|$)|test$`)

const module = "github.com/tsdbridge/tsdbridge"

// Imports point down.
func TestArchitecture(t *testing.T) {
	for file, imports := range shippedImports(t) {
		from := path.Dir(file)
		if forTests.MatchString(from) {
			continue
		}
		for _, name := range imports {
			if within(name, module) {
				to := strings.TrimPrefix(strings.TrimPrefix(name, module), "/")
				if why := mayImport(from, to); why != "" && !notYet[[2]string{from, to}] {
					t.Errorf("%s: %s may not import %s: %s", file, from, to, why)
				}
			}
			for prefix, home := range outside {
				if within(name, prefix) && !within(from, home) {
					t.Errorf("%s: only %s imports %s", file, home, name)
				}
			}
		}
	}
}

// mayImport returns which rule an import breaks; empty: none.
func mayImport(from, to string) string {
	if forTests.MatchString(to) {
		return "it is for tests"
	}
	above, below := layerOf(from), layerOf(to)
	switch {
	case above < 0 || below < 0:
		return "it is in no layer"
	case below < above || below == above && top(from) != top(to):
		return "imports point down"
	}
	switch {
	case from == contract:
		return "the contract imports nothing"
	case to == contract && within(from, contract):
		return ""
	case from == "tree" && within(to, contract) && to != contract && to != "storage/schema":
		return "the rules of trees are pure; tree/forest reads tables"
	}
	for _, b := range bans {
		if anyHolds(b.from, from) && anyHolds(b.to, to) && !anyHolds(b.except, to) && !sameEngine(from, to) {
			return "a rule of bans"
		}
	}
	return ""
}

// sameEngine reports whether both packages are of one engine.
func sameEngine(from, to string) bool {
	return slices.ContainsFunc([]string{"storage/hbase", "storage/pebble", "storage/schema"}, func(e string) bool { return within(from, e) && within(to, e) })
}

// top is the folder of the root that a package is in.
func top(pkg string) string {
	folder, _, _ := strings.Cut(pkg, "/")
	return folder
}

func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(folders []string) bool { return slices.Contains(folders, top(pkg)) })
}

// within reports whether a package is home or below it; "." is everything.
func within(pkg, home string) bool {
	return home == "." || pkg == home || strings.HasPrefix(pkg, home+"/")
}

func anyHolds(homes []string, pkg string) bool {
	return slices.ContainsFunc(homes, func(home string) bool { return within(pkg, home) })
}

// shippedImports returns what each Go file that is no test imports.
func shippedImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	eachGoFile(t, func(file string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		f, err := goparser.ParseFile(token.NewFileSet(), file, nil, goparser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		for _, spec := range f.Imports {
			imports[file] = append(imports[file], strings.Trim(spec.Path.Value, `"`))
		}
	})
	return imports
}

func eachGoFile(t *testing.T, visit func(file string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "data" || d.Name() == "testdata") {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return err
		}
		if strings.HasSuffix(file, ".go") {
			visit(filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Folders stay small enough to be read: the root has at most 15 folders with Go files, and a package
// at most so many files.
func TestSizes(t *testing.T) {
	const maxFolders, maxFiles = 15, 35
	files, folders := map[string]int{}, map[string]bool{}
	eachGoFile(t, func(file string) {
		if folder := top(path.Dir(file)); folder != "." {
			folders[folder] = true
		}
		if !strings.HasSuffix(file, "_test.go") {
			files[path.Dir(file)]++
		}
	})
	if len(folders) > maxFolders {
		t.Errorf("the root has %d folders with Go files, more than %d", len(folders), maxFolders)
	}
	for pkg, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d files, more than %d: divide it", pkg, n, maxFiles)
		}
	}
}

// A type has at most so many methods. Promoted ones are those of the types that it embeds.
func TestMethods(t *testing.T) {
	const maxMethods = 30
	methods := map[string]int{}
	eachGoFile(t, func(file string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := goparser.ParseFile(token.NewFileSet(), file, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[path.Dir(file)+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	})
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, more than %d: which of its fields are a type of their own?", name, n, maxMethods)
		}
	}
}

// receiver returns the name of the type of a method's receiver.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// Each Go file that the documents name exists.
func TestDocuments(t *testing.T) {
	named := regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_]+)+\\.go)`")
	for _, page := range append(handbook(t), developerPages(t)...) {
		for _, m := range named.FindAllStringSubmatch(readFile(t, page), -1) {
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
