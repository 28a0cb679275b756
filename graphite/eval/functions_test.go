package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// shownFunction is an entry of graphite-web's /functions, without description and module.
type shownFunction struct {
	Name     string       `json:"name"`
	Function string       `json:"function"`
	Group    string       `json:"group"`
	Params   []shownParam `json:"params"`
}

type shownParam struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Required    bool   `json:"required,omitempty"`
	Multiple    bool   `json:"multiple,omitempty"`
	Default     any    `json:"default,omitempty"`
	Options     []any  `json:"options,omitempty"`
	Suggestions []any  `json:"suggestions,omitempty"`
}

// TestFunctionsAreGraphiteWebs compares names, signatures, groups and parameters with 1.1.10's
// /functions.
func TestFunctionsAreGraphiteWebs(t *testing.T) {
	data, err := os.ReadFile("testdata/functions.json")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]shownFunction{}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]shownFunction{}
	for name, f := range New().Functions() {
		s := shownFunction{Name: f.Name, Function: f.Name + "(" + f.Signature + ")", Group: f.Group}
		for _, p := range f.Params {
			s.Params = append(s.Params, shownParam{p.Name, string(p.Type), p.Required, p.Multiple, p.Default, p.Options, p.Suggestions})
		}
		got[name] = s
	}
	// Through JSON, so that numbers are of one type. Infinity is written as Grafana and
	// graphite-web read it.
	encoded, err := json.Marshal(jsonable(got))
	if err != nil {
		t.Fatal(err)
	}
	clear(got)
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions differ from graphite-web's (-want +got):\n%s", diff)
	}
}

func jsonable(functions map[string]shownFunction) map[string]shownFunction {
	for _, f := range functions {
		for i, p := range f.Params {
			if p.Default == python.Inf() {
				f.Params[i].Default = "Infinity"
			}
		}
	}
	return functions
}

// TestREADME checks that the table lists each function, with its group, and no other.
func TestREADME(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for name, f := range New().Functions() {
		want[f.Group] = append(want[f.Group], name)
	}
	got := map[string][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-Z][a-zA-Z ]+) \| \d+ \| (.*) \|$`).FindAllStringSubmatch(string(data), -1) {
		got[row[1]] = strings.Fields(row[2])
	}
	for group := range want {
		slices.Sort(want[group])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("README.md differs from the functions (-want +got):\n%s", diff)
	}
}

func TestEveryFunctionIsDescribed(t *testing.T) {
	for name, f := range New().Functions() {
		if !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s: Doc = %q, want a sentence", name, f.Doc)
		}
	}
}

// TestEvalChangesNoValues checks that no recorded target changes the series of the source.
func TestEvalChangesNoValues(t *testing.T) {
	shared := &sharing{memory: readFeed(t), kept: map[fetchKey][]*series.Series{}}
	e := New()
	for _, c := range readCases(t, "testdata/render.jsonl.gz") {
		form, err := c.form()
		if err != nil {
			t.Fatal(err)
		}
		n, err := expr.Parser{}.Parse(form.Get("target"))
		if err != nil {
			continue
		}
		_, _ = e.Eval(t.Context(), []expr.Node{n}, call.Request{From: 1741050007, Until: 1741051207, Now: 1741057200}, shared)
	}
	for key, list := range shared.kept {
		fresh, err := shared.memory.Fetch(t.Context(), []Fetch{{Pattern: key.pattern, From: key.from, Until: key.until, Now: 1741057200}})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range list {
			same := func(a, b float64) bool { return a == b || python.IsNone(a) && python.IsNone(b) }
			if !slices.EqualFunc(s.Values, fresh[0][i].Values, same) || s.Name != fresh[0][i].Name {
				t.Errorf("%s was changed by a target", s.Name)
			}
		}
	}
}

// sharing returns the same series for the same fetch, as a source with a cache may.
type sharing struct {
	*memory
	kept map[fetchKey][]*series.Series
}

func (s *sharing) Fetch(ctx context.Context, list []Fetch) ([][]*series.Series, error) {
	out := make([][]*series.Series, len(list))
	for i, f := range list {
		if f.Tags != nil {
			got, err := s.memory.Fetch(ctx, list[i:i+1])
			if err != nil {
				return nil, err
			}
			out[i] = got[0]
			continue
		}
		key := fetchKey{f.Pattern, f.From, f.Until}
		if _, ok := s.kept[key]; !ok {
			got, err := s.memory.Fetch(ctx, list[i:i+1])
			if err != nil {
				return nil, err
			}
			s.kept[key] = got[0]
		}
		out[i] = s.kept[key]
	}
	return out, nil
}

// FuzzEval checks that no target makes the evaluator panic or run away.
func FuzzEval(f *testing.F) {
	scripts, err := filepath.Glob("testdata/scripts/*.test")
	if err != nil || len(scripts) == 0 {
		f.Fatal("no scripts", err)
	}
	target := regexp.MustCompile(`(?m)^eval.*\n(.*)\n----`)
	for _, file := range scripts {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range target.FindAllStringSubmatch(string(data), -1) {
			f.Add(regexp.MustCompile(`s_\w+`).ReplaceAllString(m[1], "m"))
		}
	}
	m := &memory{series: map[string]*stored{}}
	for i, name := range []string{"m.a", "m.b", "m.c", "m.a.v", "m.b.v", "coarse.m", "m;dc=a;host=x", "m;dc=b;host=y"} {
		for at := range int64(60) {
			if at%int64(i+2) != 0 {
				m.add(name, firstPoint-300+10*at, float64(at*int64(i)-20))
			}
		}
	}
	e := New()
	f.Fuzz(func(t *testing.T, text string) {
		n, err := expr.Parser{}.Parse(text)
		if err != nil || len(text) > 300 {
			return
		}
		r := call.Request{From: 1741046400, Until: 1741046460, Now: 1741057200, Limits: call.Limits{Series: 1000, Points: 100_000}}
		if _, err := e.Plan([]expr.Node{n}, r); err != nil {
			t.Fatalf("Plan(%q): %v", text, err)
		}
		list, err := e.Eval(t.Context(), []expr.Node{n}, r, m)
		if err != nil {
			return
		}
		if err := series.Consolidate(list, 3); err != nil {
			return
		}
		for _, s := range list {
			for range s.Points() {
			}
		}
	})
}

// TestEvalStops: a slow regular expression over many names ends with the request.
func TestEvalStops(t *testing.T) {
	m := &memory{series: map[string]*stored{}}
	for i := range 3000 {
		m.add(fmt.Sprintf("kl.kill.s%d.nnnnnnnnnnnn", i), 1741050000, 1)
	}
	for _, target := range []string{`grep(kl.*.*.*,'(a*)*(.*)*(k.*)*(l.*)*$x')`, `exclude(kl.*.*.*,'(.*)(.*)(.*)(.*)\4\3\2\1!')`, `aliasSub(kl.*.*.*,'(.*)(.*)(.*)(.*)\4\3\2\1!','x')`} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		n, err := expr.Parser{}.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = New().Eval(ctx, []expr.Node{n}, call.Request{From: 1741049000, Until: 1741051000, Now: 1741051000}, m)
		cancel()
		if took := time.Since(begin); err == nil || took > 20*time.Second {
			t.Errorf("%s took %v and ended with %v", target, took, err)
		}
	}
}
