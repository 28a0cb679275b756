package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/whisper"
)

// What was imported is exported with the same header and, of the time that a file reaches back, the same points.
func TestExportIsWhatWasImported(t *testing.T) {
	w, f := importFixture(t, graphitefiles.AllArchives)
	importAll(t, f)
	prepared := make(chan struct{})
	close(prepared)
	for _, name := range []string{"avg", "sum", "last", "one", "empty"} {
		data, err := os.ReadFile(filepath.Join(whisperFiles, name+".wsp"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := whisper.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		now := int64(1741046400 + 100*3600)
		if p := want.Points(0); len(p.Times) > 0 {
			now = p.Times[len(p.Times)-1]
		}
		x := &graphitefiles.Exporter{Sources: w.api.Sources, Prepared: prepared, Now: func() time.Time { return time.Unix(now, 0) }}
		var made []*graphitefiles.Exported
		q := graphitefiles.ExportQuery{Match: []string{"w." + name, "w.{" + name + ",none}"}}
		if err := x.Export(t.Context(), q, func(f *graphitefiles.Exported) error {
			made = append(made, f)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(made) != 1 || made[0].Path != "w/"+name+".wsp" || made[0].Reason != "" {
			t.Fatalf("%s: %+v", name, made)
		}
		got, err := whisper.Parse(made[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Header, got.Header); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for level, a := range want.Archives {
			p := want.Points(level)
			for len(p.Times) > 0 && p.Times[0] <= now-a.Retention() {
				p.Times, p.Values = p.Times[1:], p.Values[1:]
			}
			if diff := cmp.Diff(p, got.Points(level)); diff != "" && len(p.Times) > 0 {
				t.Errorf("%s, archive of %d s: %s", name, a.Step, diff)
			}
		}
	}
}

// Without a rule a series has a year of its step, or the archives of the query. Files of series with tags are named by hashes.
func TestExportAll(t *testing.T) {
	w, _ := importFixture(t, graphitefiles.AllArchives)
	prepared := make(chan struct{})
	close(prepared)
	w.Add(t, strings.NewReader("a.b 1 1741046400\na.b 2 1741046460\na.b 3 1741046520\nx;k=v 4 1741046400\n"))
	x := &graphitefiles.Exporter{Sources: w.api.Sources, Prepared: prepared, Now: func() time.Time { return time.Unix(1741046700, 0) }}
	for named, paths := range map[bool][]string{false: {"a/b.wsp", hashedPath(t, "x;k=v")}, true: {"a/b.wsp", "_tagged/" + hashedPath(t, "x;k=v")[8:16] + "x;k=v.wsp"}} {
		var got []string
		var points int64
		err := x.Export(t.Context(), graphitefiles.ExportQuery{Retentions: "1m:1d,1h:7d", Named: named}, func(f *graphitefiles.Exported) error {
			got = append(got, f.Path)
			file, err := whisper.Parse(f.Data)
			if err != nil || len(file.Archives) != 2 || file.Method != "average" {
				t.Errorf("%+v, %v", file, err)
			}
			points += f.Points
			return nil
		})
		if diff := cmp.Diff(paths, got); err != nil || diff != "" || points != 4 {
			t.Errorf("%v, %d points: %s", err, points, diff)
		}
	}
}

func hashedPath(t *testing.T, name string) string {
	t.Helper()
	path, ok := whisper.PathOf(name, true)
	if !ok {
		t.Fatal(name)
	}
	return path
}
