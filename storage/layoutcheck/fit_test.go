package layoutcheck_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/layoutcheck"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

func layout(metric, tagk, tagv, salt, buckets int) schema.Layout {
	return schema.Layout{MetricWidth: metric, TagkWidth: tagk, TagvWidth: tagv, SaltWidth: salt, SaltBuckets: buckets}
}

// tables are four tables that other processes fill.
type tables struct {
	t  testing.TB
	db *kv.Mem
}

func newTables(t testing.TB) tables {
	t.Helper()
	return tables{t, kv.NewMem(
		kv.Table{Name: "tsdb", Families: []string{"t"}},
		kv.Table{Name: "tsdb-uid", Families: []string{"id", "name"}},
		kv.Table{Name: "tsdb-meta", Families: []string{"name"}},
	)}
}

func (s tables) put(table, family string, key []byte, qualifier string, value []byte) {
	s.t.Helper()
	row := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte(qualifier), Value: value}}}
	if err := s.db.Apply(s.t.Context(), table, family, []kv.Mutation{row}); err != nil {
		s.t.Fatal(err)
	}
}

func (s tables) uid(l schema.Layout, kind storage.NameKind, id int64, name string) []byte {
	s.t.Helper()
	uid, err := schema.EncodeUID(id, l.Width(kind))
	if err != nil {
		s.t.Fatal(err)
	}
	s.put("tsdb-uid", "name", uid, string(schema.UIDQualifier(kind)), []byte(name))
	s.put("tsdb-uid", "id", []byte(name), string(schema.UIDQualifier(kind)), uid)
	return uid
}

// fill writes n series as a process with a layout does, with ids from a first one on.
func (s tables) fill(l schema.Layout, n int, first int64, hours int) {
	s.t.Helper()
	for i := range int64(n) {
		id := first + i
		metric := s.uid(l, storage.MetricName, id, fmt.Sprint("metric.", id))
		pairs := []schema.Pair{
			{Key: s.uid(l, storage.TagKeyName, id, fmt.Sprint("key", id)), Value: s.uid(l, storage.TagValueName, id, fmt.Sprint("value", id))},
			{Key: s.uid(l, storage.TagKeyName, 300+id, fmt.Sprint("more", id)), Value: s.uid(l, storage.TagValueName, 300+id, fmt.Sprint("other", id))},
		}
		tsuid := l.AppendTSUID(nil, metric, pairs)
		s.put("tsdb-meta", "name", tsuid, "ts_ctr", schema.EncodeCounter(1))
		for h := range hours {
			s.put("tsdb", "t", l.AppendRowKey(nil, tsuid, 1356998400+3600*uint32(h)), "\x00\x00", []byte{1})
		}
	}
	s.put("tsdb-uid", "id", schema.MaxIDRow(), "metrics", schema.EncodeCounter(first+int64(n)))
	// a global annotation
	s.put("tsdb", "t", []byte{0, 0, 0, 0x50, 0xe2, 0x27, 0}, "\x01\x00\x00", []byte("{}"))
}

func (s tables) checker(l schema.Layout) *layoutcheck.Checker {
	return layoutcheck.New(s.db, layoutcheck.Options{
		Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Layout: l, Logger: slog.New(slog.DiscardHandler), Wait: 50 * time.Millisecond,
	})
}

