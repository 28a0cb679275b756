package pipeline

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
)

// write makes a file, each time with another stamp.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNamesOfCarbon: lists drop points, which are counted and are no refusals; rules rename them; a rule
// that takes too long refuses them.
func TestNamesOfCarbon(t *testing.T) {
	dir := t.TempDir()
	d := newIngestDoor(t, 1, func(o *sinkOptions) {
		var err error
		o.Names, err = newRules(nameFiles{
			Whitelist: write(t, filepath.Join(dir, "white"), "^servers\\.\n^slow"),
			Blacklist: write(t, filepath.Join(dir, "black"), "tmp$\n(bad"),
			Rewrites:  write(t, filepath.Join(dir, "rules"), "[pre]\n^servers\\.(\\w+) = hosts.\\1\n^slow(a*)*(a*)*(a*)*(a*)*b = x\n[post]\n_ = -\n"),
		}, o.Logger)
		if err != nil {
			t.Fatal(err)
		}
	})
	points := []carbon.Point{}
	for _, name := range []string{"servers.web_01.cpu", "servers.web_01.tmp", "other.cpu", "servers.a", "slow" + strings.Repeat("a", 5000)} {
		points = append(points, carbon.Point{Name: []byte(name), Time: 1741059000, Value: 1})
	}
	for range 2 {
		if err := d.Write(t.Context(), points); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"hosts.web-01.cpu 1@1741059000000", "hosts.a 1@1741059000000", "hosts.web-01.cpu 1@1741059000000", "hosts.a 1@1741059000000"}
	if diff := cmp.Diff(want, d.store.points); diff != "" {
		t.Error(diff)
	}
	black, white := testutil.ToFloat64(d.filtered.black), testutil.ToFloat64(d.filtered.white)
	received, _, rejected, _ := d.counts()
	if black != 2 || white != 2 || received != 6 || rejected != 2 {
		t.Errorf("%v points in the blacklist, %v not in the whitelist, %v received, %v rejected", black, white, received, rejected)
	}
	if text := d.log.String(); !strings.Contains(text, "black:2") || !strings.Contains(text, flagRewrites) && !strings.Contains(text, "points refused") {
		t.Errorf("log:\n%s", text)
	}
}

// TestNamesAreReadAgain: changed files hold after a while; what cannot be read leaves the old rules.
func TestNamesAreReadAgain(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "black"), "a")
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		r, err := newRules(nameFiles{Blacklist: path}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		changes := 0
		ended := make(chan error, 1)
		go func() { ended <- r.watch(ctx, func() { changes++ }) }()
		step := func(change func(), wantDropped string, wantChanges int) {
			t.Helper()
			change()
			time.Sleep(namesEvery + time.Millisecond)
			synctest.Wait()
			for _, name := range []string{"a", "bb"} {
				if _, _, err := r.Of(name); (err != nil) != (name == wantDropped) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if changes != wantChanges {
				t.Errorf("%d changes, want %d", changes, wantChanges)
			}
		}
		step(func() {}, "a", 0)
		step(func() { write(t, path, "bb") }, "bb", 1)
		step(func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "bb", 1)
		step(func() { write(t, path, "a  ") }, "a", 2)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if strings.Count(log.String(), "cannot be read again") != 1 {
			t.Errorf("log:\n%s", log.String())
		}
	})
}

// TestNamesWithoutFiles: a file that is named must be there.
func TestNamesWithoutFiles(t *testing.T) {
	if _, err := newRules(nameFiles{Rewrites: filepath.Join(t.TempDir(), "none")}, slog.Default()); err == nil || !strings.HasPrefix(err.Error(), flagRewrites) {
		t.Errorf("err = %v", err)
	}
	r, err := newRules(nameFiles{}, slog.Default())
	if r != nil || err != nil {
		t.Error(r, err)
	}
	if pre, name, err := r.Of("a"); pre != "a" || name != "a" || err != nil {
		t.Error(pre, name, err)
	}
}
