package e2e_test

import (
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/prometheus/prometheus/prompb"
)

// hostile is put into every field that people can write to: it changes document.title if a page takes it as HTML.
const hostile = `<img src=x onerror="document.title='broken'">`

// The page works in a real browser: each page and each language, links, zoom, errors, hostile names, a phone, the
// keyboard, rules of accessibility, a server that is gone.
func TestPage(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon, "--opentsdb.listen-address=127.0.0.1:0", "--opentsdb.allow-edits", "--web.enable-admin-api", "--query.slow-after=1us", "--web.external-url=http://example.org/tsdb/")
	feedPage(t, a)
	b := startBrowser(t)
	p := &pageTest{b: b, base: a.base + "/tsdb/"}
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p *pageTest)
	}{
		{"Languages", testPageLanguages},
		{"Link", testPageLink},
		{"Zoom", testPageZoom},
		{"Errors", testPageErrors},
		{"Names", testPageNames},
		{"Phrases", testPagePhrases},
		{"Completion", testPageCompletion},
		{"Browse", testPageBrowse},
		{"TreeEditor", testPageTreeEditor},
		{"Metrics", testPageMetrics},
		{"Status", testPageStatus},
		{"Hostile", testPageHostile},
		{"Keyboard", testPageKeyboard},
		{"Accessible", testPageAccessible},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, p)
			if got := b.complaints(); len(got) > 0 {
				t.Errorf("the console has %q", got)
			}
		})
	}
	t.Run("Gone", func(t *testing.T) {
		p.explore(t, "from=now-1h&to=now", "graphite", "page.web0.load")
		a.Kill()
		eval[bool](t, b, `[...document.querySelectorAll('button')].find(b => b.textContent === 'Run').click(), true`)
		b.wait(t, `document.querySelector('.error')?.textContent.includes('does not answer')`)
	})
}

type pageTest struct {
	b    *browser
	base string
}

// feedPage sends an hour of points by carbon and by telnet.
func feedPage(t *testing.T, a *adapter) {
	t.Helper()
	now := time.Now().Unix() / 60 * 60
	var lines strings.Builder
	var puts []string
	for back := range int64(60) {
		at := now - back*60
		for host := range 3 {
			fmt.Fprintf(&lines, "page.web%d.load %d %d\n", host, host*10+int(back)%7, at)
			puts = append(puts, fmt.Sprintf(`{"metric":"page.requests","timestamp":%d,"value":%d,"tags":{"host":"web%d","dc":"lga"}}`, at, 1000-back, host))
		}
		fmt.Fprintf(&lines, "page.%s.load;tag=%s 1 %d\n", url.PathEscape("x"), strings.ReplaceAll(hostile, " ", "/"), at)
	}
	fmt.Fprintf(&lines, "refused %s\n", hostile)
	sendCarbon(t, "tcp", a.carbonAddr(t), lines.String())
	tsd := client{http: a.http, base: "http://" + a.opentsdbAddr(t)}
	tsd.Post(t, "/api/put", map[string]string{"Content-Type": "application/json"}, []byte("["+strings.Join(puts, ",")+"]"))
	a.Write(t, prompb.TimeSeries{
		Labels:  []prompb.Label{{Name: "__name__", Value: "hostile"}, {Name: "tag", Value: hostile}},
		Samples: []prompb.Sample{{Value: 1, Timestamp: now * 1000}},
	}, prompb.TimeSeries{
		Labels:  []prompb.Label{{Name: "__name__", Value: "hostile"}, {Name: "tag", Value: strings.Repeat("x", 10_000)}},
		Samples: []prompb.Sample{{Value: 2, Timestamp: now * 1000}},
	}, prompb.TimeSeries{
		Labels:  []prompb.Label{{Name: "__name__", Value: "hostile"}, {Name: "tag", Value: "\u202eevil\u202c"}},
		Samples: []prompb.Sample{{Value: 3, Timestamp: now * 1000}},
	})
	eventually(t, waitTimeout, "the points", func() error {
		r := a.Get(t, "/render?format=json&from=-2h&target=page.*.load&target="+url.QueryEscape("seriesByTag('name=page.x.load')"))
		q := a.Get(t, "/api/query?start=2h-ago&m=none:page.requests")
		if strings.Count(string(r.body), "target") < 4 || strings.Count(string(q.body), "metric") < 3 {
			return fmt.Errorf("%s\n%s", r.body, q.body)
		}
		return nil
	})
}

