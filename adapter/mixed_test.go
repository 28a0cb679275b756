package adapter

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// parts are the files of a store that may be put back apart from each other. The tables are all that
// is not named here.
var parts = []string{"tables", "store.mark", "log-points.mark", "log-series.mark", "log/points", "log/series"}

// aMoment is a store as a kill left it at one time.
type aMoment struct {
	name, path string
	want       damagedStart
}

// settled waits until tables and log know of each other.
func settled(t *testing.T, a *Adapter) {
	t.Helper()
	engine := a.engine.(*pebble.Engine)
	before := engine.LogState().Generation
	// polling, with a deadline
	for deadline := time.Now().Add(time.Minute); engine.LogState().Generation == before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the tables do not follow the log")
		}
	}
}

func takeMoment(t *testing.T, name string, o Options, a *Adapter) aMoment {
	t.Helper()
	m := aMoment{name: name, path: filepath.Join(t.TempDir(), name)}
	servertest.CopyRunning(t, o.Path, m.path)
	m.want.dumpEach(t, a.store)
	return m
}

// send sends points of a series, one a minute, with values from a number up.
func sendMinutes(t *testing.T, a *Adapter, name string, from, to int, value float64) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `{__name__=%q, host="a"}`, name)
	for m := from; m < to; m++ {
		fmt.Fprintf(&b, " %v@%d", value+float64(m), fixtureTime(m))
	}
	sendRemoteWrite(t, a, b.String(), 1)
}

func deleteSeries(t *testing.T, a *Adapter, name string, from, to int) {
	t.Helper()
	found, err := a.store.Find(t.Context(), nil, 0, storage.MaxTime, 0)
	must(t, err)
	d := storage.Deletion{Start: fixtureTime(from), End: fixtureTime(to)}
	for _, f := range found {
		if f.Metric == name {
			d.Refs = append(d.Refs, f.Ref)
		}
	}
	if len(d.Refs) == 0 {
		t.Fatalf("no series %s", name)
	}
	_, err = a.store.Delete(t.Context(), d)
	must(t, err)
}

// momentsOf returns one store at several times, with points, new series, corrections, deletions, rows
// put into the tables, files of the log cut off, and a restart between them.
func momentsOf(t *testing.T) []aMoment {
	t.Helper()
	o := fixtureOptions(t)
	a, _ := runAdapter(t, o)
	sendMinutes(t, a, "stays", -200, -100, 0)
	sendMinutes(t, a, "goes", -200, 0, 1000)
	settled(t, a)
	list := []aMoment{takeMoment(t, "t1", o, a)}
	deleteSeries(t, a, "goes", -200, -61)
	sendMinutes(t, a, "stays", -150, -50, 5000)
	settled(t, a)
	list = append(list, takeMoment(t, "t2", o, a))
	o.Path = copyOfPath(t, list[1].path) // after the kill there is a second file of the log
	a, stop := runAdapter(t, o)
	sendMinutes(t, a, "stays", -60, -50, 6000)
	must(t, a.store.Backup(t.Context(), filepath.Join(t.TempDir(), "backup"))) // this puts all rows, and cuts the log
	if files, err := filepath.Glob(filepath.Join(o.Path, "log", "points", "*1.log")); err != nil || len(files) > 0 {
		t.Fatalf("the log is not cut: %v, %v", files, err)
	}
	sendMinutes(t, a, "comes", -20, 10, 7)
	settled(t, a)
	list = append(list, takeMoment(t, "t3", o, a))
	stop() // the log is ended
	a, _ = runAdapter(t, o)
	sendMinutes(t, a, "comes", 0, 20, 9000)
	deleteSeries(t, a, "stays", -120, -110)
	settled(t, a)
	return append(list, takeMoment(t, "t4", o, a))
}

func otherStore(t *testing.T) aMoment {
	t.Helper()
	o := fixtureOptions(t)
	a, _ := runAdapter(t, o)
	sendMinutes(t, a, "goes", -200, 0, 33)
	sendMinutes(t, a, "stays", -200, -100, 44)
	settled(t, a)
	return takeMoment(t, "other", o, a)
}

func partOf(rel string) string {
	rel = filepath.ToSlash(rel)
	for _, p := range parts[1:] {
		if rel == p || strings.HasPrefix(rel, p+"/") {
			return p
		}
	}
	return parts[0]
}

