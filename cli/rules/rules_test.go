package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// appendPaths appends a point of each of Graphite's names.
func appendPaths(t *testing.T, a *adapter.Adapter, at time.Time, values map[string]float64) {
	t.Helper()
	var b storage.Batch
	for path, value := range values {
		refs, errs := a.Store().Resolve(t.Context(), []storage.Series{a.Names().FromPath(path)})
		if errs != nil {
			t.Fatal(errs)
		}
		b.Add(refs[0], at.UnixMilli(), value)
	}
	if err := a.Store().Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// The command has a running adapter fill recording rules of the past.
func TestFill(t *testing.T) {
	dir := t.TempDir()
	file, bad := filepath.Join(dir, "a.yml"), filepath.Join(dir, "bad.yml")
	writeText(t, file, "groups: [{name: g, rules: [{record: filled, lang: graphite, window: 10m, expr: 'sumSeries(load.*)'}, {record: one, expr: vector(1)}]}]\n")
	writeText(t, bad, "groups: [{name: g, rules: [{record: filled, expr: 'sum('}]}]\n")
	o := adaptertest.Options(t, write.Through)
	a, _ := adaptertest.Run(t, o)
	then := time.Now().Add(-2 * time.Hour).Truncate(time.Minute)
	appendPaths(t, a, then, map[string]float64{"load.a": 1, "load.b": 2})
	b := BackfillOptions{Files: []string{file}, Start: then.Format(time.RFC3339), End: then.Add(20 * time.Minute).Format(time.RFC3339), Interval: time.Minute, URL: "http://" + a.Addr()}
	if err := b.Validate(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Fill(t.Context(), o, b, command.Console{Out: &out}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `group "g": 20 of 20 instants, `) && !strings.Contains(out.String(), `group "g": 21 of 21 instants, `) {
		t.Errorf("printed %s", out.String())
	}
	for minute, want := range map[int]string{9: `"name":"sumSeries(load.*)"},"value":[` + fmt.Sprint(then.Add(9*time.Minute).Unix()) + `,"3"]`, 12: `"result":[]`} {
		if text := servertest.Text(t, a, fmt.Sprintf("/api/v1/query?time=%d&query=filled", then.Add(time.Duration(minute)*time.Minute).Unix())); !strings.Contains(text, want) {
			t.Errorf("minute %d: %s, want %s", minute, text, want)
		}
	}
	for _, c := range []struct {
		change func(*BackfillOptions)
		want   string
	}{
		{func(b *BackfillOptions) { b.Files = []string{bad} }, "bad.yml:1: "},
		{func(b *BackfillOptions) { b.Files = []string{filepath.Join(dir, "none.yml")} }, "none.yml"},
		{func(b *BackfillOptions) { b.Start = "soon" }, "--start"},
		{func(b *BackfillOptions) { b.End = b.Start }, "--end"},
	} {
		wrong := b
		c.change(&wrong)
		if err := Fill(t.Context(), o, wrong, command.Console{Out: &out}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file, bad := filepath.Join(dir, "a.yml"), filepath.Join(dir, "bad.yml")
	writeText(t, file, "groups: [{name: g, rules: [{record: filled, lang: graphite, window: 10m, expr: 'sumSeries(load.*)'}, {record: one, expr: vector(1)}]}]\n")
	writeText(t, bad, "groups: [{name: g, rules: [{record: filled, expr: 'sum('}]}]\n")
	var out strings.Builder
	err := Check(adapter.DefaultOptions(), []string{file, bad}, command.Console{Out: &out})
	if err == nil || !strings.Contains(err.Error(), "bad.yml:1: ") || !strings.Contains(out.String(), "a.yml: 2 rules") {
		t.Errorf("Check: %v, %s", err, out.String())
	}
}
