package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/graphite/pipeline"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/storage"
)

// whisperFiles are files of whisper, and what whisper reads of them; see record.py there.
const whisperFiles = "../../migrate/whisper/testdata"

// A whisperFetch is a call of whisper.fetch, and its answer.
type whisperFetch struct {
	File             string
	From, Until, Now int64
	Start, End, Step int64
	Values           []*float64
}

func readLines[T any](t *testing.T, name string, use func(T)) {
	t.Helper()
	f, err := os.Open(filepath.Join(whisperFiles, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		use(one)
	}
	if n < 10 || lines.Err() != nil {
		t.Fatal(n, lines.Err())
	}
}

// importFixture returns an API over a store, and what imports files into it.
func importFixture(t *testing.T, archives string) (*web, *graphitefiles.Import) {
	t.Helper()
	store := graphitetest.New(t)
	w := newWebOver(store)
	choice, err := graphitefiles.ParseArchiveChoice(archives)
	if err != nil {
		t.Fatal(err)
	}
	prepared := make(chan struct{})
	close(prepared)
	o := graphitefiles.ImporterParts{
		Store:     pipeline.Store{Appender: store, Catalog: store.Catalog(), Trees: store.Trees, Names: store.Names},
		Documents: store.Documents(), Archives: store.Archives(), Sources: w.api.Sources, Prepared: prepared,
	}
	return w, &graphitefiles.Import{Archives: choice, Store: graphitefiles.NewImporter(o).Store}
}

// importAll imports all files, below w.
func importAll(t *testing.T, f *graphitefiles.Import) {
	t.Helper()
	names, err := filepath.Glob(whisperFiles + "/*.wsp")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Whisper(t.Context(), "w/"+filepath.Base(name), data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// wantFetch compares an answer of /render with what whisper reads.
func (w *web) wantFetch(t *testing.T, one whisperFetch) {
	t.Helper()
	if one.From >= one.Until {
		return // graphite-web refuses it
	}
	out := w.get(fmt.Sprintf("/render?target=w.%s&format=json&from=%d&until=%d&now=%d", one.File, one.From, one.Until, one.Now))
	var got []struct{ Datapoints [][2]*float64 }
	text := strings.ReplaceAll(out.Body.String(), "Infinity", "null")
	if err := json.Unmarshal([]byte(text), &got); err != nil || out.Code != http.StatusOK {
		t.Fatalf("%+v: %d %s", one, out.Code, text)
	}
	if one.Step == 0 {
		if len(got) > 0 {
			t.Fatalf("%+v: %s", one, text)
		}
		return
	}
	if len(got) != 1 || len(got[0].Datapoints) != len(one.Values) {
		t.Fatalf("%s from %d until %d now %d: want %d points from %d of %d s, got %s", one.File, one.From, one.Until, one.Now, len(one.Values), one.Start, one.Step, text)
	}
	for i, p := range got[0].Datapoints {
		if want := one.Start + int64(i)*one.Step; int64(*p[1]) != want {
			t.Fatalf("%s from %d until %d now %d: slot %d at %v, want %d", one.File, one.From, one.Until, one.Now, i, *p[1], want)
		}
		if v, want := p[0], one.Values[i]; (v == nil) != (want == nil) || v != nil && math.Float64bits(*v) != math.Float64bits(*want) {
			t.Fatalf("%s from %d until %d now %d: %s at %d of %d s, want %s", one.File, one.From, one.Until, one.Now, slotText(v), int64(*p[1]), one.Step, slotText(want))
		}
	}
}

func slotText(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(*v)
}

// What /render answers of imported files is what whisper reads of them, for ranges of all their archives.
func TestImportedIsWhatWhisperReads(t *testing.T) {
	w, f := importFixture(t, graphitefiles.AllArchives)
	importAll(t, f)
	readLines(t, "fetches.jsonl", func(one whisperFetch) { w.wantFetch(t, one) })
	importAll(t, f) // again, which is harmless
	readLines(t, "fetches.jsonl", func(one whisperFetch) { w.wantFetch(t, one) })
}

// What /render answers of imported files of go-carbon, which are compressed, is what go-whisper reads of them.
func TestImportedIsWhatGoWhisperReads(t *testing.T) {
	w, f := importFixture(t, graphitefiles.AllArchives)
	points := 0
	readLines(t, "compressed/points.jsonl", func(one struct {
		File     string
		Archives [][2]int64
		End      int64
		Points   [][][2]uint64
	},
	) {
		data, err := os.ReadFile(filepath.Join(whisperFiles, "compressed", one.File+".wsp"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Whisper(t.Context(), "c/"+one.File+".wsp", data); err != nil {
			t.Fatalf("%s: %v", one.File, err)
		}
		if one.End == 0 {
			return // it has no points
		}
		for level, archive := range one.Archives {
			from := one.End - archive[0]*archive[1]
			out := w.get(fmt.Sprintf("/render?target=c.%s&format=json&from=%d&until=%[3]d&now=%[3]d", one.File, from, one.End))
			var got []struct{ Datapoints [][2]*float64 }
			if err := json.Unmarshal([]byte(strings.NewReplacer("-1e9999", "null", "1e9999", "null").Replace(out.Body.String())), &got); err != nil || len(got) != 1 {
				t.Fatalf("%s: %v %s", one.File, err, out.Body)
			}
			want := map[int64]float64{}
			for _, p := range one.Points[level] {
				want[int64(p[0])] = math.Float64frombits(p[1])
			}
			for _, series := range got {
				for _, p := range series.Datapoints {
					if len(one.Points[level]) > 0 && uint64(*p[1]) < one.Points[level][0][0] {
						continue // go-whisper was asked a little later
					}
					v, ok := want[int64(*p[1])]
					if ok = ok && !math.IsInf(v, 0); ok != (p[0] != nil) || ok && math.Float64bits(v) != math.Float64bits(*p[0]) {
						t.Fatalf("%s, archive %d: %s at %v, want %v, %v", one.File, level, slotText(p[0]), *p[1], v, ok)
					}
					points++
				}
			}
		}
	})
	if points < 1000 {
		t.Errorf("%d points", points)
	}
}

// A series that was deleted is imported anew, by the same importer.
func TestImportAfterDeletion(t *testing.T) {
	w, f := importFixture(t, graphitefiles.AllArchives)
	importAll(t, f)
	refs := w.Register(t, []storage.Series{w.Names.FromPath("w.avg")})
	if _, err := w.Delete(t.Context(), storage.Deletion{Refs: refs, Whole: true}); err != nil {
		t.Fatal(err)
	}
	importAll(t, f)
	refs = w.Register(t, []storage.Series{w.Names.FromPath("w.avg")})
	if kept, err := w.Documents().SeriesCustom(t.Context(), refs, source.KeptKey); err != nil || kept[0] == "" {
		t.Fatal(kept, err)
	}
	readLines(t, "fetches.jsonl", func(one whisperFetch) { w.wantFetch(t, one) })
}

// It stays so when more points come.
func TestImportedGoesOn(t *testing.T) {
	w, f := importFixture(t, graphitefiles.AllArchives)
	importAll(t, f)
	readLines(t, "later.jsonl", func(one struct {
		File   string
		Points [][2]float64
	},
	) {
		var lines strings.Builder
		for _, p := range one.Points {
			fmt.Fprintf(&lines, "w.%s %v %d\n", one.File, p[1], int64(p[0]))
		}
		w.Add(t, strings.NewReader(lines.String()))
	})
	readLines(t, "fetches_later.jsonl", func(one whisperFetch) { w.wantFetch(t, one) })
}
