package fsck

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// names are the UIDs 1 to 9 of each kind, named by these digits.
type names struct{}

func (names) Names(_ context.Context, k storage.NameKind, uids []string) ([]string, error) {
	all := make([]string, len(uids))
	for i, uid := range uids {
		if id := uid[len(uid)-1]; strings.Trim(uid[:len(uid)-1], "\x00") == "" && id > 0 && id < 10 {
			all[i] = fmt.Sprintf("%c%d", "mkv"[k], id)
		}
	}
	return all, nil
}

func (names) Lookup(_ context.Context, _ storage.NameKind, list []string) ([]string, error) {
	uids := make([]string, len(list))
	for i, name := range list {
		if len(name) == 2 && name[0] == 'm' {
			uids[i] = string([]byte{0, 0, name[1] - '0'})
		}
	}
	return uids, nil
}

// now is the time of the tests: long after their cells were written.
const now = 2_000_000_000_000

// world is a data table.
type world struct {
	*testing.T
	db     kv.KV
	layout schema.Layout
}

// worlds are the same table on an engine of each contract.
func worlds(t *testing.T) map[string]*world {
	mem, shared := kv.NewMem(kvtest.Tables()...), kv.NewShared(kvtest.Tables()...)
	mem.SetClock(func() int64 { return now })
	shared.SetClock(func() int64 { return now })
	for id := range byte(9) {
		names := []kv.Mutation{{Key: []byte{0, 0, id + 1}, Puts: []kv.Put{{Qualifier: []byte("metrics"), Value: []byte{'m', '1' + id}}}}}
		for _, db := range []kv.KV{mem, shared} {
			if err := db.Apply(t.Context(), "tsdb-uid", schema.FamilyName, names); err != nil {
				t.Fatal(err)
			}
		}
	}
	return map[string]*world{"local": {t, mem, schema.DefaultLayout()}, "shared": {t, shared, schema.DefaultLayout()}}
}

func (w *world) checker() *Checker {
	_, exclusive := w.db.(*kv.Mem)
	return New(Options{
		DB: kv.NewEngine(w.db, exclusive), Tables: storage.Tables{Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Tree: "tsdb-tree"}, Layout: w.layout, Names: names{},
		Alone: func(change func() error) error { return change() }, Register: w.register, Now: func() time.Time { return time.UnixMilli(now) },
	})
}

// register writes a row of tsdb-meta.
func (w *world) register(_ context.Context, tsuid []byte, first, last uint32) error {
	w.put(fmt.Sprintf("meta %X ts_ctr=0000000000000001 ts_meta=%s", tsuid, schema.AppendNewTSMeta(nil, tsuid, int64(first))))
	return nil
}

