package backups

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/storage"
)

// What is recorded of backups is in the metrics: when the last one was made, when one was found whole, and how many are damaged. A
// verification counts until the backup is made anew.
func TestTimes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := Record{Store: t.TempDir(), Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)}
	whole, damaged := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "damaged")
	for _, dir := range []string{whole, damaged} {
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		r.Note(Backup, dir, "", now)
	}
	now = now.Add(time.Hour)
	if err := r.NoteVerified(t.Context(), whole+"/", now, 1, nil); err != nil {
		t.Error(err)
	}
	if err := r.NoteVerified(t.Context(), damaged, now, 1, fmt.Errorf("MANIFEST: %w", storage.ErrDamaged)); err != nil {
		t.Error(err)
	}
	var times Times
	times.read(r)
	if made, verified, damaged := times.made.Load(), times.verified.Load(), times.damaged.Load(); made != 1_700_000_000e9 || verified != now.UnixNano() || damaged != 1 {
		t.Error(made, verified, damaged)
	}
	now = now.Add(time.Hour)
	r.Note(Backup, whole, "", now)
	times.read(r)
	if made, verified := times.made.Load(), times.verified.Load(); made != now.UnixNano() || verified != 0 {
		t.Error("a later backup is verified by a verification before it", made, verified)
	}
	registry := prometheus.NewRegistry()
	times.Register(registry)
	if n, err := testutil.GatherAndCount(registry); n != 3 || err != nil {
		t.Error(n, err)
	}
}
