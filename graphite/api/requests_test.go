package api

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// TestRequests sends the requests of testdata/requests. A file begins with an empty store.
//
//	points            carbon lines
//	series            a label set a line: key=value, blanks between
//	limits series=N   the limits of the API from here on
//	get               a URL a line
//	post url=/x       a form
//	send method=PUT   a URL a line
func TestRequests(t *testing.T) {
	datadriven.Walk(t, "testdata/requests", func(t *testing.T, file string) {
		w := newWeb(t, func(o *Options) {
			var err error
			if o.Schemas, err = conf.ParseSchemas("storage-schemas.conf", "[all]\npattern = .*\nretentions = 10s:5y\n"); err != nil {
				t.Fatal(err)
			}
		})
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "points":
				w.Add(t, strings.NewReader(d.Input))
				return ""
			case "series":
				for line := range strings.Lines(d.Input) {
					w.AddLabels(t, readLabels(line))
				}
				return ""
			case "limits":
				w.api.o.Limits.Nodes, w.api.o.Limits.Series, w.api.o.Limits.Targets = 0, 0, 0
				d.MaybeScanArgs(t, "nodes", &w.api.o.Limits.Nodes)
				d.MaybeScanArgs(t, "series", &w.api.o.Limits.Series)
				d.MaybeScanArgs(t, "targets", &w.api.o.Limits.Targets)
				w.mount()
				return ""
			case "post":
				var url string
				d.ScanArgs(t, "url", &url)
				return show(w.post(url, strings.ReplaceAll(d.Input, "\n", "&")))
			}
			method, accept := http.MethodGet, ""
			d.MaybeScanArgs(t, "method", &method)
			d.MaybeScanArgs(t, "accept", &accept)
			var out strings.Builder
			for url := range strings.Lines(d.Input) {
				r := httptest.NewRequest(method, strings.ReplaceAll(strings.TrimSpace(url), " ", "%20"), nil)
				if accept != "" {
					r.Header.Set("Accept", accept)
				}
				out.WriteString(show(w.do(r)))
			}
			return out.String()
		})
	})
}

func readLabels(line string) labels.Labels {
	pairs := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(field, "=")
		pairs[key] = value
	}
	return labels.FromMap(pairs)
}

// show is status, type and body, with \r for carriage returns, which a file of test data would lose. Of a
// picture it is the size.
func show(r *httptest.ResponseRecorder) string {
	kind := strings.TrimSuffix(strings.TrimPrefix(r.Header().Get("Content-Type"), "application/"), "; charset=utf-8")
	if config, err := png.DecodeConfig(bytes.NewReader(r.Body.Bytes())); err == nil {
		return fmt.Sprintf("%d %s %d x %d\n", r.Code, kind, config.Width, config.Height)
	}
	body := strings.ReplaceAll(strings.TrimSuffix(r.Body.String(), "\n"), "\r", `\r`)
	return fmt.Sprintf("%d %s %s\n", r.Code, kind, body)
}