// compose makes a store of the parts of several.
func compose(t *testing.T, of map[string]aMoment) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "mixed")
	must(t, os.MkdirAll(path, 0o750))
	for _, part := range parts {
		m, ok := of[part]
		if !ok {
			continue
		}
		for _, file := range filesBelow(t, m.path) {
			if partOf(file) != part {
				continue
			}
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(path, file)), 0o750))
			must(t, servertest.CopySparse(filepath.Join(m.path, file), filepath.Join(path, file)))
		}
	}
	return path
}

// samePart reports whether a part has the same bytes at two moments.
func samePart(t *testing.T, part string, a, b aMoment) bool {
	t.Helper()
	content := func(m aMoment) string {
		var all bytes.Buffer
		for _, file := range filesBelow(t, m.path) {
			if partOf(file) == part && !strings.HasPrefix(file, "OPTIONS-") {
				text, err := os.ReadFile(filepath.Join(m.path, file))
				must(t, err)
				fmt.Fprintf(&all, "%s %x\n", file, bytes.TrimRight(text, "\x00"))
			}
		}
		return all.String()
	}
	return content(a) == content(b)
}

func sameAnswers(a, b damagedStart) bool {
	return len(a.failed) == 0 && fmt.Sprint(a.series) == fmt.Sprint(b.series)
}

// TestMixedStores starts stores that are put together of one store at two times, or of two stores, in
// every way. Each is refused with the name of a file that is there or missing and with what to do, or
// it answers exactly what the later time had; "store check" finds what a start refuses, and --fix
// makes it a store.
func TestMixedStores(t *testing.T) {
	list := append(momentsOf(t), otherStore(t))
	for _, m := range list {
		if got := startDamaged(t, fixtureOptions(t), copyOfPath(t, m.path)); got.refused != "" || !sameAnswers(got, m.want) {
			t.Fatalf("%s by itself: %s", m.name, got.refused)
		}
	}
	share := scale.Of(t, "percent of the mixtures", 3, 6, 100)
	rng := rand.New(rand.NewPCG(3, 1))
	outcomes := map[string]int{}
	for i, a := range list {
		for _, b := range list[i+1:] {
			for from := 1; from < 1<<len(parts)-1; from++ {
				if rng.IntN(100) >= share {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%06b", a.name, b.name, from), func(t *testing.T) { // its files go with it
					outcomes[startMixed(t, a, b, from)]++
				})
			}
		}
	}
	t.Log(outcomes)
}

// startMixed starts the parts of b that from names among those of a.
func startMixed(t *testing.T, a, b aMoment, from int) string {
	t.Helper()
	of, what, ofA, ofB := map[string]aMoment{}, "", 0, 0
	for i, part := range parts {
		of[part] = a
		if from>>i&1 == 1 {
			of[part] = b
		}
		what += " " + part + "@" + of[part].name
		if samePart(t, part, a, b) {
			continue
		}
		if of[part].name == a.name {
			ofA++
		} else {
			ofB++
		}
	}
	o := fixtureOptions(t)
	path := compose(t, of)
	kept := copyOfPath(t, path)
	got := startDamaged(t, o, path)
	switch {
	case got.refused != "":
		if !strings.Contains(got.refused, path) {
			t.Errorf("%s: refused without the name of a file: %s", what, got.refused)
		}
		checkMixed(t, o, kept, what, got.refused)
		return "refused"
	case sameAnswers(got, b.want) && (ofA == 0 || b.name != "other"):
		return "the later"
	case sameAnswers(got, a.want) && ofB == 0:
		return "the earlier"
	}
	t.Errorf("%s: started, and answers neither %s nor %s: warnings %s", what, a.name, b.name, got.log)
	return "silent"
}

// checkMixed wants "store check" to find what a start refuses, and --fix to make it a store that
// starts, where it can.
func checkMixed(t *testing.T, o Options, path, what, refused string) {
	t.Helper()
	o.Path = path
	var out strings.Builder
	if err := CheckStore(t.Context(), o, false, &out); err == nil {
		t.Errorf("%s: a start says %s\nand store check: %s", what, refused, out.String())
	}
	out.Reset()
	if err := CheckStore(t.Context(), o, true, &out); err != nil {
		if !errors.Is(err, storage.ErrDamaged) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: store check --fix: %v\n%s", what, err, out.String())
		}
		return
	}
	if got := startDamaged(t, o, path); got.refused != "" {
		t.Errorf("%s: after --fix: %s\n%s", what, got.refused, out.String())
	}
}

func copyOfPath(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	must(t, servertest.CopySparse(path, to))
	return to
}