// explore opens Explore with one query for each pair of language and text, and waits for the answers.
func (p *pageTest) explore(t *testing.T, state string, queries ...string) {
	t.Helper()
	hash := state
	for i := 0; i < len(queries); i += 2 {
		hash += fmt.Sprintf("&l%d=%s&q%d=%s", i/2, queries[i], i/2, url.QueryEscape(queries[i+1]))
	}
	p.b.open(t, p.base+"#/explore?"+hash)
	p.b.wait(t, fmt.Sprintf(`document.querySelectorAll('.panel').length === %d && !document.querySelector('.panel.running')`, len(queries)/2))
}

// legend returns the names in the legend of a panel, from 0 on.
func (p *pageTest) legend(t *testing.T, panel int) string {
	t.Helper()
	return eval[string](t, p.b, fmt.Sprintf(`[...document.querySelectorAll('.panel')[%d].querySelectorAll('.legend td.name')].map(e => e.textContent).join(' | ')`, panel))
}

func testPageLanguages(t *testing.T, p *pageTest) {
	p.explore(t, "from=now-1h&to=now", "promql", `{__name__="page.requests"}`, "graphite", "aliasByNode(page.web*.load,1)", "opentsdb", "none:page.requests{dc=lga}")
	for i, want := range []string{
		`{"page.requests", dc="lga", host="web0"} | {"page.requests", dc="lga", host="web1"} | {"page.requests", dc="lga", host="web2"}`,
		"web0 | web1 | web2",
		"page.requests{dc=lga,host=web0} | page.requests{dc=lga,host=web1} | page.requests{dc=lga,host=web2}",
	} {
		if got := p.legend(t, i); got != want {
			t.Errorf("panel %d shows %s, want %s", i+1, got, want)
		}
	}
	if n := eval[int](t, p.b, `document.querySelectorAll('.chart .axes canvas').length`); n != 3 {
		t.Errorf("%d graphs, want 3", n)
	}
	p.b.picture(t, "explore")
	for _, view := range []string{"Table", "JSON", "Explain"} {
		eval[bool](t, p.b, fmt.Sprintf(`[...document.querySelector('.panel').querySelectorAll('button')].find(b => b.textContent === '%s').click(), true`, view))
		p.b.wait(t, fmt.Sprintf(`document.querySelector('.panel button[aria-pressed=true]')?.textContent === '%s' && /%s/.test(document.querySelector('.panel').textContent)`,
			view, map[string]string{"Table": "page.requests", "JSON": "resultType", "Explain": "Evaluated over columns"}[view]))
	}
}

// A link shows the same to everybody: options, range, zone.
func testPageLink(t *testing.T, p *pageTest) {
	p.explore(t, "from=now-30m&to=now&tz=utc&o0=stack,connect&v1=table", "graphite", "page.web*.load", "opentsdb", "sum:page.requests")
	got := eval[string](t, p.b, `[...document.querySelectorAll('input[type=checkbox]')].map(c => c.checked).join() + ' ' + [...document.querySelectorAll('select')].map(s => s.value).join() + ' ' +
		[...document.querySelectorAll('.timepicker input')].map(i => i.value).join()`)
	if want := "true,false auto,,utc,0,graphite,connect,opentsdb now-30m,now"; got != want {
		t.Errorf("the link shows %s, want %s", got, want)
	}
	if n := eval[int](t, p.b, `document.querySelectorAll('.panel')[1].querySelectorAll('tbody tr').length`); n != 1 {
		t.Errorf("the table has %d rows, want 1", n)
	}
}

