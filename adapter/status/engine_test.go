package status_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// The embedded store tells of its levels and files.
func TestEngineStatus(t *testing.T) {
	o := adaptertest.Options(t, write.Through)
	a, stop := adaptertest.Run(t, o)
	defer stop()
	status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+"/api/v1/status/engine", nil)
	var x struct {
		Data struct {
			Engine   string
			Embedded *struct {
				Levels               []any
				DiskBytes, FreeBytes uint64
				Path                 string
				RefusesWrites        bool
			}
			HBase any
		}
	}
	if err := json.Unmarshal([]byte(body), &x); err != nil || status != http.StatusOK {
		t.Fatal(status, body)
	}
	e := x.Data.Embedded
	if x.Data.Engine != tables.EngineEmbedded || e == nil || x.Data.HBase != nil || len(e.Levels) != 7 || e.DiskBytes == 0 || e.FreeBytes == 0 || e.Path != o.Path || e.RefusesWrites {
		t.Error(body)
	}
}
