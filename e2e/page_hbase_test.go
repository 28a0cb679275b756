package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// testPageHBase: Status shows the regions and latencies of a real HBase; Metrics tells since when growth is known.
func testPageHBase(t *testing.T, s tables) {
	s.create(t)
	dir := t.TempDir()
	writeFile(t, dir, "rules.yml", "groups: [{name: ours, interval: 1s, rules: [{record: 'page:one', expr: vector(1)}]}]\n")
	writeFile(t, dir, "us.yml", "rule_files: ["+filepath.Join(dir, "rules.yml")+"]\n")
	a := s.startAdapter(t, "--web.enable-admin-api", "--config.file="+filepath.Join(dir, "us.yml"))
	writeFloats(t, a.client)
	b := startBrowser(t)
	b.open(t, a.base+"/#/status")
	b.wait(t, `[...document.querySelectorAll('[aria-label="Region servers"] tbody tr')].map(r => [...r.cells].map(c => c.textContent)).some(c => /^[1-9]/.test(c[1]) && /^[1-9]/.test(c[2]) && /^\d/.test(c[3]) && /[1-9].* ms$/.test(c[4]) && /[1-9].* ms$/.test(c[5]))`)
	tables := eval[string](t, b, `document.querySelector('[aria-label="HBase"]').textContent`)
	for _, want := range []string{s.name + ": ", s.name + "-meta: ", " region"} {
		if !strings.Contains(tables, want) {
			t.Errorf("the tables lack %q: %s", want, tables)
		}
	}
	b.wait(t, `document.querySelector('[aria-label="HBase operations"] td.number')?.textContent.endsWith('/s')`)
	b.picture(t, "hbase")
	b.open(t, a.base+"/#/metrics")
	b.wait(t, `document.querySelector('[aria-label="Growth"]')?.textContent.includes('Since ')`)
	b.open(t, a.base+"/#/delete?match=basic")
	b.wait(t, fmt.Sprintf(`document.querySelector('[aria-label=Confirm]')?.textContent.includes(%q)`, "major compaction"))
	b.open(t, a.base+"/#/rules")
	b.wait(t, `document.querySelector('[aria-label="Group ours"]')?.textContent.includes('evaluated here, lease until ')`)
	b.picture(t, "rules-lease")
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}
