package e2e_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
)

// What any door refuses is on the page, with its protocol, its reason and what was sent, as text.
func TestPageRefused(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon, "--opentsdb.listen-address=127.0.0.1:0")
	name, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	isJSON := map[string]string{"Content-Type": "application/json"}
	a.Write(t, prompb.TimeSeries{
		Labels:  []prompb.Label{{Name: "__name__", Value: "twice"}, {Name: "l", Value: hostile}, {Name: "l", Value: hostile}},
		Samples: []prompb.Sample{{Value: 1, Timestamp: time.Now().UnixMilli()}},
	})
	a.Post(t, "/api/v1/otlp/v1/metrics", isJSON, fmt.Appendf(nil, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":%s,"sum":{"dataPoints":[{"timeUnixNano":"%d","asDouble":1}]}}]}]}]}`, name, time.Now().UnixNano()))
	a.Post(t, "/api/v1/import/openmetrics", nil, []byte(hostile+" 1\n"))
	sendCarbon(t, "tcp", a.carbonAddr(t), "refused "+hostile+"\n")
	sendCarbon(t, "tcp", a.opentsdbAddr(t), "put "+hostile+" nonsense 1 a=b\n")
	tsd := client{http: a.http, base: "http://" + a.opentsdbAddr(t)}
	tsd.Post(t, "/api/put", isJSON, fmt.Appendf(nil, `[{"metric":%s,"timestamp":1,"value":"x","tags":{"a":"b"}}]`, name))

	b := startBrowser(t)
	b.open(t, a.base+"/#/status")
	for _, door := range []string{"remote write", "otlp", "import text", "carbon", "opentsdb telnet", "opentsdb http"} {
		b.wait(t, fmt.Sprintf(`[...document.querySelectorAll('[aria-label="Refused samples"] tbody tr')].some(r => r.cells[1].textContent === %q && r.textContent.includes('onerror'))`, door))
	}
	checkHarmless(t, b, "refused lines")
	checkAccessible(t, b, "refused")
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("the console has %q", got)
	}
}