// Dragging zooms into the range; the browser's way back leads out again; keys and buttons do the same.
func testPageZoom(t *testing.T, p *pageTest) {
	p.explore(t, "from=now-1h&to=now", "graphite", "page.web*.load")
	before := eval[string](t, p.b, `location.hash`)
	box := eval[[]float64](t, p.b, `(r => [r.left, r.top, r.width, r.height])(document.querySelector('.u-over').getBoundingClientRect())`)
	y := box[1] + box[3]/2
	p.b.do(t, "drag", chromedp.DragAndDropXY(box[0]+box[2]*0.25, y, box[0]+box[2]*0.75, y, 5))
	p.b.wait(t, `/from=\d{13}&to=\d{13}/.test(location.hash)`)
	width := eval[float64](t, p.b, `(p => p.get('to') - p.get('from'))(new URLSearchParams(location.hash.split('?')[1]))`)
	if math.Abs(width-30*60e3) > 60e3 {
		t.Errorf("half of the graph is %v ms of an hour", width)
	}
	p.b.wait(t, `!document.querySelector('.panel.running')`)
	eval[bool](t, p.b, `document.querySelector('.chart').focus(), true`)
	p.b.do(t, "key", chromedp.KeyEvent("-"))
	p.b.wait(t, fmt.Sprintf(`(p => Math.abs(p.get('to') - p.get('from') - %f) < 2)(new URLSearchParams(location.hash.split('?')[1]))`, 2*width))
	eval[bool](t, p.b, `history.go(-2), true`)
	p.b.wait(t, fmt.Sprintf(`location.hash === %q`, before))
}

// An error is shown in the server's words, and where it is in the text.
func testPageErrors(t *testing.T, p *pageTest) {
	p.explore(t, "from=now-1h&to=now", "promql", "sum(1) by by", "graphite", "nosuch(a.b)", "opentsdb", "sum:no.such.metric", "promql", "page_nothing")
	for i, want := range []string{"parse error", "nosuch", "No such name for 'metrics': 'no.such.metric'"} {
		if got := eval[string](t, p.b, fmt.Sprintf(`document.querySelectorAll('.panel')[%d].querySelector('.error')?.textContent ?? ''`, i)); !strings.Contains(got, want) {
			t.Errorf("panel %d shows the error %q, want %s in it", i+1, got, want)
		}
	}
	p.b.wait(t, `[0, 2].every(i => document.querySelectorAll('.panel')[i].querySelector('.cm-lintRange-error, .cm-lintPoint-error'))`)
	if got := eval[string](t, p.b, `document.querySelectorAll('.panel')[3].textContent`); !strings.Contains(got, "No series has points") {
		t.Errorf("an empty answer shows %s", got)
	}
	p.b.open(t, p.base+"#/explore?from=yesterdayish&to=now&l0=promql&q0=up")
	p.b.wait(t, `document.querySelector('.timepicker .error')?.textContent.includes('yesterdayish')`)
	p.b.picture(t, "errors")
}

// A series shows its names in all languages, and asks for itself in each.
func testPageNames(t *testing.T, p *pageTest) {
	p.explore(t, "from=now-1h&to=now", "opentsdb", "none:page.requests{host=web1}")
	eval[bool](t, p.b, `document.querySelector('.legend td.name button').click(), true`)
	p.b.wait(t, `document.querySelectorAll('dialog dd').length >= 4`)
	got := eval[string](t, p.b, `[...document.querySelectorAll('dialog dd code')].map(e => e.textContent).join(' | ')`)
	for _, want := range []string{`{__name__="page.requests", dc="lga", host="web1"}`, "page.requests;dc=lga;host=web1", "page.requests{dc=lga,host=web1}"} {
		if !strings.Contains(got, want) {
			t.Errorf("the names %s lack %s", got, want)
		}
	}
	p.b.picture(t, "names")
	for i, title := range []string{"PromQL", "Graphite", "OpenTSDB"} {
		p.explore(t, "from=now-1h&to=now", "opentsdb", "none:page.requests{host=web1}")
		eval[bool](t, p.b, `document.querySelector('.legend td.name button').click(), true`)
		p.b.wait(t, `document.querySelectorAll('dialog dd').length >= 4`)
		eval[bool](t, p.b, fmt.Sprintf(`[...[...document.querySelectorAll('dialog dt')].find(e => e.textContent === '%s').nextElementSibling.querySelectorAll('button')].find(b => b.textContent === 'Query').click(), true`, title))
		p.b.wait(t, `document.querySelectorAll('.panel').length === 2 && !document.querySelector('.panel.running')`)
		if legend := p.legend(t, 1); strings.Contains(legend, " | ") || !strings.Contains(legend, "web1") {
			t.Errorf("as %s (%d) the series is %q", title, i, legend)
		}
	}
}

