package status_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// What the answers have.
type (
	share struct {
		Name, Label string
		Series      int
	}
	shares struct{ ByMetric, ByLabel, ByValue []share }
	growth struct {
		shares

		Known                       bool
		Series, Unknown, Registered int
		From, To                    string
		Days                        []struct {
			Day    string
			Series int
		}
	}
	silence struct {
		shares

		Known                 bool
		Series, Silent, Never int
		Examples              []struct {
			Labels map[string]string
			Last   string
		}
	}
)

// Series are counted by the day of their registration, over restarts, and those without points are found.
func TestGrowth(t *testing.T) {
	o := adaptertest.Options(t, write.Through)
	today := time.Now().UTC()
	a, stop := adaptertest.Run(t, o)
	add := func(job string, at time.Time) {
		t.Helper()
		refs, errs := a.Store().Resolve(t.Context(), []storage.Series{{Metric: "up", Tags: []storage.Tag{{Key: "job", Value: job}}}})
		if errs != nil {
			t.Fatal(errs)
		}
		var batch storage.Batch
		if at.IsZero() {
			return
		}
		batch.Add(refs[0], at.UnixMilli(), 1)
		if err := a.Store().Append(t.Context(), &batch); err != nil {
			t.Fatal(err)
		}
	}
	add("new", today)
	add("old", today.AddDate(0, 0, -20))
	add("never", time.Time{})
	get := func(path string, data any) {
		t.Helper()
		status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+path, nil)
		if err := json.Unmarshal([]byte(body), &struct{ Data any }{data}); err != nil || status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	for range 2 {
		var g growth
		get("/api/v1/status/growth"+"?days=2", &g)
		last := g.Days[len(g.Days)-1]
		if g.Days[0].Series > 0 && g.Days[0].Series+last.Series == 3 {
			t.Skip("it is midnight")
		}
		if !g.Known || g.Series != 3 || len(g.Days) != 2 || last.Series != 3 || g.Unknown != 0 || g.Registered != 3 || g.From != g.To || last.Day != g.To {
			t.Errorf("%+v", g)
		}
		if len(g.ByMetric) != 1 || g.ByMetric[0] != (share{Name: "up", Series: 3}) || g.ByLabel[0].Name != "job" || len(g.ByValue) != 3 || g.ByValue[0].Label != "job" {
			t.Errorf("%+v", g)
		}
		get("/api/v1/status/growth"+"?from=2000-01-01&to=2000-01-31", &g)
		if g.Registered != 0 || len(g.Days) != 30 {
			t.Errorf("%+v", g)
		}
		var s silence
		get("/api/v1/status/silent", &s)
		if !s.Known || s.Series != 3 || s.Silent != 2 || s.Never != 1 || len(s.Examples) != 2 || s.ByMetric[0].Series != 2 {
			t.Errorf("%+v", s)
		}
		for _, e := range s.Examples {
			if (e.Last == "") != (e.Labels["job"] == "never") || e.Labels["__name__"] != "up" {
				t.Errorf("%+v", e)
			}
		}
		stop()
		a, stop = adaptertest.Run(t, o)
	}
	defer stop()
	for _, bad := range []string{"/api/v1/status/growth" + "?days=0", "/api/v1/status/growth" + "?from=x", "/api/v1/status/growth" + "?to=1969-01-01", "/api/v1/status/growth" + "?limit=100000", "/api/v1/status/silent" + "?days=x", "/api/v1/status/silent" + "?limit=-1"} {
		if status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+bad, nil); status != http.StatusBadRequest || !strings.Contains(body, "=") {
			t.Error(bad, status, body)
		}
	}
}
