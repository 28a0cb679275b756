package adapter

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Backups are recorded, over restarts; requests of imports are counted.
func TestBackupsAndTransfers(t *testing.T) {
	o := storeTestOptions(t, storage.WriteThrough)
	a, stop := runAdapter(t, o)
	if status, body := promtest.Do(t, http.MethodPost, "http://"+a.Addr()+snapshotPath, nil); status != http.StatusOK {
		t.Fatal(status, body)
	}
	post(t, "http://"+a.Addr()+importPath, "application/octet-stream", "nonsense") // what is wrong with it is in the answer
	_, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+transfersPath, nil)
	if !strings.Contains(body, `"kind":"import","client":"127.0.0.1"`) || !strings.Contains(body, `"requests":1,"failedRequests":0,"receivedBytes":8,`) || !strings.Contains(body, `"running":true`) {
		t.Error(body)
	}
	stop()
	dir := filepath.Join(t.TempDir(), "copy")
	var out strings.Builder
	if err := Backup(t.Context(), o, StoreOptions{Dir: dir}, &out); err != nil {
		t.Fatal(err)
	}
	a, stop = runAdapter(t, o)
	defer stop()
	status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+backupsPath, nil)
	if status != http.StatusOK || !strings.Contains(body, `"recorded":true`) || strings.Count(body, `"there":true`) != 2 || !strings.Contains(body, `"kind":"snapshot"`) || !strings.Contains(body, dir) || strings.Contains(body, `"bytes":0,`) {
		t.Error(status, body)
	}
}
