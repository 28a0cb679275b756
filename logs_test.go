package main

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A logCall is a line that the program may log.
type logCall struct {
	where   token.Position
	level   string // the method
	message string // its first constant part
	keys    []string
	odd     string // what is no key where one is expected
}

// logMethods are those of slog.Logger, with the place of the message.
func logMethods() map[string]int {
	return map[string]int{
		"Debug": 0, "Info": 0, "Warn": 0, "Error": 0,
		"DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1,
	}
}

// logCalls returns the lines that a file may log: calls of methods of a logger that begin with a text.
func logCalls(files *token.FileSet, file *ast.File) (all []logCall) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		at, ok := logMethods()[method.Sel.Name]
		if !ok || len(call.Args) <= at || firstText(call.Args[at]) == "" {
			return true
		}
		c := logCall{where: files.Position(call.Pos()), level: strings.TrimSuffix(method.Sel.Name, "Context"), message: firstText(call.Args[at])}
		if call.Ellipsis == token.NoPos {
			c.keys, c.odd = logKeys(call.Args[at+1:])
		}
		all = append(all, c)
		return true
	})
	return all
}

// firstText returns the text of a literal, or of the first one of a sum.
func firstText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		if text := firstText(e.X); text != "" {
			return text
		}
		return firstText(e.Y)
	}
	return ""
}

// logKeys returns the keys of attributes, and what is none where one is expected.
func logKeys(args []ast.Expr) (keys []string, odd string) {
	for i := 0; i < len(args); i++ {
		if call, ok := args[i].(*ast.CallExpr); ok { // slog.Int and others have key and value
			if len(call.Args) != 2 || firstText(call.Args[0]) == "" {
				return keys, fmt.Sprintf("attribute %d", i+1)
			}
			keys = append(keys, firstText(call.Args[0]))
			continue
		}
		key := firstText(args[i])
		if key == "" || i+1 == len(args) {
			return keys, fmt.Sprintf("attribute %d", i+1)
		}
		keys = append(keys, key)
		i++
	}
	return keys, ""
}

// shippedLogCalls returns the lines that the program may log.
func shippedLogCalls(t *testing.T) (all []logCall) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path != "." && strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"deploy", "node_modules", "testdata", "tools"}, d.Name()) || d.IsDir() && forTests.MatchString(filepath.ToSlash(path))):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := goparser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		all = append(all, logCalls(files, file)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// otherKeys are words for what another key is for.
func otherKeys() map[string]string {
	return map[string]string{"error": "err", "remote": "client", "addr": "address", "took": "duration", "filename": "file", "dir": "path", "count": "what is counted"}
}

var (
	logKey = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	// advises finds a second half of a message, which tells what follows or what to do.
	advises = regexp.MustCompile(`[;:,] |; | and `)
)

// TestLogKeys: keys of attributes are words in snake_case, and one word is for one thing.
func TestLogKeys(t *testing.T) {
	calls := shippedLogCalls(t)
	if len(calls) < 100 {
		t.Fatalf("only %d lines are found", len(calls))
	}
	for _, c := range calls {
		if c.odd != "" {
			t.Errorf("%s: %q: %s has no constant key", c.where, c.message, c.odd)
		}
		for _, key := range c.keys {
			if !logKey.MatchString(key) {
				t.Errorf("%s: %q: the key %q is not in snake_case", c.where, c.message, key)
			}
			if other := otherKeys()[key]; other != "" {
				t.Errorf("%s: %q: the key %q: others are named %q", c.where, c.message, key, other)
			}
		}
	}
}

// TestLogAdvice: a warning and an error have a second half, which tells what follows or what to do.
func TestLogAdvice(t *testing.T) {
	for _, c := range shippedLogCalls(t) {
		if (c.level == "Warn" || c.level == "Error") && !advises.MatchString(c.message) {
			t.Errorf("%s: %q tells neither what follows nor what to do", c.where, c.message)
		}
	}
}

// TestLogCalls: the checks find what they are for.
func TestLogCalls(t *testing.T) {
	const source = `package p
func f() {
	l.Warn("a" + b, "oneKey", 1, slog.Int("two", 2), key, 3)
	l.ErrorContext(ctx, "c", args...)
	http.Error(w, "x", 500)
}`
	files := token.NewFileSet()
	file, err := goparser.ParseFile(files, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range logCalls(files, file) {
		got = append(got, fmt.Sprint(c.level, " ", c.message, " ", c.keys, " ", c.odd))
	}
	if want := []string{"Warn a [oneKey two] attribute 4", "Error c [] "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
