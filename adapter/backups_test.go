package adapter

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A verification is recorded beside the backup, with what it found, and shown until the backup is made anew.
func TestBackupVerified(t *testing.T) {
	o := storeTestOptions(t, storage.WriteThrough)
	a, stop := runAdapter(t, o)
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
	a, stop = runAdapter(t, o)
	defer stop()
	_, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+backupsPath, nil)
	var answer struct{ Data backupsAnswer }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data.Backups) != 2 {
		t.Fatal(body, err)
	}
	if b := answer.Data.Backups[0]; b.Path != damaged || b.Verified == nil || !strings.Contains(b.Verified.Error, "MANIFEST") {
		t.Errorf("%+v", b)
	}
	if b := answer.Data.Backups[1]; b.Path != whole || b.Verified == nil || b.Verified.Error != "" || b.Verified.Bytes == 0 {
		t.Errorf("%+v", b)
	}
	var times backupTimes
	times.read(o)
	if v := times.verified.Load(); v == 0 || times.made.Load() == 0 || times.damaged.Load() != 1 {
		t.Error(v, times.made.Load(), times.damaged.Load())
	}
	// A backup that is made anew in the same place was not verified.
	later := answer.Data.Backups[1].madeBackup
	if later.At = later.At.AddDate(1, 0, 0); later.verified() != nil {
		t.Error("a later backup is verified by a verification before it")
	}
	if n, err := testutil.GatherAndCount(a.registry, "tsdbridge_backup_damaged", "tsdbridge_backup_last_verified_timestamp_seconds"); n != 2 || err != nil {
		t.Error(n, err)
	}
}

// Backups are recorded, over restarts; requests of imports are counted.
func TestBackupsAndTransfers(t *testing.T) {
	o := storeTestOptions(t, storage.WriteThrough)
	a, stop := runAdapter(t, o)
	if status, body := promtest.Do(t, http.MethodPost, "http://"+a.Addr()+snapshotPath, nil); status != http.StatusOK {
		t.Fatal(status, body)
	}
	post(t, "http://"+a.Addr()+"/api/v1/admin/import/opentsdb", "application/octet-stream", "nonsense") // what is wrong with it is in the answer
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
	a, stop = runAdapter(t, o)
	defer stop()
	status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+backupsPath, nil)
	if status != http.StatusOK || !strings.Contains(body, `"recorded":true`) || strings.Count(body, `"there":true`) != 2 || !strings.Contains(body, `"kind":"snapshot"`) || !strings.Contains(body, dir) || strings.Contains(body, `"bytes":0,`) {
		t.Error(status, body)
	}
}
