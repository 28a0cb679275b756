package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestBlocks: what the adapter imports of a copy of a running Prometheus' data directory it answers as that
// Prometheus does, and so does another Prometheus that opens what the adapter exports.
func TestBlocks(t *testing.T) {
	needE2E(t)
	t.Parallel()
	from, target := startPrometheus(t, ""), startTarget(t)
	begin := time.Now()
	from.Scrape(t, map[string]string{"self": from.addr, "target": target.addr})
	eventually(t, waitTimeout, "scrapes", func() error {
		if n := target.Scrapes(); n < 12 {
			return fmt.Errorf("%d scrapes", n)
		}
		return nil
	})
	from.Scrape(t, nil)
	eventually(t, waitTimeout, "the last series stale", func() error {
		if all := from.Query(t, `{__name__=~".+"}`, time.Now()); len(all) > 0 {
			return fmt.Errorf("%d series live", len(all))
		}
		return nil
	})
	end := time.Now()
	dir := t.TempDir()
	copied, blocks := filepath.Join(dir, "copied"), filepath.Join(dir, "blocks")
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(from.dir, "data"))); err != nil {
		t.Fatal(err)
	}
	a := startAdapter(t, "--web.enable-admin-api")
	runCommand(t, 0, "import", "prometheus", "--adapter-url=http://"+a.addr, copied)
	q := comparison{got: a.client, want: from.client, from: begin, to: end}
	q.run(t, promqlCases(t))
	for _, selector := range []string{"test_requests_total", "test_classic_seconds_bucket", "test_native_seconds"} {
		form := map[string][]string{"query": {selector}, "start": {stamp(begin)}, "end": {stamp(end)}}
		got, want := exemplarsOf(t, a.client, form), exemplarsOf(t, from.client, form)
		if !reflect.DeepEqual(got, want) || len(want) == 0 {
			t.Errorf("exemplars of %s: %v, want %v", selector, got, want)
		}
	}
	runCommand(t, 3, "export", "prometheus", "--adapter-url=http://"+a.addr, blocks) // exemplars are left out
	q.got = startPrometheusOver(t, prometheusConfig, blocks).client
	q.run(t, promqlCases(t))
}

// runCommand runs a command of the adapter's binary and expects an exit code.
func runCommand(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), adapterBinary(t), args...).CombinedOutput()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Fatalf("tsdbridge %v: exit code %d, want %d\n%s", args, got, code, out)
	}
	t.Logf("%s", out)
	return string(out)
}