// put writes a row: its key, and cells as QUALIFIER=VALUE, with @TIME or not. Cells without a time
// are written at 1, 2, 3 and so on, in their order. A row of tsdb-meta begins with "meta".
func (w *world) put(line string) {
	w.Helper()
	fields := strings.Fields(line)
	if meta := fields[0] == "meta"; meta {
		w.putMeta(fields[1:])
		return
	}
	for i, field := range fields[1:] {
		cell, at, timed := strings.Cut(field, "@")
		time := int64(i + 1)
		if timed {
			fmt.Sscan(at, &time)
		}
		q, v, _ := strings.Cut(cell, "=")
		value := unhex(w.T, v)
		if strings.HasPrefix(v, "{") {
			value = []byte(v)
		}
		m := kv.Mutation{Key: unhex(w.T, fields[0]), Puts: []kv.Put{{Qualifier: unhex(w.T, q), Value: value, Time: time}}}
		if err := w.db.Apply(w.Context(), "tsdb", "t", []kv.Mutation{m}); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) putMeta(fields []string) {
	w.Helper()
	m := kv.Mutation{Key: unhex(w.T, fields[0])}
	for _, field := range fields[1:] {
		q, v, _ := strings.Cut(field, "=")
		value := unhex(w.T, v)
		if strings.HasPrefix(v, "{") {
			value = []byte(v)
		}
		m.Puts = append(m.Puts, kv.Put{Qualifier: []byte(q), Value: value, Time: 1})
	}
	if err := w.db.Apply(w.Context(), "tsdb-meta", "name", []kv.Mutation{m}); err != nil {
		w.Fatal(err)
	}
}

// metas are the rows of tsdb-meta, as putMeta reads them.
func (w *world) metas() (lines []string) {
	w.Helper()
	for r, err := range w.db.Scan(w.Context(), kv.Scan{Table: "tsdb-meta", Family: "name"}) {
		if err != nil {
			w.Fatal(err)
		}
		line := fmt.Sprintf("meta %X", r.Key)
		for _, c := range r.Cells {
			if len(c.Value) > 0 && c.Value[0] == '{' {
				line += fmt.Sprintf(" %s=%s", c.Qualifier, c.Value)
			} else {
				line += fmt.Sprintf(" %s=%X", c.Qualifier, c.Value)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func unhex(t *testing.T, text string) []byte {
	if strings.HasPrefix(text, "{") {
		return nil
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

// rows are the rows of the table, as put reads them, without stamps and cells of ages.
func (w *world) rows() (lines []string) {
	w.Helper()
	for r, err := range w.db.Scan(w.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			w.Fatal(err)
		}
		line := fmt.Sprintf("%X", r.Key)
		for _, c := range r.Cells {
			switch {
			case schema.ClassifyCell(c.Qualifier) == schema.CellAges && c.Value[0] == 1:
			case len(c.Value) > 0 && c.Value[0] == '{':
				line += fmt.Sprintf(" %X=%s", c.Qualifier, c.Value)
			default:
				line += fmt.Sprintf(" %X=%X", c.Qualifier, c.Value)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// run checks the table.
func (w *world) run(q Query) (found []string, report Report) {
	w.Helper()
	report, err := Run(w.Context(), w.checker(), RunOptions{
		Query: q, Parallel: 1, Now: time.Now, Every: time.Hour, Found: func(f Finding) { found = append(found, f.String()) },
	})
	if err != nil {
		w.Fatal(err)
	}
	return found, report
}

// TestCheck runs testdata/data and testdata/meta: rows that are put into a table, with what a check
// finds and, where it mends, what the rows are then. It is the same on a local engine and on a shared
// one.
func TestCheck(t *testing.T) {
	for _, table := range []string{TableData, TableMeta} {
		t.Run(table, func(t *testing.T) { checkFile(t, table) })
	}
}

func checkFile(t *testing.T, table string) {
	datadriven.RunTest(t, "testdata/"+table, func(t *testing.T, d *datadriven.TestData) string {
		q := Query{Tables: []string{table}}
		layout := schema.DefaultLayout()
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "fix":
				fix, err := ParseFix(strings.Join(arg.Vals, ","))
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				q.Fix = fix
			case "salt":
				layout.SaltWidth, layout.SaltBuckets = 1, 20
			case "metric":
				q.Metrics = arg.Vals
			case "from":
				fmt.Sscan(arg.Vals[0], &q.From)
			case "before":
				fmt.Sscan(arg.Vals[0], &q.Before)
			}
		}
		var answer, rows string
		both := worlds(t)
		for _, name := range []string{"local", "shared"} {
			w := both[name]
			w.layout = layout
			for line := range strings.Lines(d.Input) {
				w.put(line)
			}
			before := append(w.rows(), w.metas()...)
			found, _ := w.run(q)
			text := ""
			for _, f := range found {
				text += f + "\n"
			}
			after := append(w.rows(), w.metas()...)
			if len(q.Fix) == 0 && !slices.Equal(before, after) {
				t.Errorf("%s: %s: a check without mends changed %v to %v", d.Pos, name, before, after)
			}
			if answer != "" && answer != text {
				t.Errorf("%s: the engines differ:\n%s\nand\n%s", d.Pos, answer, text)
			}
			answer = text
			if now := strings.Join(after, "\n") + "\n"; len(q.Fix) > 0 && rows == "" {
				rows = "rows:\n" + now
			} else if len(q.Fix) > 0 && rows != "rows:\n"+now {
				rows += "rows of a shared table:\n" + now
			}
		}
		return answer + rows
	})
}

func TestParseFix(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"duplicate":             "duplicate",
		"bad-key , bad-trailer": "bad-key,bad-trailer",
		"wrong-salt":            "error",
		"nothing":               "error",
	} {
		fix, err := ParseFix(text)
		got := strings.Trim(strings.ReplaceAll(fmt.Sprint(fix), " ", ","), "[]")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("ParseFix(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	all, err := ParseFix(FixAll)
	lossless, err2 := ParseFix(FixLossless)
	if err != nil || err2 != nil || !slices.Contains(all, BadKey) || slices.Contains(lossless, BadKey) || !slices.Contains(lossless, Duplicate) {
		t.Error(all, err, lossless, err2)
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		from, to, at string
		want         float64
	}{{"00", "04", "02", 0.5}, {"00", "04", "00", 0}, {"00", "04", "04", 1}, {"00", "04", "05", 1}, {"", "", "80", 0.5}, {"03", "03", "03", 0}, {"", "", "", 0}} {
		if got := between(unhex(t, c.from), unhex(t, c.to), unhex(t, c.at)); got < c.want-0.01 || got > c.want+0.01 {
			t.Errorf("between(%s, %s, %s) = %v, want %v", c.from, c.to, c.at, got, c.want)
		}
	}
}
