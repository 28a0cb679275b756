package e2e_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCarbonAPI: a carbonapi over the adapter shows what the adapter has. Names of some functions, the text of names with
// percent signs, and maxDataPoints are otherwise in carbonapi.
func TestCarbonAPI(t *testing.T) {
	needE2E(t)
	t.Parallel()
	carbonAPIBinary(t)
	a := startRecorded(t)
	for name, over := range map[string]struct {
		protocol string
		batch    int
	}{
		"series": {"carbonapi_v3_pb", 3}, "patterns": {"carbonapi_v3_pb", 0}, "auto": {"auto", 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCarbonAPI(t, a.addr, over.protocol, over.batch)
			for _, target := range []string{
				"one", "servers.*.cpu.0.*", "servers.{web01,db01}.mem.*", "mix.s60.v", "mix.s1.v", "both.**", "gap.*", "num.{neg,small,zero}", "odd.a?", "no.such",
				"seriesByTag('name=req.rate','dc=~dc.*')", "seriesByTag('server=web04')", "sumSeries(servers.web*.cpu.*.user)",
				"aliasByNode(servers.*.mem.used,1)", "scale(ctr.reset,0.5)", "alias(offset(coarse.h1.a,1),'x')", "alias(timeShift(one,'5min'),'shifted')",
			} {
				path := "/render?format=json&from=1741050007&until=1741051207&target=" + url.QueryEscape(target)
				if d := cmp.Diff(pointsOf(t, a.Get(t, path)), pointsOf(t, c.Get(t, path))); d != "" {
					t.Errorf("%s: %s", path, d)
				}
			}
			for _, path := range []string{
				"/metrics/expand?query=servers.*.cpu.*", "/tags/autoComplete/tags", "/tags/autoComplete/tags?expr=server=~web&tagPrefix=d&limit=3",
				"/tags/autoComplete/values?tag=server&valuePrefix=web", "/tags/autoComplete/values?tag=server&expr=name%3Ddisk.used&limit=2",
			} {
				answersAs(t, path, c.Get(t, path), a.Get(t, path))
			}
			for _, query := range []string{"*", "servers.*", "servers.web01.cpu.{0,1}.*", "odd.{a,b,t}*", "no.*"} {
				path := "/metrics/find?format=treejson&query=" + query
				if d := cmp.Diff(nodesOf(t, a.Get(t, path)), nodesOf(t, c.Get(t, path))); d != "" {
					t.Errorf("%s: %s", path, d)
				}
			}
		})
	}
}

// pointsOf returns the series of an answer of /render with their points, by name.
func pointsOf(t *testing.T, r reply) []string {
	t.Helper()
	var series []rendered
	readJSONInto(t, r, &series)
	var list []string
	for _, s := range series {
		list = append(list, s.String())
	}
	slices.Sort(list)
	return list
}

// A foundNode is one of an answer of /metrics/find.
type foundNode struct {
	Text, ID   string
	Leaf       int
	Expandable int
}

// nodesOf returns the nodes of an answer of /metrics/find by name.
func nodesOf(t *testing.T, r reply) []foundNode {
	t.Helper()
	var nodes []foundNode
	readJSONInto(t, r, &nodes)
	slices.SortFunc(nodes, func(a, b foundNode) int { return strings.Compare(a.ID, b.ID) })
	return nodes
}

func readJSONInto(t *testing.T, r reply, to any) {
	t.Helper()
	if err := json.Unmarshal(r.ok(t).body, to); err != nil {
		t.Fatalf("%v in %.500v", err, r)
	}
}