// TestCheck checks tables that were filled with one layout against another. The error must contain
// the wanted texts; without one there must be no error.
func TestCheck(t *testing.T) {
	plain, salted := layout(3, 3, 3, 0, 20), layout(3, 3, 3, 1, 20)
	wide, mixed := layout(4, 4, 4, 0, 20), layout(4, 3, 5, 2, 7)
	for _, c := range []struct {
		name          string
		filled, flags schema.Layout
		want          string // texts, separated by |
	}{
		{"the same", plain, plain, ""},
		{"the same, salted", salted, salted, ""},
		{"the same, wide", wide, wide, ""},
		{"the same, mixed", mixed, mixed, ""},
		{"the same, narrow", layout(1, 2, 2, 0, 20), layout(1, 2, 2, 0, 20), ""},
		{"the same, widest", layout(8, 8, 8, 8, 300), layout(8, 8, 8, 8, 300), ""},
		{
			"widths 4 on 3", plain, wide,
			`--storage.uid-width.metric=4, but|have 3 bytes|"metric.1" is 000001|--storage.uid-width.metric=3 fits|--storage.uid-width.tagk=3 fits|--storage.uid-width.tagv=3 fits`,
		},
		{"widths 3 on 4", wide, plain, `--storage.uid-width.metric=4 fits|--storage.uid-width.tagk=4 fits|--storage.uid-width.tagv=4 fits`},
		{"one width", plain, layout(3, 3, 4, 0, 20), `--storage.uid-width.tagv=4, but|--storage.uid-width.tagv=3 fits`},
		{"a salt on none", plain, salted, `--storage.salt.width=1 --storage.salt.buckets=20, but|table tsdb|--storage.salt.width=0 fits`},
		{"no salt on one", salted, plain, `--storage.salt.width=0, but|--storage.salt.width=1 --storage.salt.buckets=20 fits`},
		{"another salt", mixed, layout(4, 3, 5, 1, 7), `--storage.salt.width=2 --storage.salt.buckets=7 fits`},
		{"other buckets", salted, layout(3, 3, 3, 1, 50), `--storage.salt.buckets=50, but|--storage.salt.width=1 --storage.salt.buckets=20 fits`},
		{"fewer buckets", salted, layout(3, 3, 3, 1, 6), `--storage.salt.width=1 --storage.salt.buckets=20 fits`},
		{"widths and salt", mixed, plain, `--storage.uid-width.metric=4 fits|--storage.uid-width.tagv=5 fits|--storage.salt.width=2 --storage.salt.buckets=7 fits`},
		// One byte more in one place and one less in another give the same length.
		{"metric for salt", plain, layout(2, 3, 3, 1, 20), `--storage.uid-width.metric=3 fits|--storage.salt.width=0 fits`},
		{"key for value", plain, layout(3, 4, 2, 0, 20), `--storage.uid-width.tagk=3 fits|--storage.uid-width.tagv=3 fits`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTables(t)
			s.fill(c.filled, 40, 1, 3)
			ch := s.checker(c.flags)
			wantError(t, ch.Check(t.Context()), c.want)
			if ch.Seen() != (c.want == "") {
				t.Errorf("Seen = %v after all tables", ch.Seen())
			}
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.Is(err, storage.ErrLayout) {
		t.Fatalf("Check = %v, want %q", err, want)
	}
	for text := range strings.SplitSeq(want, "|") {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("Check = %v, want %q", err, text)
		}
	}
	if n := strings.Count(err.Error(), storage.ErrLayout.Error()); n != 1 {
		t.Errorf("%v: said %d times", err, n)
	}
}

// TestCheckOneRow: a single row is enough to tell a salt from none.
func TestCheckOneRow(t *testing.T) {
	plain, salted := layout(3, 3, 3, 0, 20), layout(3, 3, 3, 1, 20)
	for _, c := range [][2]schema.Layout{{plain, salted}, {salted, plain}} {
		s := newTables(t)
		s.fill(c[0], 1, 1, 1)
		wantError(t, s.checker(c[0]).Check(t.Context()), "")
		wantError(t, s.checker(c[1]).Check(t.Context()), "--storage.salt.width="+fmt.Sprint(c[0].SaltWidth)+" ")
	}
}

// TestCheckSpoiled: tables to which a process with a wrong flag has written before open with the
// flags that they were made with, and with no others.
func TestCheckSpoiled(t *testing.T) {
	plain, salted, wide := layout(3, 3, 3, 0, 20), layout(3, 3, 3, 1, 20), layout(4, 4, 4, 0, 20)
	s := newTables(t)
	now := int64(1000)
	s.db.SetClock(func() int64 { return now })
	s.fill(plain, 30, 1, 3)
	now = 2000
	s.fill(salted, 200, 31, 1)
	s.fill(wide, 30, 250, 1)
	wantError(t, s.checker(plain).Check(t.Context()), "")
	wantError(t, s.checker(salted).Check(t.Context()), "--storage.salt.width=0 fits")
	wantError(t, s.checker(wide).Check(t.Context()), "--storage.uid-width.metric=3 fits")
}

// TestCheckUnrelatedTables checks tables that do not belong together, or are no OpenTSDB tables.
func TestCheckUnrelatedTables(t *testing.T) {
	plain := layout(3, 3, 3, 0, 20)
	s := newTables(t)
	s.fill(plain, 5, 1, 1)
	other := newTables(t)
	other.uid(plain, storage.MetricName, 1, "m")
	for i := range byte(9) {
		other.put("tsdb", "t", []byte("user:"+string('a'+rune(i))), "name", []byte("x"))
	}
	wantError(t, other.checker(plain).Check(t.Context()), "--storage.table.data=tsdb: its rows are not those of an OpenTSDB")

	rows := newTables(t)
	rows.put("tsdb", "t", plain.AppendRowKey(nil, []byte{0, 0, 1, 0, 0, 1, 0, 0, 1}, 1356998400), "\x00\x00", []byte{1})
	wantError(t, rows.checker(plain).Check(t.Context()), "--storage.table.data and --storage.table.uid do not belong together")

	meta := newTables(t)
	meta.uid(plain, storage.MetricName, 1, "m")
	meta.put("tsdb-meta", "name", []byte("abcd"), "x", nil)
	wantError(t, meta.checker(plain).Check(t.Context()), "--storage.table.meta=tsdb-meta: its keys are not TSUIDs")
}

// TestCheckEmpty: empty tables fit everything, until there are rows.
func TestCheckEmpty(t *testing.T) {
	s, wide := newTables(t), layout(4, 4, 4, 0, 20)
	ch := s.checker(wide)
	for range 2 {
		wantError(t, ch.Check(t.Context()), "")
		if ch.Seen() {
			t.Fatal("rows were seen in empty tables")
		}
	}
	s.uid(layout(3, 3, 3, 0, 20), storage.TagKeyName, 1, "host")
	wantError(t, ch.Check(t.Context()), "--storage.uid-width.tagk=3 fits")
}

// TestBeforeUID: another process has drawn the id and is still writing its rows.
func TestBeforeUID(t *testing.T) {
	s := newTables(t)
	ch := layoutcheck.New(s.db, layoutcheck.Options{
		Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Layout: layout(4, 4, 4, 0, 20), Logger: slog.New(slog.DiscardHandler), Wait: time.Minute,
	})
	if err := ch.BeforeUID(t.Context(), storage.MetricName, 1); err != nil {
		t.Fatal(err)
	}
	var other sync.WaitGroup
	other.Go(func() { s.uid(layout(3, 3, 3, 0, 20), storage.MetricName, 1, "m") })
	wantError(t, ch.BeforeUID(t.Context(), storage.MetricName, 2), "--storage.uid-width.metric=3 fits")
	other.Wait()

	// Rows that never come are waited for neither forever nor after the caller has gone.
	s = newTables(t)
	if err := s.checker(layout(4, 4, 4, 0, 20)).BeforeUID(t.Context(), storage.MetricName, 2); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.checker(layout(4, 4, 4, 0, 20)).BeforeUID(ctx, storage.MetricName, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("BeforeUID = %v after the caller left", err)
	}
}
