package log_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// TestLossesAreReported damages a killed log of several segments, some truncated, in every way that leaves
// fewer records: Open reports each loss with the name of the file, and changes nothing.
func TestLossesAreReported(t *testing.T) {
	disk := logtest.New(1)
	l := open(t, marked(disk))
	var last, cut log.Position
	ends := map[string]int64{} // by file
	for n := range 60 {
		record := fmt.Appendf(nil, "record %d %s", n, strings.Repeat("x", n*13%90))
		if last = add(t, l, record); n == 25 {
			cut = last
		}
		ends[segmentName(last.Segment)] = endOf(entry{last, record})
	}
	if err := l.Truncate(cut); err != nil {
		t.Fatal(err)
	}
	if cut.Segment < 2 || last.Segment < cut.Segment+2 {
		t.Fatalf("truncated to %v, ends at %v", cut, last)
	}
	whole := func() *logtest.Disk { return disk.Kill(1) }
	if got := open(t, marked(whole())); got.End() != l.End() {
		t.Fatalf("undamaged: ends at %v, want %v", got.End(), l.End())
	}
	var cases []func(d *logtest.Disk) string
	for number := cut.Segment; number <= last.Segment; number++ {
		name := segmentName(number)
		cases = append(cases, func(d *logtest.Disk) string {
			mustRemove(t, d, name)
			return "removed " + name
		})
		for size := int64(0); size < ends[name]; size += 37 {
			cases = append(cases, func(d *logtest.Disk) string {
				d.Put(name, disk.Bytes(name)[:size])
				return fmt.Sprintf("%s cut to %d bytes", name, size)
			}, func(d *logtest.Disk) string {
				b := slices.Clone(disk.Bytes(name))
				b[size] ^= 4
				d.Put(name, b)
				return fmt.Sprintf("%s changed at byte %d", name, size)
			})
		}
	}
	cases = append(cases, func(d *logtest.Disk) string {
		for number := cut.Segment; number <= last.Segment; number++ {
			mustRemove(t, d, segmentName(number))
		}
		return "all removed"
	})
	for _, damage := range cases {
		d := whole()
		what := damage(d)
		before := recordsOf(d, ends)
		if err := openAndReplay(t, d); !errors.Is(err, log.ErrCorrupt) || !strings.Contains(err.Error(), "log/") {
			t.Errorf("%s: %v, want ErrCorrupt with the name of a file", what, err)
		}
		if recordsOf(d, ends) != before {
			t.Errorf("%s: files were changed", what)
		}
	}
}

func openAndReplay(t *testing.T, d *logtest.Disk) error {
	t.Helper()
	l, err := log.Open(marked(d))
	if err != nil {
		return err
	}
	_, err = replay(t, l, log.Position{})
	return errors.Join(err, l.Close())
}

func mustRemove(t *testing.T, d *logtest.Disk, name string) {
	t.Helper()
	if err := d.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// recordsOf returns the content of the files up to their ends; reserved space after them may be
// given back.
func recordsOf(d *logtest.Disk, ends map[string]int64) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		bytes := d.Bytes(name)
		fmt.Fprintf(&b, "%s %x\n", name, bytes[:min(int64(len(bytes)), ends[name])])
	}
	return b.String()
}

// TestRandomLossesAreReported appends, truncates and opens again at random, with kills and power failures in
// between. These cause no report of a loss; removing one file with acknowledged records always
// does.
func TestRandomLossesAreReported(t *testing.T) {
	for seed := range uint64(60) {
		rng, m := rand.New(rand.NewPCG(seed, 1)), newModel()
		disk := logtest.New(seed)
		for range 6 {
			l, err := log.Open(marked(disk))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			m.check(t, l)
			for range rng.IntN(40) {
				if err := m.add(t, l); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if rng.IntN(10) == 0 {
					if err := l.Truncate(log.Position{Segment: l.End().Segment}); err != nil {
						t.Fatal(err)
					}
					m.from = log.Position{Segment: max(m.from.Segment, l.End().Segment)}
				}
			}
			if l.End().Offset > 64 && l.End().Compare(m.from) > 0 {
				gone := disk.Kill(seed)
				mustRemove(t, gone, segmentName(l.End().Segment))
				if err := openAndReplay(t, gone); !errors.Is(err, log.ErrCorrupt) {
					t.Fatalf("seed %d: last segment removed: %v, want ErrCorrupt", seed, err)
				}
			}
			if rng.IntN(2) == 0 {
				disk = disk.Crash(seed)
			} else {
				disk = disk.Kill(seed)
			}
		}
	}
}

// TestUnmark: the regular removal of a log is not reported as a loss.
func TestUnmark(t *testing.T) {
	disk := logtest.New(1)
	l := open(t, marked(disk))
	add(t, l, []byte("record"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if marked, err := log.Marked(disk, "log.mark"); !marked || err != nil {
		t.Errorf("Marked = %v, %v, want true", marked, err)
	}
	if err := log.Unmark(disk, "log.mark"); err != nil {
		t.Fatal(err)
	}
	if marked, err := log.Marked(disk, "log.mark"); marked || err != nil {
		t.Errorf("Marked after Unmark = %v, %v, want false", marked, err)
	}
	mustRemove(t, disk, segmentName(1))
	open(t, marked(disk))
}
