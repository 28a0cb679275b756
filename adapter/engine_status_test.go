package adapter

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// The embedded store tells of its levels and files.
func TestEngineStatus(t *testing.T) {
	o := storeTestOptions(t, storage.WriteThrough)
	a, stop := runAdapter(t, o)
	defer stop()
	status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+enginePath, nil)
	var x struct{ Data engineAnswer }
	if err := json.Unmarshal([]byte(body), &x); err != nil || status != http.StatusOK {
		t.Fatal(status, body)
	}
	e := x.Data.Embedded
	if x.Data.Engine != EngineEmbedded || e == nil || x.Data.HBase != nil || len(e.Levels) != 7 || e.DiskBytes == 0 || e.FreeBytes == 0 || e.Path != o.Path || e.RefusesWrites {
		t.Error(body)
	}
}
