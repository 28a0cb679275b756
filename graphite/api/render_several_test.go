package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// newSeveral returns the API over a tree with paths of several series: each has a point a minute,
// of the given value.
func newSeveral(t *testing.T, sum bool) *web {
	t.Helper()
	w := newWeb(t)
	template, err := tree.ParseTemplate("servers.{host}.{metric...}")
	if err != nil {
		t.Fatal(err)
	}
	definition := template.Definition("servers")
	definition.Sum = sum
	if _, err := forest.NewDefinitions(w.DB, "tsdb-tree").Declare(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	if err := w.Trees.LoadTrees(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, pairs := range [][]string{
		{"load", "cpu", "0", "mode", "idle"},
		{"load", "cpu", "0", "mode", "user"},
		{"load", "cpu", "1", "mode", "idle"},
		{"load"},
		{"one", "job", "x"},
		{"odd", "q", "a;b", "r", "ü=/"},
		{"odd", "q", "a", "name", "n"},
	} {
		pairs = append([]string{model.MetricNameLabel, pairs[0], "host", "web"}, pairs[1:]...)
		ref := w.AddLabels(t, labels.FromStrings(pairs...))[0]
		var b storage.Batch
		for at := range 3 {
			if i != 3 || at != 2 {
				b.Add(ref, int64(webNow-180+60*at)*1000, float64(int(1)<<i))
			}
		}
		if err := w.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// draw returns what render answers to a target: name, values and tags of each series.
func (w *web) draw(t *testing.T, target string) string {
	t.Helper()
	got := w.get(fmt.Sprintf("/render?format=json&from=%d&until=%d&target=%s", webNow-181, webNow-60, url.QueryEscape(target)))
	var series []struct {
		Target     string
		Tags       map[string]string
		Datapoints [][2]*float64
	}
	if err := json.Unmarshal(got.Body.Bytes(), &series); err != nil {
		t.Fatalf("%s: %v", got.Body, err)
	}
	var b strings.Builder
	for _, s := range series {
		b.WriteString(s.Target)
		for _, p := range s.Datapoints {
			if p[0] == nil {
				b.WriteString(" -")
			} else {
				fmt.Fprintf(&b, " %g", *p[0])
			}
		}
		fmt.Fprintf(&b, " %v\n", s.Tags)
	}
	return b.String()
}

// Series of one path are found once and returned one by one, with the tags that the path does not
// show as tags and in their names.
func TestSeveralSeriesAreRenderedApart(t *testing.T) {
	w := newSeveral(t, false)
	if got := w.get("/metrics/find?query=servers.web.*").Body.String(); strings.Count(got, `"load"`) != 1 {
		t.Errorf("find: %s", got)
	}
	for _, c := range []struct{ target, want string }{
		{"servers.web.load", `
servers.web.load 8 8 - map[name:servers.web.load]
servers.web.load;cpu=0;mode=idle 1 1 1 map[cpu:0 mode:idle name:servers.web.load]
servers.web.load;cpu=0;mode=user 2 2 2 map[cpu:0 mode:user name:servers.web.load]
servers.web.load;cpu=1;mode=idle 4 4 4 map[cpu:1 mode:idle name:servers.web.load]`},
		{"servers.web.load;cpu=0;mode=user", `
servers.web.load;cpu=0;mode=user 2 2 2 map[cpu:0 mode:user name:servers.web.load]`},
		{"servers.web.one", `
servers.web.one 16 16 16 map[name:servers.web.one]`},
		{"servers.web.odd", `
servers.web.odd;%6Eame=n;q=a 64 64 64 map[%6Eame:n name:servers.web.odd q:a]
servers.web.odd;q=a%3Bb;r=ü=/ 32 32 32 map[name:servers.web.odd q:a;b r:ü=/]`},
		{"aliasByTags(servers.*.load,'cpu','mode')", `
0.idle 1 1 1 map[cpu:0 mode:idle name:servers.web.load]
0.user 2 2 2 map[cpu:0 mode:user name:servers.web.load]
1.idle 4 4 4 map[cpu:1 mode:idle name:servers.web.load]`},
		{"aliasByNode(servers.*.load,1,'mode')", `
web.idle 1 1 1 map[cpu:0 mode:idle name:servers.web.load]
web.user 2 2 2 map[cpu:0 mode:user name:servers.web.load]
web.idle 4 4 4 map[cpu:1 mode:idle name:servers.web.load]`},
		{"groupByTags(grep(servers.web.load,'mode'),'sum','mode')", `
servers.web.load;mode=idle 5 5 5 map[mode:idle name:servers.web.load]
servers.web.load;mode=user 2 2 2 map[mode:user name:servers.web.load]`},
		{"groupByNode(servers.web.*,2,'sum')", `
load 15 15 7`},
		{"sumSeries(servers.web.load)", `
sumSeries(servers.web.load) 15 15 7`},
	} {
		got := "\n" + w.draw(t, c.target)
		for line := range strings.SplitSeq(strings.TrimPrefix(c.want, "\n"), "\n") {
			if !strings.Contains(got, "\n"+line) {
				t.Errorf("%s: %q is missing in%s", c.target, line, got)
			}
		}
	}
}

// A tree with that option returns one sum on such a path; a slot without any point stays empty.
func TestSeveralSeriesAreSummed(t *testing.T) {
	w := newSeveral(t, true)
	got := w.draw(t, "servers.web.*")
	want := "servers.web.load 15 15 7 map[name:servers.web.load]\nservers.web.odd 96 96 96 map[name:servers.web.odd]\nservers.web.one 16 16 16 map[name:servers.web.one]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
}

// A path that two trees give to different series returns both.
func TestSeveralTreesOfAPath(t *testing.T) {
	w := newSeveral(t, false)
	w.Add(t, strings.NewReader(fmt.Sprintf("servers.web.one 7 %d\n", webNow-120)))
	got := w.draw(t, "servers.web.one")
	want := "servers.web.one - 7 - map[name:servers.web.one]\nservers.web.one;job=x 16 16 16 map[job:x name:servers.web.one]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
}
