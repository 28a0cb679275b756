package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// pagesOfAll are the pages, and what each shows first.
var pagesOfAll = []string{"explore", "browse", "metrics", "status", "migrate"}

// An empty store shows how to send the first point, for each protocol, and shows the point when it is there.
func TestPageEmpty(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon)
	b := startBrowser(t)
	for _, page := range []string{"explore", "browse", "metrics"} {
		b.open(t, a.base+"/#/"+page)
		b.wait(t, `document.querySelector('[aria-label="First steps"]')?.textContent.includes('remote_write')`)
		b.picture(t, "empty-"+page)
	}
	steps := eval[string](t, b, `document.querySelector('[aria-label="First steps"]').textContent`)
	for _, want := range []string{a.base + "/api/v1/write", "/api/v1/import/openmetrics", "/dev/tcp/127.0.0.1/", "--opentsdb.listen-address=:4242"} {
		if !strings.Contains(steps, want) {
			t.Errorf("the first steps lack %q: %s", want, steps)
		}
	}
	for _, command := range eval[[]string](t, b, `[...document.querySelectorAll('[aria-label="First steps"] pre')].map(e => e.textContent).filter(c => c.includes('curl') || c.includes('/dev/tcp/'))`) {
		command = strings.Replace(command, "/dev/tcp/127.0.0.1/PORT", "/dev/tcp/"+strings.Replace(a.carbonAddr(t), ":", "/", 1), 1) // as the text tells
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", command, err, out)
		}
	}
	b.open(t, a.base+"/#/explore?l0=promql&q0=")
	b.wait(t, `document.querySelector('.examples')?.textContent.includes('demo_greeting')`)
	b.open(t, a.base+"/#/explore?l0=graphite&q0=")
	b.wait(t, `document.querySelector('.examples')?.textContent.includes('demo.greeting')`)
	eval[bool](t, b, `document.querySelector('.examples button').click(), true`)
	b.wait(t, `document.querySelector('.legend td.name')?.textContent === 'demo.greeting'`)
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}

// Without --web.enable-admin-api the page changes nothing, and shows why.
func TestPageReadOnly(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon)
	sendCarbon(t, "tcp", a.carbonAddr(t), "demo.greeting 42 -1\n")
	b := startBrowser(t)
	for _, page := range pagesOfAll {
		b.open(t, a.base+"/#/"+page)
		b.wait(t, `document.querySelector('header .badge')?.textContent === 'read-only'`)
	}
	for page, where := range map[string]string{"status": "Running queries", "migrate": ""} {
		b.open(t, a.base+"/#/"+page)
		b.wait(t, fmt.Sprintf(`(document.querySelector('[aria-label="%s"]') ?? document.querySelector('main')).textContent.includes('--web.enable-admin-api')`, where))
	}
	b.open(t, a.base+"/#/browse")
	b.wait(t, `[...document.querySelectorAll('button')].some(b => b.textContent === 'New tree')`)
	eval[bool](t, b, `[...document.querySelectorAll('button')].find(b => b.textContent === 'New tree').click(), true`)
	b.wait(t, `[...document.querySelectorAll('[aria-label="Tree editor"] button')].find(b => b.textContent === 'Save')?.disabled && document.querySelector('[aria-label="Tree editor"]').textContent.includes('--web.enable-admin-api')`)
	for _, change := range []struct{ method, path string }{{http.MethodDelete, "/api/v1/status/queries/1"}, {http.MethodPost, "/api/tree"}} {
		if r, err := a.do(t.Context(), change.method, change.path, map[string]string{"Content-Type": "application/json"}, []byte(`{"name":"x"}`)); err != nil || r.status < 400 {
			t.Errorf("%s %s: %v %v, want a refusal", change.method, change.path, r, err)
		}
	}
}

// With passwords the page works as without, the worker that reads answers too.
func TestPagePasswords(t *testing.T) {
	needE2E(t)
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, dir, "web.yml", "basic_auth_users:\n  prometheus: "+secretHash+"\n")
	a := launchAdapter(t, withCarbon, "--web.config.file="+filepath.Join(dir, "web.yml"), "--web.external-url=https://example.org/metrics/of/us")
	a.user, a.password = "prometheus", "secret"
	a.WaitReady(t)
	sendCarbon(t, "tcp", a.carbonAddr(t), "demo.greeting 42 -1\n")
	b := startBrowser(t)
	page := strings.Replace(a.base, "http://", "http://prometheus:secret@", 1) + "/metrics/of/us/"
	b.open(t, page+"#/explore?l0=graphite&q0=demo.greeting")
	b.wait(t, `document.querySelector('.legend td.name')?.textContent === 'demo.greeting'`)
	b.open(t, page+"#/status")
	b.wait(t, `document.querySelector('.good')?.textContent === 'Ready' && document.querySelector('.tiles dd')`)
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}