// A query is asked in another language by a button, and finds the same series.
func testPagePhrases(t *testing.T, p *pageTest) {
	for _, test := range []struct{ language, text, button, want string }{
		{"opentsdb", "sum:page.requests{host=*}", "in PromQL", `{host="web0"} | {host="web1"} | {host="web2"}`},
		{"promql", `max({__name__="page.requests"})`, "in OpenTSDB", "page.requests{dc=lga} over host"},
		{"graphite", "page.web*.load", "in PromQL", `{"page.web0.load"} | {"page.web1.load"} | {"page.web2.load"}`},
	} {
		p.explore(t, "from=now-1h&to=now", test.language, test.text)
		button := fmt.Sprintf(`[...document.querySelectorAll('.panel button')].find(b => b.textContent === %q)`, test.button)
		p.b.wait(t, button+` !== undefined`)
		eval[bool](t, p.b, button+`.click(), true`)
		p.b.wait(t, `document.querySelectorAll('.panel').length === 2 && !document.querySelector('.panel.running') && document.querySelectorAll('.panel')[1].querySelector('.legend')`)
		if got := p.legend(t, 1); got != test.want {
			t.Errorf("%s %s shows %s, want %s", test.text, test.button, got, test.want)
		}
	}
	p.explore(t, "from=now-1h&to=now", "promql", `topk(1, {__name__="page.requests"})`)
	p.b.wait(t, `[...document.querySelectorAll('.panel button[aria-disabled=true]')].every(b => b.title.includes('topk')) && document.querySelectorAll('.panel button[aria-disabled=true]').length === 2`)
}

// The editor completes from the server.
func testPageCompletion(t *testing.T, p *pageTest) {
	for _, test := range []struct{ language, typed, want string }{
		{"graphite", "page.we", "web1"},
		{"graphite", "aliasByN", "aliasByNode"},
		{"opentsdb", "sum:page.", "page.requests"},
		{"opentsdb", "sum:page.requests{ho", "host"},
		{"opentsdb", "sum:page.requests{host=web", "web2"},
		{"opentsdb", "zim", "zimsum"},
		{"promql", "histogram_q", "histogram_quantile"},
	} {
		p.explore(t, "from=now-1h&to=now", test.language, "")
		eval[bool](t, p.b, `document.querySelector('.cm-content').focus(), true`)
		p.b.do(t, "type "+test.typed, chromedp.KeyEvent(test.typed))
		p.b.wait(t, fmt.Sprintf(`[...document.querySelectorAll('.cm-completionLabel')].some(e => e.textContent === %q)`, test.want))
	}
}

func testPageBrowse(t *testing.T, p *pageTest) {
	p.b.open(t, p.base+"#/browse")
	p.b.wait(t, `document.querySelector('.fold[aria-expanded=true]')?.textContent.trim().endsWith('page')`) // the only one is open
	const web1 = `[...document.querySelectorAll('.fold')].find(b => b.textContent.trim().endsWith('web1'))`
	p.b.wait(t, web1)
	eval[bool](t, p.b, web1+`.click(), true`)
	p.b.wait(t, `document.querySelector('.spark path')?.getAttribute('d').length > 20`)
	p.b.picture(t, "browse")
	eval[bool](t, p.b, `[...document.querySelectorAll('button')].find(b => b.textContent === 'Why here?').click(), true`)
	p.b.wait(t, `document.querySelector('dialog')?.querySelector('details')?.textContent.includes('page.web1.load')`)
	p.b.open(t, p.base+"#/browse?search=eb2")
	p.b.wait(t, `[...document.querySelectorAll('.leaf')].map(e => e.textContent).join().includes('page.web2')`)
}

