package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
)

// functionsPage is the reference of Graphite's functions, made from their signatures: go test . -run
// FunctionsPage -rewrite.
const functionsPage = "docs/functions.md"

func TestFunctionsPage(t *testing.T) {
	want := renderFunctions(eval.New().Functions())
	if *rewrite {
		if err := os.WriteFile(functionsPage, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(functionsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s differs from the code; go test . -run FunctionsPage -rewrite (-code +page):\n%s", functionsPage, diff)
	}
}

// renderFunctions renders the functions by their groups as Markdown.
func renderFunctions(all map[string]*call.Function) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Functions of /render

<!-- Made from the code: go test . -run FunctionsPage -rewrite -->

The %d functions of graphite-web 1.1.10, with its parameters: a name, its type, and its default in parentheses where it has one. A star
means that it may be given several times. `+"`/functions`"+` shows the same as JSON.
`, len(all))
	groups := map[string][]*call.Function{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		groups[all[name].Group] = append(groups[all[name].Group], all[name])
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&b, "\n## %s\n\n| function | parameters | |\n|---|---|---|\n", group)
		for _, f := range groups[group] {
			params := make([]string, len(f.Params))
			for i, p := range f.Params {
				params[i] = renderParam(p)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, strings.Join(params, ", "), strings.ReplaceAll(f.Doc, "|", `\|`))
		}
	}
	return b.String()
}

// mostOptions is how many values of a parameter are listed; the many are names of aggregations.
const mostOptions = 12

// renderParam renders a parameter: `name` type (default), with the values that it may have.
func renderParam(p call.Param) string {
	text := "`" + p.Name + "` " + string(p.Type)
	switch {
	case p.Multiple:
		text += " \\*"
	case p.Default != nil:
		text += " (" + renderValue(p.Default) + ")"
	case !p.Required:
		text += " (none)"
	}
	if n := len(p.Options); n > 0 && n <= mostOptions {
		options := make([]string, len(p.Options))
		for i, o := range p.Options {
			options[i] = renderValue(o)
		}
		text += ": " + strings.Join(options, " or ")
	}
	return text
}

func renderValue(v any) string {
	if v == math.Inf(1) {
		return "inf"
	}
	return strings.ReplaceAll(fmt.Sprint(v), "|", `\|`)
}
