package uid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

func newTable() *kv.Mem {
	return kv.NewMem(kv.Table{Name: "tsdb-uid", Families: []string{"id", "name"}})
}

func open(db kv.KV) *uid.Dictionary {
	return uid.New(kv.NewEngine(db, false), uid.Options{Table: "tsdb-uid", Layout: schema.DefaultLayout(), CacheEntries: 1000})
}

func dump(t *testing.T, db kv.KV) string {
	t.Helper()
	var b strings.Builder
	for _, family := range []string{"id", "name"} {
		for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-uid", Family: family}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range row.Cells {
				fmt.Fprintf(&b, "%x %s:%s %x\n", row.Key, family, c.Qualifier, c.Value)
			}
		}
	}
	return b.String()
}

// The first metric, tag key and tag value, as OpenTSDB 2.4 writes them (its rows of "put
// sys.cpu.user 1356998400 42 host=web01").
func TestAssignFirst(t *testing.T) {
	db := newTable()
	d := open(db)
	for kind, name := range map[storage.NameKind]string{storage.MetricName: "sys.cpu.user", storage.TagKeyName: "host", storage.TagValueName: "web01"} {
		uids, errs := d.Assign(t.Context(), kind, []string{name, name})
		if errs != nil || uids[0] != "\x00\x00\x01" || uids[1] != uids[0] {
			t.Fatalf("Assign(%s) = %q, %v", name, uids, errs)
		}
	}
	want := `00 id:metrics 0000000000000001
00 id:tagk 0000000000000001
00 id:tagv 0000000000000001
686f7374 id:tagk 000001
7379732e6370752e75736572 id:metrics 000001
7765623031 id:tagv 000001
000001 name:metrics 7379732e6370752e75736572
000001 name:tagk 686f7374
000001 name:tagv 7765623031
`
	if got := dump(t, db); got != want {
		t.Errorf("table:\n%swant:\n%s", got, want)
	}
	names, err := open(db).Names(t.Context(), storage.TagValueName, []string{"\x00\x00\x01", "\x00\x00\x02"})
	if err != nil || names[0] != "web01" || names[1] != "" {
		t.Errorf("Names = %q, %v", names, err)
	}
}

// Several processes that need the same new names agree, and no race leaves a reverse row without a
// name ("uid fsck" would report it).
func TestAssignRaces(t *testing.T) {
	db := newTable()
	const processes, names = 5, 300
	var list []string
	for i := range names {
		list = append(list, fmt.Sprint("name", i))
	}
	got := make([][]string, processes)
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() {
			d := open(db)
			uids := make([]string, 0, names)
			for i := 0; i < names; i += 20 {
				found, errs := d.Assign(t.Context(), storage.TagValueName, list[i:i+20])
				if errs != nil {
					t.Error(errs)
				}
				uids = append(uids, found...)
			}
			got[p] = uids
		})
	}
	wg.Wait()
	used := map[string]bool{}
	for i := range names {
		used[got[0][i]] = true
		for p := range processes {
			if got[p][i] != got[0][i] {
				t.Errorf("%s: process %d got %x, process 0 %x", list[i], p, got[p][i], got[0][i])
			}
		}
	}
	if len(used) != names {
		t.Errorf("%d UIDs for %d names", len(used), names)
	}
	reverse := strings.Count(dump(t, db), "name:tagv")
	if reverse != names {
		t.Errorf("%d reverse rows for %d names", reverse, names)
	}
}

func TestAssignErrors(t *testing.T) {
	db := newTable()
	d := open(db)
	column := kv.Column{Table: "tsdb-uid", Family: "id", Row: []byte{0}, Qualifier: []byte("metrics")}
	if _, err := db.Increment(t.Context(), column, 1<<24-2); err != nil {
		t.Fatal(err)
	}
	uids, errs := d.Assign(t.Context(), storage.MetricName, []string{"last", "中"})
	if uids[0] != "\xff\xff\xff" || errs[0] != nil {
		t.Errorf("last UID = %x, %v", uids[0], errs[0])
	}
	if !errors.Is(errs[1], storage.ErrName) {
		t.Errorf("name beyond Latin-1: %v", errs[1])
	}
	_, errs = d.Assign(t.Context(), storage.MetricName, []string{"last", "one too many"})
	if errs[0] != nil || !errors.Is(errs[1], uid.ErrExhausted) {
		t.Errorf("exhausted: %v", errs)
	}
}

// A counter below the UIDs of the table (after a restore of a backup): ids that are taken are
// skipped.
func TestAssignCounterBehind(t *testing.T) {
	db := newTable()
	reverse := func(uid, name string) kv.Mutation {
		return kv.Mutation{Key: []byte(uid), Puts: []kv.Put{{Qualifier: []byte("metrics"), Value: []byte(name)}}}
	}
	if err := db.Apply(t.Context(), "tsdb-uid", "name", []kv.Mutation{reverse("\x00\x00\x01", "a"), reverse("\x00\x00\x02", "b")}); err != nil {
		t.Fatal(err)
	}
	uids, errs := open(db).Assign(t.Context(), storage.MetricName, []string{"c"})
	if errs != nil || uids[0] != "\x00\x00\x03" {
		t.Errorf("Assign = %x, %v", uids, errs)
	}
}

// lossy answers false to every check-and-put although it wrote, as HBase may after a lost reply.
type lossy struct{ kv.KV }

func (l lossy) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	_, err := l.KV.CheckAndPut(ctx, c, expected, value)
	return false, err
}

func TestAssignLostAnswers(t *testing.T) {
	db := newTable()
	uids, errs := open(lossy{db}).Assign(t.Context(), storage.TagKeyName, []string{"host"})
	if errs != nil || uids[0] != "\x00\x00\x01" {
		t.Fatalf("Assign = %x, %v", uids, errs)
	}
	if got := strings.Count(dump(t, db), "name:tagk"); got != 1 {
		t.Errorf("%d reverse rows, want 1", got)
	}
}

func TestLookupChecksWidth(t *testing.T) {
	db := newTable()
	forward := kv.Mutation{Key: []byte("m"), Puts: []kv.Put{{Qualifier: []byte("metrics"), Value: []byte{0, 0, 0, 1}}}}
	if err := db.Apply(t.Context(), "tsdb-uid", "id", []kv.Mutation{forward}); err != nil {
		t.Fatal(err)
	}
	_, err := open(db).Lookup(t.Context(), storage.MetricName, []string{"m"})
	if err == nil || !strings.Contains(err.Error(), "--storage.uid-width") {
		t.Errorf("Lookup of a 4-byte UID with width 3: %v", err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	d := open(newTable())
	for i := range 200 {
		var list []string
		for n := range 50 {
			list = append(list, fmt.Sprint(i, "-", n))
		}
		if _, errs := d.Assign(t.Context(), storage.TagValueName, list); errs != nil {
			t.Fatal(errs)
		}
	}
	if n := d.Cached(); n > 6*1000+10 {
		t.Errorf("%d entries cached, the limit is 1000 in each of six", n)
	}
}
