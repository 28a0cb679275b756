package log_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// fill appends until the log is full and returns the positions.
func fill(t *testing.T, l *log.Log) (at []log.Position) {
	t.Helper()
	for {
		p, err := l.Append(t.Context(), make([]byte, 200))
		if errors.Is(err, log.ErrFull) {
			return at
		}
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, p)
	}
}

// TestMaxBytes fills the log, finds all of it, frees space and continues, without ever exceeding
// the limit.
func TestMaxBytes(t *testing.T) {
	disk := logtest.New(1)
	opts := marked(disk)
	opts.MaxBytes = 5000
	l := open(t, opts)
	var from log.Position
	for range 5 {
		at := fill(t, l)
		if len(at) < 8 || l.Size() > opts.MaxBytes || used(t, disk) != l.Size() {
			t.Fatalf("%d records in %d bytes (on the disk %d), limit %d", len(at), l.Size(), used(t, disk), opts.MaxBytes)
		}
		opts.FS = disk.Crash(1)
		entries, err := replay(t, open(t, opts), from)
		if err != nil || entries[len(entries)-1].at != at[len(at)-1] {
			t.Fatalf("replayed %d records, %v", len(entries), err)
		}
		from = l.End()
		if err := l.Truncate(from); err != nil {
			t.Fatal(err)
		}
	}
	// Spare files that are too small for this one are removed.
	add(t, l, make([]byte, 2000))
	if l.Size() > opts.MaxBytes || used(t, disk) != l.Size() {
		t.Errorf("%d bytes (on the disk %d), limit %d", l.Size(), used(t, disk), opts.MaxBytes)
	}
}

// used returns the bytes of all files.
func used(t *testing.T, disk *logtest.Disk) (size int64) {
	t.Helper()
	names, err := disk.List("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		size += int64(len(disk.Bytes("log/" + name)))
	}
	return size
}

// TestDiskFull runs out of blocks, with segments that are reserved in full and with segments that
// are not, and continues.
func TestDiskFull(t *testing.T) {
	for name, op := range map[string]logtest.Op{"create": logtest.OpCreate, "write": logtest.OpWrite} {
		t.Run(name, func(t *testing.T) {
			disk := logtest.New(1)
			var full bool
			disk.SetBefore(func(called logtest.Op, _ string) error {
				if full && called == op {
					return syscall.ENOSPC
				}
				return nil
			})
			reg := prometheus.NewRegistry()
			opts := marked(disk)
			opts.Registerer = reg
			l := open(t, opts)
			var at []log.Position
			for range 3 {
				at = append(at, add(t, l, make([]byte, 700)))
				full = true
				for range 30 {
					if _, err := l.Append(t.Context(), make([]byte, 700)); !errors.Is(err, log.ErrFull) {
						t.Fatalf("Append on a full disk = %v, want ErrFull", err)
					}
				}
				full = false
			}
			if l.Size() > 4*opts.SegmentBytes {
				t.Errorf("failed appends have left %d bytes", l.Size())
			}
			entries, err := replay(t, open(t, marked(disk.Crash(1))), log.Position{})
			if err != nil || len(entries) != len(at) {
				t.Errorf("replayed %d records, %v; want %d", len(entries), err, len(at))
			}
			if n := value(t, reg, "tsdbridge_log_errors_total", "full"); n != 90 {
				t.Errorf("%v errors of kind full, want 90", n)
			}
		})
	}
}

// value returns a counter with one label.
func value(t *testing.T, reg *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && metric.GetLabel()[0].GetValue() == label {
				return metric.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no %s{%s}", name, label)
	return 0
}

// TestFailedSync never writes again to a file whose fdatasync failed, and keeps what was
// acknowledged before and after.
func TestFailedSync(t *testing.T) {
	disk, m := logtest.New(3), newModel()
	ruined, syncs := map[string]bool{}, 0
	disk.SetBefore(func(op logtest.Op, name string) error {
		switch {
		case op == logtest.OpSyncData:
			if syncs++; syncs%5 == 0 || syncs > 40 && syncs < 60 {
				ruined[name] = true
				return errInjected
			}
		case (op == logtest.OpWrite || op == logtest.OpAllocate) && ruined[name]:
			t.Errorf("%s %s after a failed sync", op, name)
		}
		return nil
	})
	l := open(t, marked(disk))
	for range 100 {
		if err := m.add(t, l); err != nil && !errors.Is(err, errInjected) {
			t.Fatal(err)
		}
	}
	if len(m.acked) < 60 {
		t.Fatalf("%d of 100 records acknowledged", len(m.acked))
	}
	disk.SetBefore(nil)
	m.check(t, open(t, marked(disk.Crash(1))))
}

// TestMetrics checks the metrics of what was written.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	opts := marked(logtest.New(1))
	opts.Registerer = reg
	l := open(t, opts)
	for range 4 {
		add(t, l, make([]byte, 84))
	}
	want := `
# HELP tsdbridge_log_appends_total Records written and synced.
# TYPE tsdbridge_log_appends_total counter
tsdbridge_log_appends_total 4
# HELP tsdbridge_log_written_bytes_total Bytes of records written and synced, with their headers.
# TYPE tsdbridge_log_written_bytes_total counter
tsdbridge_log_written_bytes_total 400
# HELP tsdbridge_log_groups_total Groups of records written and synced together.
# TYPE tsdbridge_log_groups_total counter
tsdbridge_log_groups_total 4
# HELP tsdbridge_log_segments Files of the log that hold records or are ready to.
# TYPE tsdbridge_log_segments gauge
tsdbridge_log_segments 1
# HELP tsdbridge_log_size_bytes Bytes that the files of the log take, reserved ones included.
# TYPE tsdbridge_log_size_bytes gauge
tsdbridge_log_size_bytes 1024
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tsdbridge_log_appends_total", "tsdbridge_log_written_bytes_total",
		"tsdbridge_log_groups_total", "tsdbridge_log_segments", "tsdbridge_log_size_bytes"); err != nil {
		t.Error(err)
	}
}
