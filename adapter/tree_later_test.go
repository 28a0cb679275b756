package adapter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// waitSynced waits until all existing series are in all trees.
func waitSynced(t *testing.T, a *Adapter) {
	t.Helper()
	// polling, with a deadline
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s := a.trees.Follower().State()
		if !s.Running && len(s.Waiting) == 0 && len(a.trees.Forest().Trees()) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("trees still wait: %+v", s)
		}
	}
}

func laterOptions(t *testing.T, trees string) Options {
	t.Helper()
	o := storeTestOptions(t, write.Through)
	o.Now = promtest.Now
	o.Carbon.ListenAddress = "127.0.0.1:0"
	o.Graphite.Trees = declared(t, trees)
	return o
}

func declared(t *testing.T, trees string) []config.Tree {
	t.Helper()
	if trees == "" {
		return nil
	}
	all, err := parsed(t, config.ParseTrees, trees)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const serversTree = "- {name: servers, path: 'servers.{host}.{metric...}'}\n"

// Series that existed before a tree are found in it without a command, and carbon's names continue
// to mean the same series.
func TestTreeDeclaredLater(t *testing.T) {
	o := laterOptions(t, "")
	a, stop := runAdapter(t, o)
	second := fixtureTime(0) / 1000
	sendCarbon(t, a, fmt.Sprintf("servers.db1.disk 1 %d\n", second), `servers.db1.disk [{"-_" "1"}]`, fixtureTime(0))
	for _, errs := range [][]error{resolveAll(t, a, 3000)} {
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()

	o.Graphite.Trees = declared(t, serversTree)
	a, stop = runAdapter(t, o)
	waitSynced(t, a)
	if found := servertest.Text(t, a, "/metrics/find?format=nodelist&query=servers.web0042.*"); !strings.Contains(found, `"load"`) {
		t.Errorf("find in a tree that came later: %s", found)
	}
	metrics := servertest.Text(t, a, "/metrics")
	for _, want := range []string{"tsdbridge_tree_sync_done_series 3001", "tsdbridge_tree_sync_running 0", "tsdbridge_tree_sync_waiting_trees 0", "tsdbridge_tree_loaded 1"} {
		if !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	sendCarbon(t, a, fmt.Sprintf("servers.db1.disk 2 %d\nservers.db2.disk 3 %d\n", second+60, second+60), `disk [{"host" "db2"}]`, fixtureTime(1))
	all := dumpSeries(t, a.store)
	if s, ok := all[`disk [{"host" "db1"}]`]; ok {
		t.Errorf("a name that had a series got another one: %s", s)
	}
	if s := all[`servers.db1.disk [{"-_" "1"}]`]; strings.Count(s, "\n") < 3 {
		t.Errorf("the series of a whole name has %q, want both points", s)
	}
	if text := servertest.Text(t, a, "/api/v1/status/trees/test?format=text&name=servers.db1.disk"); !strings.Contains(text, "goes on to mean") {
		t.Errorf("test of a name that keeps its series: %s", text)
	}
	stop()

	// Finished work is not repeated.
	a, _ = runAdapter(t, o)
	waitSynced(t, a)
	if s := a.trees.Follower().State(); s.Passes != 0 {
		t.Errorf("%d passes after a restart, want none", s.Passes)
	}
}

// resolveAll registers series, as Prometheus' first samples do.
func resolveAll(t *testing.T, a *Adapter, n int) []error {
	t.Helper()
	series := make([]storage.Series, n)
	for i := range series {
		series[i] = storage.Series{Metric: "load", Tags: []storage.Tag{{Key: "host", Value: fmt.Sprintf("web%04d", i)}}}
	}
	_, errs := a.store.Resolve(t.Context(), series)
	return errs
}