// TestMissingParts removes each part, and cuts the end of the log off together with the mark that
// would tell, or with both.
func TestMissingParts(t *testing.T) {
	list := momentsOf(t)
	m := list[len(list)-1]
	cut := func(path string) {
		files, err := filepath.Glob(filepath.Join(path, "log", "points", "*.log"))
		must(t, err)
		last := files[len(files)-1]
		must(t, os.Truncate(last, used(t, last)*2/3))
	}
	remove := func(names ...string) func(path string) {
		return func(path string) {
			for _, name := range names {
				must(t, os.RemoveAll(filepath.Join(path, name)))
			}
		}
	}
	cases := map[string]func(path string){
		"log-points.mark and the log's end": func(path string) { remove("log-points.mark")(path); cut(path) },
		"store.mark and the log's end":      func(path string) { remove("store.mark")(path); cut(path) },
		"all marks and the log's end":       func(path string) { remove(parts[1:4]...)(path); cut(path) },
		"all marks":                         remove(parts[1:4]...),
		"the log":                           remove("log"),
		"the log and all marks":             remove("log", "store.mark", "log-points.mark", "log-series.mark"),
		"an empty mark":                     func(path string) { must(t, os.Truncate(filepath.Join(path, "log-points.mark"), 0)) },
		"a short mark":                      func(path string) { must(t, os.Truncate(filepath.Join(path, "log-series.mark"), 20)) },
		"an empty store.mark":               func(path string) { must(t, os.Truncate(filepath.Join(path, "store.mark"), 0)) },
	}
	for _, part := range parts[1:] {
		cases["no "+part] = remove(part)
	}
	for what, do := range cases {
		o := fixtureOptions(t)
		path := copyOfPath(t, m.path)
		do(path)
		kept := copyOfPath(t, path)
		switch got := startDamaged(t, o, path); {
		case got.refused == "":
			t.Errorf("%s: started, all there: %t", what, sameAnswers(got, m.want))
		case !strings.Contains(got.refused, path):
			t.Errorf("%s: refused without the name of a file: %s", what, got.refused)
		default:
			checkMixed(t, o, kept, what, got.refused)
		}
	}
}

// TestCopiesGoOn: a backup, one of a copy that went on, and a copy of the files of a killed store are
// whole, restarts and further backups included; files of two copies that went on are not mixed.
func TestCopiesGoOn(t *testing.T) {
	o := fixtureOptions(t)
	a, stop := runAdapter(t, o)
	sendMinutes(t, a, "stays", -200, 0, 0)
	settled(t, a)
	m := takeMoment(t, "killed", o, a)
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, a.store.Backup(t.Context(), backup))
	stop()
	restored := o
	restored.Path = filepath.Join(t.TempDir(), "restored")
	must(t, pebble.Restore(t.Context(), pebble.Options{Path: restored.Path, Logger: o.Logger, Tables: o.Tables()}, backup))
	var moments []aMoment
	for i, path := range []string{copyOfPath(t, m.path), copyOfPath(t, m.path), restored.Path, copyOfPath(t, backup)} {
		o.Path = path
		a, stop := runAdapter(t, o)
		var got damagedStart
		if got.dumpEach(t, a.store); !sameAnswers(got, m.want) {
			t.Fatalf("copy %d does not have what was there", i)
		}
		sendMinutes(t, a, "stays", -100+i, -50, float64(i)*1e6)
		settled(t, a)
		moments = append(moments, takeMoment(t, fmt.Sprint("copy", i), o, a))
		again := filepath.Join(t.TempDir(), "again")
		must(t, a.store.Backup(t.Context(), again))
		stop()
		must(t, pebble.Verify(t.Context(), again))
		if got := startDamaged(t, o, copyOfPath(t, again)); got.refused != "" || !sameAnswers(got, moments[i].want) {
			t.Errorf("backup of copy %d: %s", i, got.refused)
		}
		if got := startDamaged(t, o, path); got.refused != "" || !sameAnswers(got, moments[i].want) {
			t.Errorf("copy %d, started again: %s", i, got.refused)
		}
	}
	for _, from := range []int{1, 3, 1 << 4, 0b110100, 0b111100, 0b101000} {
		for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, 2}} {
			if result := startMixed(t, moments[pair[0]], moments[pair[1]], from); result != "refused" {
				t.Errorf("parts %b of copy %d among those of copy %d: %s", from, pair[1], pair[0], result)
			}
		}
	}
}
