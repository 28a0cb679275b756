package fsck

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// listed is a list of archives: "steps:60" may have the steps of 60 and 3600 s.
func listed(list string, step uint32) (string, error) {
	word := fmt.Sprint(step)
	switch {
	case list == "" || step != 60 && step != 3600:
		return list, errors.New("no such archive")
	case strings.Contains(list, ":"+word), strings.Contains(list, ","+word):
		return list, nil
	}
	return list + "," + word, nil
}

const archiveBase = 1_351_680_000

// archiveWorld has a row of archives of each kind of finding, on an engine of each contract.
func archiveWorld(t *testing.T, exclusive bool) *Checker {
	tables := append(kvtest.Tables(), kv.Table{Name: "tsdb-archive", Families: []string{schema.FamilyData}})
	var db kv.KV = kv.NewMem(tables...)
	if !exclusive {
		db = kv.NewShared(tables...)
	}
	w := &world{t, db, schema.DefaultLayout()}
	base := columns.ArchiveBase(archiveBase, 3600)
	var encoder columns.Encoder
	slots := func(step uint32) kv.Put {
		value := encoder.AppendArchive(nil, []int64{int64(base), int64(base) + int64(step)}, []float64{1, 2}, base, step)
		return kv.Put{Qualifier: columns.ArchiveQualifier(step), Value: value}
	}
	row := func(n byte, puts ...kv.Put) {
		m := kv.Mutation{Key: w.layout.AppendRowKey(nil, archiveSeries(n), base), Puts: puts}
		if err := db.Apply(t.Context(), "tsdb-archive", schema.FamilyData, []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	document := func(n byte, list string) {
		m := schema.TSMeta{TSUID: schema.FormatTSUID(archiveSeries(n))}
		m.Custom = m.Custom.With("archives", list)
		w.put(fmt.Sprintf("meta %X ts_ctr=0000000000000001 ts_meta=%s", archiveSeries(n), m.AppendTo(nil)))
	}
	row(1, slots(3600))
	document(1, "steps:3600")
	row(2, slots(3600))
	row(3, slots(3600))
	document(3, "steps:60")
	row(4, slots(1800), slots(3600))
	document(4, "steps:3600")
	row(5, kv.Put{Qualifier: columns.ArchiveQualifier(3600), Value: []byte{1, 2, 3}})
	document(5, "steps:3600")
	row(10, slots(3600)) // its value has no name
	checker := w.checker()
	checker.o.Archives = &Archives{Table: "tsdb-archive", Key: "archives", List: listed}
	checker.o.Now = time.Now
	return checker
}

func archiveSeries(n byte) []byte { return []byte{0, 0, 1, 0, 0, 1, 0, 0, n} }

// check returns the kinds of the findings of the table of archives, with their series.
func checkArchives(t *testing.T, c *Checker, fix string) (found []string) {
	t.Helper()
	kinds, err := ParseFix(fix)
	if err != nil {
		t.Fatal(err)
	}
	q := Query{Tables: []string{TableArchive}, Fix: kinds}
	stretches, err := c.Plan(t.Context(), q, 1)
	if err != nil || len(stretches) != 1 {
		t.Fatal(stretches, err)
	}
	err = c.Check(t.Context(), stretches[0], q, func(s Step) error {
		for _, f := range s.Findings {
			found = append(found, fmt.Sprintf("%s %s %v", f.Kind, f.Key[len(f.Key)-2:], f.Mended))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestArchives(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		c := archiveWorld(t, exclusive)
		for _, step := range []struct {
			fix  string
			want []string
		}{
			{"", []string{"lost-archive 02 false", "unlisted-archive 03 false", "stray-archive 04 false", "bad-archive 05 false", "unknown-uid 0a false", "lost-archive 0a false"}},
			{"lossless", []string{"lost-archive 02 false", "unlisted-archive 03 true", "stray-archive 04 false", "bad-archive 05 false", "unknown-uid 0a false", "lost-archive 0a false"}},
			{"all", []string{"lost-archive 02 true", "stray-archive 04 true", "bad-archive 05 true", "unknown-uid 0a true", "lost-archive 0a true"}},
			{"", nil},
		} {
			if diff := cmp.Diff(step.want, checkArchives(t, c, step.fix)); diff != "" {
				t.Errorf("exclusive %v, fix %q (-want +got):\n%s", exclusive, step.fix, diff)
			}
		}
		if left := archiveSteps(t, c); left != "01: 3600 03: 3600 04: 3600 " {
			t.Errorf("exclusive %v: left are %s", exclusive, left)
		}
	}
}

// archiveSteps lists the cells of the table of archives.
func archiveSteps(t *testing.T, c *Checker) (all string) {
	t.Helper()
	for row, err := range c.o.DB.Scan(t.Context(), kv.Scan{Table: "tsdb-archive", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%x: ", row.Key[len(row.Key)-1:])
		for _, cell := range row.Cells {
			step, _ := columns.ArchiveStep(cell.Qualifier)
			all += fmt.Sprint(step, " ")
		}
	}
	return all
}
