package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/prometheus/prometheus/prompb"
)

// feedDeletes writes a point of now and one of three hours ago to each series.
func feedDeletes(t *testing.T, a *adapter) {
	t.Helper()
	now := time.Now().UnixMilli()
	series := func(name, host string) prompb.TimeSeries {
		return prompb.TimeSeries{
			Labels:  []prompb.Label{{Name: "__name__", Value: name}, {Name: "host", Value: host}},
			Samples: []prompb.Sample{{Value: 1, Timestamp: now - 3*3600e3}, {Value: 2, Timestamp: now}},
		}
	}
	a.Write(t, series("gone", "web1"), series("gone", "web2"), series("cut", "web1"), series("kept", "web1"), series("hostile", hostile))
}

// dayOf returns how many points a metric has in the last day.
func dayOf(t *testing.T, a *adapter, metric string) string {
	t.Helper()
	return string(a.Get(t, "/api/v1/query?query="+url.QueryEscape("sum(count_over_time("+metric+"[1d]))")).body)
}

// Series are deleted on the page after their number has been typed; points of a time as well; nothing else goes.
func TestPageDelete(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, "--web.enable-admin-api")
	feedDeletes(t, a)
	b := startBrowser(t)
	p := &pageTest{b: b, base: a.base + "/"}
	b.open(t, p.base+"#/metrics?metric=gone")
	b.wait(t, `[...document.querySelectorAll('a')].some(a => a.textContent === 'Delete series…')`)
	eval[bool](t, b, `[...document.querySelectorAll('a')].find(a => a.textContent === 'Delete series…').click(), true`)
	b.wait(t, `document.querySelector('[aria-label="Series that are named"]')?.textContent.includes('2 series of 1 metric') && document.querySelectorAll('[aria-label="Series that are named"] li').length === 2`)
	for typed, off := range map[string]bool{"delete": true, "delete 1": true, "2": true, "delete 2": false} {
		p.confirm(t, typed)
		if eval[bool](t, b, `document.querySelector('button.danger').disabled`) != off {
			t.Errorf("%q typed: the button is not as it should be", typed)
		}
	}
	b.wait(t, `document.querySelector('[aria-label=Confirm] input[type=checkbox]')?.disabled === false`)
	b.picture(t, "delete")
	eval[bool](t, b, `document.querySelector('[aria-label=Confirm] input[type=checkbox]').click(), true`)
	p.confirm(t, "delete 2")
	eval[bool](t, b, `document.querySelector('button.danger').click(), true`)
	b.wait(t, `document.querySelector('.success')?.textContent === '2 series are deleted. Their disk space is given back.'`)
	if got := dayOf(t, a, "gone"); !strings.Contains(got, `"result":[]`) {
		t.Errorf("points are left: %s", got)
	}

	p.deleteOf(t, "cut", "from=now-4h&to=now-1h")
	b.wait(t, `document.querySelector('[aria-label=Confirm]')?.textContent.includes('Points from ')`)
	p.confirm(t, "delete 1")
	eval[bool](t, b, `document.querySelector('button.danger').click(), true`)
	b.wait(t, `document.querySelector('.success')?.textContent === 'The points of 1 series in this time are deleted.'`)
	for metric, want := range map[string]string{"cut": `"1"]`, "kept": `"2"]`, "hostile": `"2"]`} {
		if got := dayOf(t, a, metric); !strings.Contains(got, want) {
			t.Errorf("%s has %s points, want %s", metric, got, want)
		}
	}

	p.deleteOf(t, "hostile", "")
	b.wait(t, `document.querySelector('[aria-label="Series that are named"]')?.textContent.includes('onerror')`)
	checkHarmless(t, b, "series to delete")
	checkAccessible(t, b, "delete")
	p.refusesToDelete(t)
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}

// refusesToDelete checks selections with which nothing can be deleted.
func (p *pageTest) refusesToDelete(t *testing.T) {
	t.Helper()
	for _, test := range []struct{ match, time, want string }{
		{"nosuch", "", "No series has these labels"},
		{"{", "", "invalid parameter"},
		{hostile, "", "invalid parameter"},
		{"kept", "from=&to=now", `"" is no time`},
		{"kept", "from=now&to=now-1h", "ends before it begins"},
		{"kept", "from=2001-01-01&to=2001-02-01", "No series has these labels and points on the days of this time"},
	} {
		p.deleteOf(t, test.match, test.time)
		p.b.wait(t, fmt.Sprintf(`document.querySelector('main').textContent.includes(%q)`, test.want))
		if eval[bool](t, p.b, `document.querySelector('button.danger') !== null`) {
			t.Errorf("%s %s: there is a button to delete with", test.match, test.time)
		}
		checkHarmless(t, p.b, test.match)
	}
	p.deleteOf(t, "", "")
	eval[bool](t, p.b, `document.querySelector('.cm-content').focus(), true`)
	p.b.do(t, "type a selector", chromedp.KeyEvent("kept\r"))
	p.b.wait(t, `document.querySelector('[aria-label="Series that are named"]')?.textContent.includes('1 series of 1 metric')`)
}

// deleteOf opens the page that deletes.
func (p *pageTest) deleteOf(t *testing.T, match, time string) {
	t.Helper()
	p.b.open(t, p.base+"#/delete?match="+url.QueryEscape(match)+"&"+time)
	p.b.wait(t, `document.querySelector('[aria-label="What to delete"]')`)
}

// confirm types a text where a deletion is confirmed.
func (p *pageTest) confirm(t *testing.T, text string) {
	t.Helper()
	p.b.wait(t, `document.querySelector('[aria-label=Confirm] input[type=text]')?.disabled === false`)
	eval[bool](t, p.b, `(i => { i.focus(); i.select(); })(document.querySelector('[aria-label=Confirm] input[type=text]')), true`)
	p.b.do(t, "type "+text, chromedp.KeyEvent(text))
	p.b.wait(t, fmt.Sprintf(`document.querySelector('[aria-label=Confirm] input[type=text]').value === %q`, text))
}

// Without --web.enable-admin-api series are counted, and the page shows why they are not deleted.
func TestPageDeleteReadOnly(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	feedDeletes(t, a)
	b := startBrowser(t)
	p := &pageTest{b: b, base: a.base + "/"}
	p.deleteOf(t, "gone", "")
	b.wait(t, `document.querySelector('[aria-label=Confirm]')?.textContent.includes('--web.enable-admin-api')`)
	if !eval[bool](t, b, `[...document.querySelectorAll('[aria-label=Confirm] input, [aria-label=Confirm] button')].every(e => e.disabled)`) {
		t.Error("something can be changed")
	}
	b.picture(t, "delete-readonly")
	b.checkAxe(t, "delete, read-only")
	if r, err := a.do(t.Context(), http.MethodPost, "/api/v1/admin/tsdb/delete_series?match[]=gone", nil, nil); err != nil || r.status < 400 {
		t.Errorf("%v %v, want a refusal", r, err)
	}
}
