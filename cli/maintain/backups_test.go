package maintain

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/backups"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// A verification is recorded beside the backup, with what it found, and shown.
func TestBackupVerified(t *testing.T) {
	o := adaptertest.Options(t, write.Through)
	a, stop := adaptertest.Run(t, o)
	stop()
	_ = a
	whole, damaged := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "damaged")
	for _, dir := range []string{whole, damaged} {
		if err := Backup(t.Context(), o, StoreOptions{Dir: dir}, &strings.Builder{}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(filepath.Join(damaged, "MANIFEST-*"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	if err := os.Truncate(found[0], 1); err != nil {
		t.Fatal(err)
	}
	if err := VerifyBackup(t.Context(), o, StoreOptions{Dir: whole + "/"}, &strings.Builder{}); err != nil {
		t.Error(err)
	}
	if err := VerifyBackup(t.Context(), o, StoreOptions{Dir: damaged}, &strings.Builder{}); err == nil {
		t.Error("a damaged backup is whole")
	}
	a, stop = adaptertest.Run(t, o)
	defer stop()
	_, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+backups.Path, nil)
	var answer struct {
		Data struct {
			Backups []struct {
				Path     string
				Verified *struct {
					Bytes int64
					Error string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data.Backups) != 2 {
		t.Fatal(body, err)
	}
	if b := answer.Data.Backups[0]; b.Path != damaged || b.Verified == nil || !strings.Contains(b.Verified.Error, "MANIFEST") {
		t.Errorf("%+v", b)
	}
	if b := answer.Data.Backups[1]; b.Path != whole || b.Verified == nil || b.Verified.Error != "" || b.Verified.Bytes == 0 {
		t.Errorf("%+v", b)
	}
}

// Backups are recorded, over restarts; requests of imports are counted.
func TestBackupsAndTransfers(t *testing.T) {
	o := adaptertest.Options(t, write.Through)
	a, stop := adaptertest.Run(t, o)
	if status, body := promtest.Do(t, http.MethodPost, "http://"+a.Addr()+"/api/v1/admin/tsdb/snapshot", nil); status != http.StatusOK {
		t.Fatal(status, body)
	}
	resp, err := http.Post("http://"+a.Addr()+"/api/v1/admin/import/opentsdb", "application/octet-stream", strings.NewReader("nonsense"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() // what is wrong with the text is in the answer
	_, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+"/api/v1/status/transfers", nil)
	if !strings.Contains(body, `"kind":"import","client":"127.0.0.1"`) || !strings.Contains(body, `"requests":1,"failedRequests":0,"receivedBytes":8,`) || !strings.Contains(body, `"points":0,"refused":1,`) || !strings.Contains(body, `"running":true`) {
		t.Error(body)
	}
	stop()
	dir := filepath.Join(t.TempDir(), "copy")
	var out strings.Builder
	if err := Backup(t.Context(), o, StoreOptions{Dir: dir}, &out); err != nil {
		t.Fatal(err)
	}
	a, stop = adaptertest.Run(t, o)
	defer stop()
	status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+backups.Path, nil)
	if status != http.StatusOK || !strings.Contains(body, `"recorded":true`) || strings.Count(body, `"there":true`) != 2 || !strings.Contains(body, `"kind":"snapshot"`) || !strings.Contains(body, dir) || strings.Contains(body, `"bytes":0,`) {
		t.Error(status, body)
	}
}
