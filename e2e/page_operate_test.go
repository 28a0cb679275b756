package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// What runs and what was kept is on the page: imports and exports with their progress, backups and whether they were verified.
// Names of files that are HTML are text.
func TestPageOperate(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, "--web.enable-admin-api", "--opentsdb.listen-address=127.0.0.1:0")
	dir := t.TempDir()
	const name = `<img src=x onerror=document.title='broken'>`
	writeFile(t, dir, name, "m 1500000000 1 host=a\nm 1500000060 2 host=a\nno point\n")
	url := "--adapter-url=" + a.base
	if out, err := tryTsdbridge(t, a.dir, "import", "opentsdb", url, filepath.Join(dir, name)); err == nil {
		t.Errorf("a bad line is taken: %s", out)
	}
	writeFile(t, dir, "good.txt", "m 1500000000 1 host=a\n")
	tsdbridge(t, a.dir, "import", "opentsdb", url, filepath.Join(dir, "good.txt"))
	tsdbridge(t, a.dir, "export", "opentsdb", url, "--output="+filepath.Join(dir, "out.txt"))
	b := startBrowser(t)
	b.open(t, a.base+"/#/migrate")
	section := `document.querySelector('[aria-label="Imports and exports"]')`
	for _, want := range []string{"export opentsdb", "import opentsdb", "failed", "1 of 1 files", "1 of 1 metrics", "Refused lines or series: 1", `onerror=document.title='broken'>:3`} {
		b.wait(t, fmt.Sprintf(`%s?.textContent.includes(%q)`, section, want))
	}
	if n := eval[int](t, b, section+`.querySelectorAll('progress').length`); n != 3 {
		t.Errorf("%d bars of progress, want 3", n)
	}
	b.picture(t, "transfers")

	for _, kept := range []string{name, "plain"} {
		tsdbridge(t, a.dir, "backup", "make", url, filepath.Join(dir, "backups", kept))
	}
	b.open(t, a.base+"/#/status")
	b.wait(t, `document.querySelector('[aria-label="Backups"]')?.textContent.includes('None was verified')`)
	tsdbridge(t, a.dir, "backup", "verify", filepath.Join(dir, "backups", name))
	b.open(t, a.base+"/#/status")
	b.wait(t, `[...document.querySelectorAll('[aria-label="Backups"] tbody tr')].map(r => /whole, \d{4}/.test(r.textContent) + ' ' + r.textContent.includes('<img') + ' ' + r.textContent.includes('never')).join() === 'false false true,true true false'`)
	b.picture(t, "backups")
	checkHarmless(t, b, "backups and transfers")
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}

// checkHarmless looks whether the page took a text as HTML.
func checkHarmless(t *testing.T, b *browser, where string) {
	t.Helper()
	if title := eval[string](t, b, `document.title`); strings.Contains(title, "broken") {
		t.Errorf("%s: a name was taken as HTML", where)
	}
	if n := eval[int](t, b, `document.querySelectorAll('img[src=x]').length`); n > 0 {
		t.Errorf("%s: %d elements were made of names", where, n)
	}
}
