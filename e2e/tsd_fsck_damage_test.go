package e2e_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
)

// damagedRow is a row of one hour that something is wrong with.
type damagedRow struct {
	name  string
	key   string   // in place of the row of its hour
	cells []string // QUALIFIER=VALUE, in the order of their stamps
}

// damagedRows are those that OpenTSDB's fsck finds.
var damagedRows = []damagedRow{
	{name: "bad key", key: "00000150E22700" + "0000010000", cells: []string{"0000=04"}},
	{name: "unknown tagv", key: "00000150E22700" + "000001" + "0000FF", cells: []string{"0000=04"}},
	{name: "one byte", cells: []string{"00=04"}},
	{name: "seven bytes", cells: []string{"00000000000000=04"}},
	{name: "value too long", cells: []string{"0000=0004"}},
	{name: "value too short", cells: []string{"0001=04"}},
	{name: "value too long, ms", cells: []string{"F0000200=0004"}},
	{name: "no value", cells: []string{"0000="}},
	{name: "float on 8 bytes", cells: []string{"000B=0000000040866666"}},
	{name: "sign extension", cells: []string{"000B=FFFFFFFF40866666"}},
	{name: "float of 3 bytes", cells: []string{"000B=408666"}},
	{name: "messed up float", cells: []string{"000B=FBFFFFFF40866666"}},
	{name: "last byte", cells: []string{"00000020=040503"}},
	{name: "no last byte", cells: []string{"00000020=0405"}},
	{name: "too short", cells: []string{"000700270047=0000000000000004000000000000000500000000000000"}},
	{name: "too long", cells: []string{"00070027=0000000000000004000000000000000500000000000000000000"}},
	{name: "out of order", cells: []string{"00200000=050400"}},
	{name: "duplicate, seconds", cells: []string{"0000=04", "0001=0005"}},
	{name: "duplicate, mixed", cells: []string{"0010=04", "F000FA00=05"}},
	{name: "duplicate, compacted", cells: []string{"00000010=040500", "00100020=060700"}},
	{name: "duplicate, equal", cells: []string{"00000010=040500", "0010=05"}},
	{name: "half an append", cells: []string{"050000=0000040020"}}, // in its log alone
}

// onlyOurs are rows that tsdbridge finds in addition.
var onlyOurs = []damagedRow{
	{name: "mixed without its mark", cells: []string{"0000F0000200=040500"}},
	{name: "outside", cells: []string{"E110=04"}},
	{name: "annotation", cells: []string{"010000=7B"}},
}

// soundRows have nothing wrong; a long integer is a note.
var soundRows = []damagedRow{
	{name: "points", cells: []string{"0000=04", "F0000200=05", "00200030=060700"}},
	{name: "appended", cells: []string{"050000=000004001005"}},
	{name: "long integer", cells: []string{"0007=0000000000000004"}},
	{name: "future object", cells: []string{"040000=04"}},
}

