package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
)

// Status shows how far the destinations of remote_write are and what they do not get, and which replica of each HA pair
// is stored.
func TestPageForward(t *testing.T) {
	needE2E(t)
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer refuses.Close()
	fails := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer fails.Close()
	dir := t.TempDir()
	writeFile(t, dir, "us.yml", fmt.Sprintf(`remote_write:
- {url: %q, name: refuses, queue_config: {batch_send_deadline: 100ms}}
- {url: %q, name: %q, queue_config: {batch_send_deadline: 100ms}}
`, refuses.URL, fails.URL, hostile))
	a := startAdapter(t, "--config.file="+filepath.Join(dir, "us.yml"), "--write.dedup.cluster-label=cluster", "--write.dedup.replica-label=__replica__")
	for _, replica := range []string{hostile, "b"} {
		a.Write(t, prompb.TimeSeries{
			Labels:  []prompb.Label{{Name: "__name__", Value: "m"}, {Name: "__replica__", Value: replica}, {Name: "cluster", Value: "one" + hostile}},
			Samples: []prompb.Sample{{Value: 1, Timestamp: time.Now().UnixMilli()}},
		})
	}
	b := startBrowser(t)
	b.open(t, a.base+"/#/status")
	row := `[...document.querySelectorAll('[aria-label="Sent on"] tbody tr')].find(r => r.textContent.includes(%q))`
	b.wait(t, fmt.Sprintf(row, "refuses")+`?.querySelector('.bad')?.textContent === 'refused: 1'`)
	b.wait(t, fmt.Sprintf(row, "onerror")+`?.cells[1].textContent.match(/^\d+ s/) && `+fmt.Sprintf(row, "onerror")+`.cells[6].textContent === 'none'`)
	b.wait(t, `(r => r && r.cells[0].textContent.startsWith('one<img') && r.cells[1].textContent.startsWith('<img') && r.cells[4].textContent === '1')(document.querySelector('[aria-label="HA pairs"] tbody tr'))`)
	checkHarmless(t, b, "destinations and pairs")
	checkAccessible(t, b, "forward")
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}