// The rules of a tree are tried on series of the store, and saved.
func testPageTreeEditor(t *testing.T, p *pageTest) {
	button := func(text string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('button')].find(b => b.textContent === %q)`, text)
	}
	fill := func(label, text string) {
		t.Helper()
		eval[bool](t, p.b, fmt.Sprintf(`(i => { i.focus(); i.select(); })([...document.querySelectorAll('[aria-label="Tree editor"] input')].find(i => (i.ariaLabel ?? i.closest('label')?.textContent ?? '').trim() === %q)), true`, label))
		p.b.do(t, "type "+text, chromedp.KeyEvent(text))
	}
	p.b.open(t, p.base+"#/browse")
	p.b.wait(t, button("New tree"))
	eval[bool](t, p.b, button("New tree")+`.click(), true`)
	p.b.wait(t, `document.querySelector('[aria-label="Tree editor"]')?.textContent.includes('page.requests')`)
	fill("Name", "hosts")
	eval[bool](t, p.b, button("Add a rule")+`.click(), true`)
	p.b.wait(t, `document.querySelector('[aria-label="Field of rule 2"]')`)
	fill("Field of rule 2", "host")
	p.b.wait(t, `[...document.querySelectorAll('[aria-label="Tree editor"] tbody td')].some(d => d.textContent === 'page.requests.web1')`)
	fill("Expression of rule 2", "(")
	p.b.wait(t, `document.querySelector('[aria-label="Tree editor"] .error')?.textContent.includes('rule 1:0')`)
	fill("Expression of rule 2", "web(.*)")
	p.b.wait(t, `[...document.querySelectorAll('[aria-label="Tree editor"] tbody td')].some(d => d.textContent === 'page.requests.1')`)
	p.b.picture(t, "tree-editor")
	eval[bool](t, p.b, button("Save")+`.click(), true`)
	p.b.wait(t, `!document.querySelector('[aria-label="Tree editor"]') && [...document.querySelectorAll('.one-tree')].some(d => d.textContent.includes('hosts') && d.textContent.includes('web(.*)'))`)
}

func testPageMetrics(t *testing.T, p *pageTest) {
	p.b.open(t, p.base+"#/metrics")
	p.b.wait(t, `document.querySelector('.tiles dd') && document.body.textContent.includes('page.requests')`)
	p.b.wait(t, `/ [1-9]\d* new series$/.test([...document.querySelectorAll('[aria-label="Days"] button')].at(-1)?.ariaLabel ?? '')`)
	eval[bool](t, p.b, `[...document.querySelectorAll('[aria-label="Days"] button')].at(-1).click(), true`)
	p.b.wait(t, `document.querySelector('[aria-label="Days"] button[aria-pressed=true]')?.ariaLabel.includes(new Date().toISOString().slice(0, 10)) && document.querySelector('[aria-label="New by metric"]')?.textContent.includes('page.requests3')`)
	p.b.picture(t, "metrics")
	p.b.open(t, p.base+"#/metrics?metric=page.requests")
	p.b.wait(t, `document.body.textContent.includes('3 series, 3 of them with points') && document.querySelector('[aria-label="Label host"]')?.textContent.includes('web2')`)
}

func testPageStatus(t *testing.T, p *pageTest) {
	p.b.open(t, p.base+"#/status")
	p.b.wait(t, `document.querySelector('.good')?.textContent === 'Ready' && [...document.querySelectorAll('tr')].some(r => /^Carbon\d[\d.k]*\D?2\D?40|^Carbon.*\d/.test(r.textContent))`)
	p.b.wait(t, `[...document.querySelectorAll('section')].some(s => s.textContent.includes('Embedded engine'))`)
	p.b.wait(t, `document.querySelector('[aria-label="Warnings and errors"]')?.textContent.includes('refused <img')`)
	p.b.picture(t, "status")
	p.b.open(t, p.base+"#/migrate")
	p.b.wait(t, `document.body.textContent.includes('tsdbridge import whisper')`)
	p.checkCommands(t)
	eval[bool](t, p.b, `[...document.querySelectorAll('[aria-label="Where the data is"] button')].find(b => b.textContent === 'Prometheus').click(), true`)
	p.b.wait(t, `location.hash === '#/migrate?from=prometheus' && !document.body.textContent.includes('tsdbridge import whisper') && document.body.textContent.includes('tsdbridge import prometheus')`)
}

// checkCommands looks whether the commands that are shown exist, with these flags.
func (p *pageTest) checkCommands(t *testing.T) {
	t.Helper()
	known := readFile(t, filepath.Join(moduleRoot, "docs", "flags.md"))
	seen := map[string]bool{}
	for _, text := range eval[[]string](t, p.b, `[...document.querySelectorAll('main pre')].map(e => e.textContent.replaceAll('\\\n', ' '))`) {
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) < 3 || words[0] != "tsdbridge" || strings.HasPrefix(words[1], "-") {
				continue
			}
			command := words[1]
			switch command {
			case "import", "export":
				command += " " + words[2]
			case "check": // its page of flags is that of all checks
				continue
			}
			seen[command] = true
			_, section, found := strings.Cut(known, "\n## tsdbridge "+command+"\n")
			section, _, _ = strings.Cut(section, "\n## ")
			for _, word := range words {
				if flag, _, _ := strings.Cut(word, "="); strings.HasPrefix(flag, "--") && !strings.Contains(section, "| `"+flag+"` |") && !strings.Contains(known, "| `"+flag+"` |") || !found {
					t.Errorf("%s: there is no such command or flag %s", line, flag)
				}
			}
		}
	}
	for _, want := range []string{"import whisper", "import ceres", "import prometheus", "import remote-read", "import victoriametrics", "import openmetrics", "import opentsdb", "copy", "export prometheus", "export openmetrics", "export victoriametrics", "export opentsdb", "export whisper"} {
		if !seen[want] {
			t.Errorf("nothing tells of tsdbridge %s", want)
		}
	}
}

// Names that are HTML are shown as text, wherever they appear.
func testPageHostile(t *testing.T, p *pageTest) {
	check := func(where string) {
		t.Helper()
		checkHarmless(t, p.b, where)
	}
	p.explore(t, "from=now-2h&to=now", "promql", `{__name__=~"page.x.load|hostile"}`, "graphite", "seriesByTag('name=page.x.load')", "opentsdb", "none:hostile",
		"promql", hostile, "graphite", hostile, "opentsdb", hostile)
	if got := p.legend(t, 0) + p.legend(t, 2); !strings.Contains(got, "onerror") {
		t.Errorf("the legends show %s: the hostile names are not there", got)
	}
	check("graphs")
	if got := p.legend(t, 0); !strings.Contains(got, `\u202eevil`) || strings.Contains(got, "\u202e") || len(got) > 2000 {
		t.Errorf("the legend shows %q: long names are cut, characters that turn the direction are seen", got)
	}
	p.explore(t, "from=now-2h&to=now", "promql", fmt.Sprintf("hostile{tag=%q}", hostile))
	p.b.open(t, p.base+"#/status")
	p.b.wait(t, `document.querySelector('[aria-label="Slow queries"]')?.textContent.includes('onerror')`)
	check("slow queries")
	p.explore(t, "from=now-2h&to=now", "promql", "hostile")
	eval[bool](t, p.b, `document.querySelector('.legend td.name button').click(), true`)
	p.b.wait(t, `document.querySelectorAll('dialog dd').length >= 4`)
	check("names")
	for _, view := range []string{"table", "raw", "explain"} {
		p.explore(t, "from=now-2h&to=now&v0="+view, "promql", `hostile`)
		check(view)
	}
	for _, hash := range []string{"metrics", "metrics?metric=hostile", "metrics?metric=" + url.QueryEscape(hostile), "browse?search=" + url.QueryEscape(hostile), "status", "explore?from=" + url.QueryEscape(hostile), url.QueryEscape(hostile)} {
		p.b.open(t, p.base+"#/"+hash)
		p.b.wait(t, `document.querySelector('main')?.textContent.length > 20`)
		check(hash)
	}
}

// All pages keep the rules of accessibility that axe checks, in light and dark, and fit a phone.
func testPageAccessible(t *testing.T, p *pageTest) {
	explore := "explore?from=now-1h&to=now&l0=graphite&q0=page.web*.load&l1=promql&q1=" + url.QueryEscape(`{__name__="page.requests"}`) + "&v1=explain"
	pages := []string{explore, "browse", "metrics", "metrics?metric=page.requests", "status", "migrate"}
	open := func(hash string) {
		p.b.open(t, p.base+"#/"+hash)
		p.b.wait(t, `document.querySelector('main .panel') && !document.querySelector('.panel.running')`)
	}
	for _, scheme := range []string{"light", "dark"} {
		p.b.colours(t, scheme)
		for _, hash := range pages {
			open(hash)
			p.b.picture(t, scheme+"-"+strings.Split(hash, "?")[0])
			p.b.checkAxe(t, hash+" in "+scheme)
		}
	}
	for _, hash := range pages {
		checkPhone(t, p.b, strings.Split(hash, "?")[0], func() { open(hash) })
	}
}