// testTSDFsck: of rows made by hand, tsdbridge finds those that OpenTSDB's fsck finds. When it has
// mended them, OpenTSDB's finds nothing.
func testTSDFsck(t *testing.T, s tables) {
	s.create(t)
	d := s.startTSD(t, false, withoutMeta()...)
	d.Put(t, tsdPoint{Metric: "fsck", Timestamp: epoch.Unix() - 3600, Value: "1", Tags: map[string]string{"host": "h"}}) // UIDs 1
	names := map[string]string{}
	hour := uint32(0x50E23510)
	want, wantOurs := map[string]bool{}, map[string]bool{}
	for _, rows := range [][]damagedRow{damagedRows, onlyOurs, soundRows} {
		for _, row := range rows {
			key := row.key
			if key == "" {
				key = fmt.Sprintf("000001%08X000001000001", hour)
				hour += 3600
			}
			names[key] = row.name
			s.putCells(t, key, row.cells)
		}
	}
	for _, row := range damagedRows {
		want[row.name], wantOurs[row.name] = true, true
	}
	for _, row := range onlyOurs {
		wantOurs[row.name] = true
	}

	theirs := map[string]bool{}
	out := s.tsdFsck(t, d)
	for key, name := range names {
		if strings.Contains(out, key) || strings.Contains(out, javaBytes(key)) {
			theirs[name] = true
		}
	}
	delete(theirs, "future object") // a warning
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(theirs))); diff != "" {
		t.Errorf("OpenTSDB's fsck (-want +got):\n%s\n%s", diff, out)
	}
	found, printed := s.fsck(t, 1, "--table=data", "--parallel=3")
	ours := map[string]bool{}
	for key, kinds := range found {
		if slices.ContainsFunc(kinds, func(kind string) bool { return kind != "long-integer" && kind != "unknown-cell" }) { // notes
			ours[names[strings.ToUpper(key)]] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(wantOurs)), slices.Sorted(maps.Keys(ours))); diff != "" {
		t.Errorf("tsdbridge fsck (-want +got):\n%s\n%s", diff, printed)
	}

	_, printed = s.fsck(t, 1, "--table=data", "--fix=all")
	if again, _ := s.fsck(t, 1, "--table=data"); len(again) != 3 { // outside, half an append, future object
		t.Errorf("after the mends it finds %v\n%s", again, printed)
	}
	if out := s.tsdFsck(t, d); !strings.Contains(out, "Total Errors: 0") {
		t.Errorf("OpenTSDB's fsck after the mends:\n%s", out)
	}

	// The TSD writes no tsdb-meta. What is made there is what its metasync makes.
	if found, printed := s.fsck(t, 1, "--table=meta"); len(found) != 1 || !strings.Contains(printed, "no-meta: "+s.name+"-meta 000001000001000001 ") {
		t.Errorf("series without a row: %v\n%s", found, printed)
	}
	if said := s.run(t, "meta", "sync", "--fix"); !strings.Contains(said, "of series 1 rows or cells were missing, 1 were made") {
		t.Errorf("meta sync: %s", said)
	}
	before := s.cells(t, s.name+"-meta")
	if out, err := d.Tool(t.Context(), "UidManager", "--verbose", "metasync"); err != nil {
		t.Errorf("metasync: %v\n%s", err, out)
	}
	if diff := cmp.Diff(len(before), len(s.cells(t, s.name+"-meta"))); diff != "" || len(before) != 2 {
		t.Errorf("metasync finds something missing in %d cells (-before +after):\n%s", len(before), diff)
	}
	if found, printed := s.fsck(t, 0, "--table=meta"); len(found) > 0 {
		t.Errorf("after the sync: %s", printed)
	}
}

// tsdFsck runs OpenTSDB's fsck and returns what it prints.
func (s tables) tsdFsck(t *testing.T, d tsd) string {
	t.Helper()
	out, err := d.Tool(t.Context(), "Fsck", "--threads=1", "--full-scan")
	if !strings.Contains(out, "Completed fsck") || strings.Contains(out, "Shouldn't be here") {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// fsck runs "tsdbridge fsck", which must end with an exit code (below 0: any), and returns the kinds of findings by
// their keys, and what it printed.
func (s tables) fsck(t *testing.T, code int, flags ...string) (found map[string][]string, printed string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), adapterBinary(t), append(append([]string{"fsck"}, flags...), s.args()...)...)
	out, err := cmd.CombinedOutput()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	}
	if got != code && code >= 0 {
		t.Fatalf("tsdbridge fsck: exit code %d, want %d\n%s", got, code, out)
	}
	found = map[string][]string{}
	for line := range strings.Lines(string(out)) {
		if kind, rest, ok := strings.Cut(line, ": "+s.name); ok {
			for _, table := range []string{"-meta", "-tree", " "} {
				rest = strings.TrimPrefix(rest, table)
			}
			key, _, _ := strings.Cut(strings.ReplaceAll(rest, ":", " "), " ")
			found[key] = append(found[key], kind)
		}
	}
	return found, string(out)
}

// putCells writes the cells of a row long ago.
func (s tables) putCells(t *testing.T, key string, cells []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	c := gohbase.NewClient(s.cluster.ZooKeeper(), gohbase.Logger(slog.New(slog.DiscardHandler)))
	defer c.Close()
	for i, cell := range cells {
		q, v, _ := strings.Cut(cell, "=")
		values := map[string]map[string][]byte{"t": {string(unhexed(t, q)): unhexed(t, v)}}
		put, err := hrpc.NewPutStr(ctx, s.name, string(unhexed(t, key)), values, hrpc.Timestamp(time.Unix(1_400_000_000+int64(i), 0)))
		if err == nil {
			_, err = c.Put(put)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unhexed(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// javaBytes prints bytes as Java's Arrays.toString.
func javaBytes(key string) string {
	b, _ := hex.DecodeString(key)
	words := make([]string, len(b))
	for i := range b {
		words[i] = fmt.Sprint(int8(b[i]))
	}
	return "[" + strings.Join(words, ", ") + "]"
}
