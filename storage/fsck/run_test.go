package fsck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

const rowKey = "00000150E22700000001000001"

// writer is a table into which another process writes just before a change is made.
type writer struct {
	*kv.Shared
	put func()
}

func (w *writer) ApplyUnchanged(ctx context.Context, table, family string, rows []kv.Conditional) ([]bool, error) {
	if put := w.put; put != nil {
		w.put = nil
		put()
	}
	return w.Shared.ApplyUnchanged(ctx, table, family, rows)
}

// A row that another process changes meanwhile is mended as it is then.
func TestMendBesideWriter(t *testing.T) {
	w := worlds(t)["shared"]
	db := &writer{Shared: w.db.(*kv.Shared)}
	w.db = db
	w.put(rowKey + " 0000=04 0001=0005")
	db.put = func() { w.put(rowKey + " 0003=00000006@8 0010=07@9") }
	if found, _ := w.run(Query{Tables: []string{TableData}, Fix: []Kind{Duplicate}}); len(found) != 1 || !strings.HasSuffix(found[0], "mended") {
		t.Errorf("found %v", found)
	}
	if diff := cmp.Diff([]string{rowKey + " 00030010=000000060700"}, w.rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// A row of a shared table that was written to a short time ago is left.
func TestQuiet(t *testing.T) {
	for name, w := range worlds(t) {
		w.put(fmt.Sprintf("%s 0000=04 0001=0005@%d", rowKey, now-60_000))
		w.put(fmt.Sprintf("00000A50E22700000001000001 0000=04@%d", now-60_000))
		found, report := w.run(Query{Tables: []string{TableData}, Fix: []Kind{Duplicate, UnknownUID}})
		want := int64(0)
		if name == "local" {
			want = 2
		}
		if _, mended := report.Tally.All(); mended != want || want == 0 && !strings.Contains(found[0], leftBusy) {
			t.Errorf("%s: %d mended, %v", name, mended, found)
		}
	}
}

// A metric that does not exist is an error.
func TestUnknownMetric(t *testing.T) {
	w := worlds(t)["local"]
	o := RunOptions{Query: Query{Metrics: []string{"none"}}, Parallel: 1, Now: time.Now}
	if _, err := Run(t.Context(), w.checker(), o); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// failing ends after some steps of each stretch.
type failing struct {
	*Checker
	steps atomic.Int64
}

var errKilled = errors.New("killed")

func (f *failing) Check(ctx context.Context, s Stretch, q Query, report func(Step) error) error {
	return f.Checker.Check(ctx, s, q, func(step Step) error {
		if f.steps.Add(-1) < 0 {
			return errKilled
		}
		return report(step)
	})
}

// A check that ends goes on where it was, with what it has found, and checks every row.
func TestResume(t *testing.T) {
	w := worlds(t)["local"]
	const rows = 5000
	w.put(rowKey + " 00=01")
	base := uint32(0x50E23510)
	for i := range uint32(rows - 1) {
		key := w.layout.AppendRowKey(nil, []byte{0, 0, 1, 0, 0, 1, 0, 0, 1}, base+3600*i)
		m := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte{0, 0}, Value: []byte{1}}}}
		if i%100 == 0 {
			m.Puts[0].Value = nil
		}
		if err := w.db.Apply(t.Context(), "tsdb", "t", []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(t.TempDir(), "state")
	found := map[string]int{}
	o := RunOptions{Query: Query{Tables: []string{TableData}}, Parallel: 2, State: state, Target: "here", Now: time.Now, Every: time.Hour, Found: func(f Finding) { found[f.Key]++ }}
	runs, report := 0, Report{}
	for err := errKilled; err != nil; runs++ {
		source := &failing{Checker: w.checker()}
		source.steps.Store(1 + rand.Int64N(3))
		if report, err = Run(t.Context(), source, o); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
	if all, _ := report.Tally.All(); report.Rows != rows || all != 51 || len(found) != 51 || runs < 2 {
		t.Errorf("%d runs: %+v, %d findings, %d rows have some", runs, report, all, len(found))
	}
	if again, err := Run(t.Context(), w.checker(), o); err != nil || again.Rows != rows {
		t.Errorf("a check that is done: %+v, %v", again, err)
	}
	o.Target = "elsewhere"
	if _, err := Run(t.Context(), w.checker(), o); !errors.Is(err, ErrState) {
		t.Errorf("another table: %v", err)
	}
}

// The counts of a tally, as they are printed.
func TestTally(t *testing.T) {
	tally := Tally{}
	tally.add([]Finding{{Kind: LongInteger, Count: 3}, {Kind: Duplicate, Count: 2, Mended: true}, {Kind: Duplicate, Count: 1}})
	want := "duplicate        3 in 2 rows, 2 mended: an instant with several values; the one written last stays\n" +
		"long-integer     3 in 1 rows, 0 mended (a note): an integer of 8 bytes that fits in fewer; it takes these\n"
	if diff := cmp.Diff(want, tally.String()); diff != "" || tally.Errors() != 3 {
		t.Errorf("%d errors (-want +got):\n%s", tally.Errors(), diff)
	}
}
