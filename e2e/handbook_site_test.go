package e2e_test

import (
	"strconv"
	"strings"
	"testing"
)

// TestHandbookSite reads the handbook in a real browser, below a prefix and with a strict policy: the contents, the
// pictures, the search.
func TestHandbookSite(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, "--web.external-url=http://example.org/tsdb/")
	b := startBrowser(t)
	b.open(t, a.base+"/tsdb/docs")
	b.wait(t, `document.querySelector('nav a[href="trees.html"]') && !document.querySelector('form[role=search]').hidden`)
	b.picture(t, "handbook")
	if wide := eval[bool](t, b, `document.documentElement.scrollWidth > innerWidth`); wide {
		t.Error("the front page is wider than the window")
	}
	b.open(t, eval[string](t, b, `document.querySelector('nav a[href="trees.html"]').href`))
	b.wait(t, `document.querySelector('h1')?.textContent === 'Trees' && [...document.images].length > 2 && [...document.images].every((i) => i.complete && i.naturalWidth > 0)`)
	b.picture(t, "handbook-trees")
	b.wait(t, `(() => { const box = document.querySelector('input[type=search]'); box.focus(); box.value = 'password tls'; box.dispatchEvent(new Event('input')); return true })()`)
	b.wait(t, `document.querySelector('#found a')?.getAttribute('href').startsWith('security.html')`)
	if marked := eval[string](t, b, `document.querySelector('#found mark').textContent`); !strings.HasPrefix(strings.ToLower(marked), "password") {
		t.Errorf("the search marks %q", marked)
	}
	b.open(t, eval[string](t, b, `document.querySelector('#found a').href`))
	b.wait(t, `document.querySelector('h1')?.textContent === 'Security'`)
	checkQuestions(t, b)
	for _, page := range []string{"index.html", "statuses.html", "flags.html", "trees.html"} {
		b.open(t, a.base+"/tsdb/docs/"+page)
		checkAccessible(t, b, "handbook-"+page)
	}
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}

// checkQuestions asks the search as readers do who do not know the handbook's words. The answer is among the first five.
func checkQuestions(t *testing.T, b *browser) {
	t.Helper()
	for question, page := range map[string]string{
		"are samples accepted out of order?":     "faq.html#can-i-write-samples-of-last-year-or-out-of-order",
		"remote write password":                  "faq.html#how-does-prometheus-give-the-password",
		"how much memory for 2 million series":   "operating.html#memory",
		"storage-aggregation.conf xFilesFactor":  "faq.html#what-are-storage-schemasconf-and-storage-aggregationconf-for-then",
		"my carbon metric does not arrive":       "faq.html#my-points-do-not-arrive",
		"more than 8 tags":                       "faq.html#8-tags-are-too-few",
		"tsd and tsdbridge write the same point": "sharing.html#which-of-two-writes-stays",
		"how do I expire old data on hbase":      "faq.html#how-do-i-delete-old-data",
		"liveness probe with a password":         "monitoring.html#probes",
		"k8s backup":                             "faq.html#how-do-i-make-a-backup-in-kubernetes",
		"what happens when hbase is down":        "faq.html#hbase-is-away",
		"downgrade":                              "install.html#going-back",
		"what happens when the disk is full":     "faq.html#the-disk-is-full",
		"is there multi-tenancy":                 "faq.html#are-there-tenants-multi-tenancy",
		"vmalert replacement":                    "faq.html#do-i-need-vmalert-or-a-ruler",
		"graph shows gaps for hourly points":     "faq.html#a-graph-has-gaps-because-points-come-seldom",
		"how to take my data back to Prometheus": "faq.html#how-do-i-take-my-data-back-to-prometheus",
		"how to mirror all data":                 "faq.html#how-do-i-mirror-everything-to-another-server",
		"move from HBase to local disk":          "faq.html#how-do-i-move-from-hbase-to-a-local-disk-or-back",
		"backfill a recording rule":              "rules.html#filling-a-new-recording-rule-for-the-past",
		"federate":                               "prometheus.html#federation",
	} {
		b.wait(t, `(() => { const box = document.querySelector('input[type=search]'); box.value = `+strconv.Quote(question)+`; box.dispatchEvent(new Event('input')); return true })()`)
		b.wait(t, `[...document.querySelectorAll('#found a')].slice(0, 5).some((a) => a.getAttribute('href') === `+strconv.Quote(page)+`)`)
	}
	b.wait(t, `(() => { const box = document.querySelector('input[type=search]'); box.value = 'xyzzy'; box.dispatchEvent(new Event('input')); return true })()`)
	b.wait(t, `document.querySelector('#found').textContent === 'Nothing was found.'`)
}
