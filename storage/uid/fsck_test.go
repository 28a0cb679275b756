package uid_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A damage is one cell of tsdb-uid as it should not be; without a value it is deleted.
type damage struct{ family, row, qualifier, value string }

func (d damage) apply(t *testing.T, db kv.KV) {
	t.Helper()
	m := kv.Mutation{Key: []byte(d.row), Puts: []kv.Put{{Qualifier: []byte(d.qualifier), Value: []byte(d.value)}}}
	if d.value == "" {
		m = kv.Mutation{Key: []byte(d.row), Deletes: []kv.Delete{{Qualifier: []byte(d.qualifier)}}}
	}
	if err := db.Apply(t.Context(), "tsdb-uid", d.family, []kv.Mutation{m}); err != nil {
		t.Fatal(err)
	}
}

// check runs a check as of an hour after now, and returns what it printed. used are the hexadecimal UIDs
// that series have.
func check(t *testing.T, db kv.KV, exclusive, fix, unknown bool, used ...string) (storage.UIDReport, []string) {
	t.Helper()
	var lines []string
	report, err := openOver(db, exclusive).Check(t.Context(), storage.UIDCheck{
		Fix: fix, DeleteUnknown: unknown, Print: func(line string) { lines = append(lines, line) },
		Now: func() time.Time { return time.Now().Add(time.Hour) },
		Used: func(_ context.Context, suspects []storage.Mapping) (map[string]bool, error) {
			found := map[string]bool{}
			for _, m := range suspects {
				if slices.Contains(used, fmt.Sprintf("%x", m.UID)) {
					found[m.Key()] = true
				}
			}
			return found, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return report, lines
}

const (
	one, two, three = "\x00\x00\x01", "\x00\x00\x02", "\x00\x00\x03"
	counter         = "\x00\x00\x00\x00\x00\x00\x00"
)

// TestCheckUIDs: each kind of damage is found, with a TSD's words where it has some, and mended so that
// the next check finds nothing. The names "other" and "old" have the UIDs 1 and 2.
func TestCheckUIDs(t *testing.T) {
	for _, c := range []struct {
		name    string
		damages []damage
		used    []string
		want    []string
		left    bool   // the next check finds it too
		dry     string // what a dry run finds in addition
	}{
		{"nothing", nil, nil, nil, false, ""},
		{"no reverse row", []damage{{"name", two, "metrics", ""}}, nil, []string{
			"ERROR Forward metrics mapping is missing reverse mapping: old -> 000002", "FIX: Restoring metrics reverse mapping: 000002 -> old",
		}, false, ""},
		{"no forward row", []damage{{"id", "old", "metrics", ""}}, nil, []string{
			"WARN Reverse metrics mapping is missing forward mapping: old -> 000002", "FIX: Restoring metrics forward mapping: old -> 000002",
		}, false, ""},
		{"two names, a rename that was interrupted", []damage{{"name", two, "metrics", "new"}, {"id", "new", "metrics", two}}, nil, []string{
			"ERROR Forward metrics mapping old -> 000002 is different than reverse mapping: 000002 -> new",
			"FIX: Removed forward metrics mapping for old -> 000002, which stays that of new",
		}, false, ""},
		{"a rename that was interrupted after its first step", []damage{{"name", two, "metrics", "new"}}, nil, []string{
			"ERROR Forward metrics mapping old -> 000002 is different than reverse mapping: 000002 -> new", "FIX: Restoring metrics reverse mapping: 000002 -> old",
		}, false, "WARN Reverse metrics mapping is missing forward mapping: new -> 000002"},
		{"the name of another UID", []damage{{"name", two, "metrics", "other"}}, nil, []string{
			"ERROR Forward metrics mapping old -> 000002 is different than reverse mapping: 000002 -> other", "FIX: Restoring metrics reverse mapping: 000002 -> old",
		}, false, "ERROR Inconsistent reverse metrics mapping 000002 -> other vs other -> 000001"},
		{"two UIDs, of which no series has one", []damage{{"name", three, "metrics", "old"}, {"id", "\x00", "metrics", counter + "\x03"}}, nil, []string{
			"ERROR Inconsistent reverse metrics mapping 000003 -> old vs old -> 000002", "FIX: Removed metrics reverse mapping: 000003 -> old",
		}, true, ""},
		{"two UIDs, of which series have both", []damage{{"name", three, "metrics", "old"}, {"id", "\x00", "metrics", counter + "\x03"}}, []string{"000003"}, []string{
			"ERROR Inconsistent reverse metrics mapping 000003 -> old vs old -> 000002",
			"not mended: series have the metrics ID 000003, and show the name old",
		}, true, ""},
		{"a counter behind", []damage{{"id", "\x00", "metrics", counter + "\x01"}}, nil, []string{
			"ERROR We found an ID of 2 for metrics but the max ID is only 1!  Future IDs may be double-assigned!", "FIX: Updated max ID for metrics to 2",
		}, false, ""},
		{"no counter", []damage{{"id", "\x00", "metrics", ""}}, nil, []string{
			"ERROR We found an ID of 2 for metrics but the max ID is only 0!  Future IDs may be double-assigned!", "FIX: Updated max ID for metrics to 2",
		}, false, ""},
		{"a counter of 3 bytes", []damage{{"id", "\x00", "metrics", "abc"}}, nil, []string{
			"ERROR Invalid maximum ID for metrics: should be on 8 bytes: 616263", "FIX: Wrote the max ID for metrics anew: 2",
		}, false, ""},
		{"a counter far ahead", []damage{{"id", "\x00", "metrics", counter + "\x09"}}, nil, []string{
			"WARN Max ID for metrics is 9 but only 2 entries were found.  Maybe 7 IDs were deleted?",
		}, true, ""},
		{"a short UID", []damage{{"id", "short", "tagv", "\x00\x01"}}, nil, []string{
			"ERROR Invalid tagv ID of length 2 (expected: 3): short -> 0001",
		}, true, ""},
		{"a long UID", []damage{{"name", "\x00\x00\x00\x01", "tagv", "long"}}, nil, []string{
			"ERROR Invalid tagv ID of length 4 (expected: 3): long -> 00000001",
		}, true, ""},
		{"an unknown column", []damage{{"id", "old", "what", "x"}}, nil, []string{
			"WARN Unknown qualifier 77686174 in row 6F6C64", "FIX: Removed unknown qualifier 77686174 in row 6F6C64",
		}, false, ""},
		{"columns that others have", []damage{{"name", two, "metric_meta", "{}"}, {"name", two, "ts_meta", "{}"}, {"id", "\x00", "tsdbridge.layout", "x"}}, nil, nil, false, ""},
	} {
		for engine, open := range engines() {
			what := c.name + ", " + engine
			db, exclusive := open()
			renamedTable(t, db)
			for _, d := range c.damages {
				d.apply(t, db)
			}
			before := dump(t, db)
			dry, lines := check(t, db, exclusive, false, false, c.used...)
			if dump(t, db) != before {
				t.Errorf("%s: a dry run changes the table", what)
			}
			findings := slices.DeleteFunc(slices.Clone(c.want), func(l string) bool { return !strings.HasPrefix(l, "ERROR") && !strings.HasPrefix(l, "WARN") })
			if c.dry != "" {
				findings = append(findings, c.dry)
			}
			if !slices.Equal(lines, findings) || dry.Errors+dry.Warnings != len(findings) || dry.Mended != 0 {
				t.Errorf("%s: a dry run has %+v\n%s\nwant\n%s", what, dry, strings.Join(lines, "\n"), strings.Join(findings, "\n"))
			}
			if _, lines = check(t, db, exclusive, true, true, c.used...); !slices.Equal(lines, c.want) {
				t.Errorf("%s: a fix prints\n%s\nwant\n%s", what, strings.Join(lines, "\n"), strings.Join(c.want, "\n"))
			}
			if after, lines := check(t, db, exclusive, false, false, c.used...); after.Errors+after.Warnings > 0 != c.left {
				t.Errorf("%s: afterwards %+v\n%s", what, after, strings.Join(lines, "\n"))
			}
		}
	}
}

// What was written a moment ago may be an assignment or a rename that is under way: it stays.
func TestCheckLeavesWhatIsUnderWay(t *testing.T) {
	for _, d := range [][]damage{
		{{"id", "old", "metrics", ""}, {"name", two, "metrics", "old"}},
		{{"name", two, "metrics", "new"}, {"id", "new", "metrics", two}, {"id", "old", "metrics", two}},
	} {
		db := kv.NewMem(kv.Table{Name: "tsdb-uid", Families: []string{"id", "name"}})
		renamedTable(t, db)
		for _, one := range d {
			one.apply(t, db)
		}
		before := dump(t, db)
		_, err := openOver(db, true).Check(t.Context(), storage.UIDCheck{Fix: true, Print: func(string) {}, Now: time.Now})
		if err != nil || dump(t, db) != before {
			t.Errorf("%v, %v: the table is\n%s, was\n%s", d, err, dump(t, db), before)
		}
	}
}

// Whatever is damaged in a table: after a fix nothing is left but what cannot be mended, a second fix
// changes nothing, and no name of a UID that series have is gone.
func TestCheckRandomDamage(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		db := kv.NewMem(kv.Table{Name: "tsdb-uid", Families: []string{"id", "name"}})
		d := openOver(db, true)
		names := make([]string, 12)
		for i := range names {
			names[i] = fmt.Sprint("n", i)
		}
		uids, errs := d.Assign(t.Context(), storage.TagValueName, names)
		if errs != nil {
			t.Fatal(errs)
		}
		for range 1 + r.IntN(6) {
			name, id := names[r.IntN(len(names))], uids[r.IntN(len(uids))]
			switch r.IntN(5) {
			case 0:
				damage{"id", name, "tagv", ""}.apply(t, db)
			case 1:
				damage{"name", id, "tagv", ""}.apply(t, db)
			case 2:
				damage{"id", name, "tagv", id}.apply(t, db)
			case 3:
				damage{"name", id, "tagv", name}.apply(t, db)
			case 4:
				damage{"id", "\x00", "tagv", counter + string(rune(r.IntN(10)))}.apply(t, db)
			}
		}
		var used []string // every other
		for i := 0; i < len(uids); i += 2 {
			used = append(used, fmt.Sprintf("%x", uids[i]))
		}
		before, err := openOver(db, true).Names(t.Context(), storage.TagValueName, uids)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // a mend may show what another damage hid
			check(t, db, true, true, true, used...)
		}
		fixed := dump(t, db)
		if _, lines := check(t, db, true, true, true, used...); dump(t, db) != fixed {
			t.Errorf("seed %d: another fix changes the table: %s", seed, strings.Join(lines, "\n"))
		}
		after, err := openOver(db, true).Names(t.Context(), storage.TagValueName, uids)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(uids); i += 2 {
			if before[i] != "" && after[i] == "" {
				t.Errorf("seed %d: the UID %x of series has lost its name %s", seed, uids[i], before[i])
			}
		}
		_, lines := check(t, db, true, false, false, used...)
		for _, line := range lines {
			if !strings.HasPrefix(line, "ERROR Inconsistent reverse") && !strings.HasPrefix(line, "WARN Max ID") {
				t.Errorf("seed %d: left: %s", seed, line)
			}
		}
	}
}

// A deletion takes the forward row, the reverse row and the document of a UID; the counter stays.
func TestDelete(t *testing.T) {
	for engine, open := range engines() {
		db, exclusive := open()
		renamedTable(t, db)
		damage{"name", two, "metric_meta", "{}"}.apply(t, db)
		d := openOver(db, exclusive)
		m, err := d.MappingOf(t.Context(), storage.MetricName, "old")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		want := "00 id:metrics 0000000000000002\n00 id:tagk 0000000000000002\n6f6c64 id:tagk 000002\n6f74686572 id:metrics 000001\n6f74686572 id:tagk 000001\n" +
			"000001 name:metrics 6f74686572\n000001 name:tagk 6f74686572\n000002 name:tagk 6f6c64\n"
		if got := dump(t, db); got != want {
			t.Errorf("%s: the table is\n%s, want\n%s", engine, got, want)
		}
		if uids, errs := d.Assign(t.Context(), storage.MetricName, []string{"old"}); errs != nil || uids[0] != three {
			t.Errorf("%s: Assign = %q, %v", engine, uids, errs)
		}
	}
}
