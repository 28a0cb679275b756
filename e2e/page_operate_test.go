package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
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

// Rules and alerts are on a page of their own, which is there if there are rules. A table of many labels tells how many of
// them it shows.
func TestPageRules(t *testing.T) {
	needE2E(t)
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "rules.yml", `groups:
- name: "<img src=x onerror=document.title='broken'>"
  interval: 1s
  rules:
  - record: page:up
    expr: vector(1)
  - alert: "<img src=x onerror=document.title='broken'>"
    expr: vector(7)
    labels: {severity: "<img src=x onerror=document.title='broken'>"}
    annotations: {summary: "value {{ $value }} <img src=x onerror=document.title='broken'>"}
  - record: page:graphite
    lang: graphite
    expr: sumSeries(servers.*.load)
  - record: page:opentsdb
    lang: opentsdb
    window: 10m
    expr: sum:1m-avg:queue.length{queue=*}
`)
	writeFile(t, dir, "tsdbridge.yml", "rule_files: ["+filepath.Join(dir, "rules.yml")+"]\n")
	a := startAdapter(t, "--config.file="+filepath.Join(dir, "tsdbridge.yml"))
	b := startBrowser(t)
	b.open(t, a.base+"/#/explore")
	b.wait(t, `[...document.querySelectorAll('nav a')].some(l => l.textContent === 'Rules')`)
	openRules := func() {
		b.open(t, a.base+"/#/rules")
		b.wait(t, `document.querySelectorAll('.rule').length === 4 && [...document.querySelectorAll('.rule')].some(r => r.textContent.includes('firing') && r.textContent.includes('value 7') && r.textContent.split('<img').length === 6)`)
	}
	openRules()
	links := eval[string](t, b, `[...document.querySelectorAll('.rule-query a')].map(a => (p => p.get('l0') + ' ' + p.get('q0'))(new URLSearchParams(a.getAttribute('href').split('?')[1]))).join('|')`)
	if want := "promql vector(1)|promql vector(7)|graphite sumSeries(servers.*.load)|opentsdb sum:1m-avg:queue.length{queue=*}"; links != want {
		t.Errorf("the rules lead to %s, want %s", links, want)
	}
	b.wait(t, `[...document.querySelectorAll('.rule-query')].some(r => r.textContent.startsWith('OpenTSDB, values of 10m'))`)
	checkHarmless(t, b, "rules")
	checkAccessible(t, b, "rules")
	checkPhone(t, b, "rules", openRules)

	labels := []prompb.Label{{Name: "__name__", Value: "wide"}}
	for n := range 15 {
		labels = append(labels, prompb.Label{Name: fmt.Sprintf("l%02d", n), Value: "v"})
	}
	a.Write(t, prompb.TimeSeries{Labels: labels, Samples: []prompb.Sample{{Value: 1, Timestamp: time.Now().Add(-2 * time.Minute).UnixMilli()}}})
	b.open(t, a.base+"/#/explore?v0=table&l0=promql&q0=wide")
	b.wait(t, `document.body.textContent.includes('12 of 16 labels have a column')`)
	eval[bool](t, b, `[...document.querySelectorAll('button')].find(b => b.textContent === 'Show all 16 columns').click(), true`)
	b.wait(t, `document.querySelectorAll('.panel th').length === 19`)
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}