// A store that is away is told on each page, and no page waits for it.
func TestPageUnreachable(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := launchAdapter(t, "--storage.engine=hbase", "--hbase.zookeeper=127.0.0.1:1", "--write.mode=through")
	b := startBrowser(t)
	for _, page := range pagesOfAll {
		b.open(t, a.base+"/#/"+page)
		b.wait(t, `document.body.textContent.includes('HBase (ZooKeeper 127.0.0.1:1)')`)
		b.wait(t, `document.querySelector('main .panel, main .error')`)
		b.picture(t, "unreachable-"+page)
	}
	b.open(t, a.base+"/#/explore?l0=promql&q0=up&l1=graphite&q1=a.b&l2=opentsdb&q2=sum:a")
	b.wait(t, `document.querySelectorAll('.panel').length === 3 && !document.querySelector('.panel.running')`)
	if n := eval[int](t, b, `document.querySelectorAll('.panel > .error').length`); n != 3 {
		t.Errorf("%d of 3 panels tell that the store is away", n)
	}
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}

// A server that fails, answers with garbage, cuts answers off or hangs leaves the page whole and at hand.
func TestPageBadServer(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon)
	sendCarbon(t, "tcp", a.carbonAddr(t), "demo.greeting 42 -1\n")
	var way atomic.Pointer[http.HandlerFunc]
	target, err := url.Parse(a.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bad := way.Load(); bad != nil && r.URL.Path != "/" && !strings.HasPrefix(r.URL.Path, "/assets/") {
			(*bad)(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer s.Close()
	b := startBrowser(t)
	defer s.CloseClientConnections()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, bad := range map[string]http.HandlerFunc{
		"500":     answer(500, "<html><h1>"+hostile+"</h1></html>"),
		"garbage": answer(200, hostile),
		"no data": answer(200, `{"status":"success","data":null}`),
		"numbers": answer(200, `{"status":"success","data":{"result":7,"nodes":3,"trees":"x","headStats":1}}`),
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"status":`)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			way.Store(nil)
			b.open(t, s.URL)
			way.Store(&bad)
			for _, page := range []string{"explore?l0=promql&q0=up&l1=graphite&q1=demo.greeting&l2=opentsdb&q2=sum:a&v2=explain", "browse", "metrics", "metrics?metric=up", "status", "migrate"} {
				if name == "hangs" { // as a person goes on; a page that is left keeps its connections for a while
					eval[bool](t, b, fmt.Sprintf(`(location.hash = %q, true)`, "#/"+page))
				} else {
					b.open(t, s.URL+"/#/"+page)
				}
				b.wait(t, `document.querySelector('nav a[aria-current]') && document.querySelector('main').textContent.length > 20`)
				if name != "hangs" {
					b.wait(t, `!document.querySelector('.panel.running')`)
				}
				eval[bool](t, b, `new Promise(done => setTimeout(() => done(true), 200))`)
				if !eval[bool](t, b, `Boolean(document.querySelector('main .panel, main .error, main [role=status]')) && !document.querySelector('img[src=x]')`) {
					t.Errorf("%s shows %q", page, eval[string](t, b, `document.body.innerText`))
				}
				if got := b.complaints(); len(got) > 0 {
					t.Errorf("%s: the console has %q", page, got)
				}
			}
		})
	}
	way.Store(nil)
	b.open(t, s.URL+"/#/explore?l0=graphite&q0=demo.greeting")
	b.wait(t, `document.querySelector('.legend td.name')?.textContent === 'demo.greeting'`)
}

// A query that takes long can be stopped.
func TestPageStop(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	target, err := url.Parse(a.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	given := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/query_range" {
			<-r.Context().Done()
			given <- struct{}{}
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer s.Close()
	b := startBrowser(t)
	defer s.CloseClientConnections()
	b.open(t, s.URL+"/#/explore?l0=promql&q0=up")
	b.wait(t, `[...document.querySelectorAll('.panel button')].some(b => b.textContent === 'Stop')`)
	eval[bool](t, b, `[...document.querySelectorAll('.panel button')].find(b => b.textContent === 'Stop').click(), true`)
	b.wait(t, `document.querySelector('.panel')?.textContent.includes('Stopped') && !document.querySelector('.panel.running')`)
	select {
	case <-given:
	case <-t.Context().Done():
		t.Error("the request was not given up")
	}
}
