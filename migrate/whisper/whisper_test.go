package whisper

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// A fetch is one line of testdata/fetches.jsonl, which testdata/record.py made.
type fetch struct {
	File             string
	From, Until, Now int64
	Start, End, Step int64
	Values           []*float64
}

func fetches(t *testing.T) (all []fetch) {
	t.Helper()
	f, err := os.Open("testdata/fetches.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var one fetch
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if len(all) < 400 {
		t.Fatalf("%d fetches", len(all))
	}
	return all
}

func parseFile(t *testing.T, name string) *File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// level returns the archive that whisper reads: the first that reaches back far enough.
func (f *File) level(back int64) int {
	for i, a := range f.Archives {
		if a.Retention() >= back {
			return i
		}
	}
	return len(f.Archives) - 1
}

func TestPointsAreThoseThatWhisperReads(t *testing.T) {
	for _, one := range fetches(t) {
		f := parseFile(t, one.File+".wsp")
		level := f.level(one.Now - one.From)
		if one.Step == 0 {
			continue
		}
		if f.Archives[level].Step != one.Step {
			t.Fatalf("%+v: archive of %d s", one, f.Archives[level].Step)
		}
		p := f.Points(level)
		if p.LeftOut > 0 {
			t.Fatalf("%s: %d left out", one.File, p.LeftOut)
		}
		at := map[int64]float64{}
		for i, when := range p.Times {
			at[when] = p.Values[i]
		}
		for i, want := range one.Values {
			got, ok := at[one.Start+int64(i)*one.Step]
			if ok != (want != nil) || ok && math.Float64bits(got) != math.Float64bits(*want) {
				t.Fatalf("%s from %d until %d now %d: slot %d is %v, %v", one.File, one.From, one.Until, one.Now, i, got, ok)
			}
		}
	}
}

func TestHeader(t *testing.T) {
	got := parseFile(t, "avg_zero.wsp").Header
	want := Header{Method: "avg_zero", XFF: float64(float32(0.2)), Archives: []conf.Archive{{Step: 60, Points: 60}, {Step: 300, Points: 144}, {Step: 3600, Points: 72}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// all returns the points of all archives.
func (f *File) all() (all []Points) {
	for level := range f.Archives {
		all = append(all, f.Points(level))
	}
	return all
}

func TestEncode(t *testing.T) {
	names, err := filepath.Glob("testdata/*.wsp")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		f := parseFile(t, filepath.Base(name))
		data, err := Encode(f.Header, f.all())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(f.all(), again.all()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	h := Header{Method: "sum", Archives: []conf.Archive{{Step: 10, Points: 6}}}
	for _, bad := range []Points{
		{Times: []int64{15}, Values: []float64{1}},
		{Times: []int64{20, 10}, Values: []float64{1, 2}},
		{Times: []int64{0}, Values: []float64{1}},
		{Times: []int64{1 << 32 * 10}, Values: []float64{1}},
	} {
		if _, err := Encode(h, []Points{bad}); err == nil {
			t.Errorf("%v is no error", bad)
		}
	}
	for _, bad := range []Header{
		{Method: "sum"},
		{Method: "median", Archives: h.Archives},
		{Method: "first", Archives: h.Archives},
		{Method: "sum", XFF: 2, Archives: h.Archives},
		{Method: "sum", Archives: []conf.Archive{{Step: 10, Points: 6}, {Step: 15, Points: 60}}},
		{Method: "sum", Archives: []conf.Archive{{Step: 1, Points: 1 << 29}}},
	} {
		if _, err := Encode(bad, nil); err == nil {
			t.Errorf("%v is no error", bad)
		}
	}
}

func TestDamaged(t *testing.T) {
	good, err := os.ReadFile("testdata/avg.wsp")
	if err != nil {
		t.Fatal(err)
	}
	put := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.BigEndian.PutUint32(b[at:], v)
			return b
		}
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string
	}{
		"empty":        {func([]byte) []byte { return nil }, "0 bytes are no header"},
		"cut":          {func(b []byte) []byte { return b[:len(b)-1] }, "archive 2 takes the bytes"},
		"cut header":   {func(b []byte) []byte { return b[:30] }, "ends in the list of its 3 archives"},
		"method":       {put(0, 9), "aggregation method 9"},
		"xff":          {put(8, math.Float32bits(1.5)), "xFilesFactor 1.5"},
		"nan":          {put(8, math.Float32bits(float32(math.NaN()))), "xFilesFactor NaN"},
		"no archives":  {put(12, 0), "0 archives"},
		"archives":     {put(12, 1<<31), "2147483648 archives"},
		"offset":       {put(16, 3), "archive 0 takes the bytes 3 to"},
		"far offset":   {put(16, math.MaxUint32), "archive 0 takes the bytes"},
		"step":         {put(20, 0), "120 slots of 0 s"},
		"slots":        {put(24, math.MaxUint32), "archive 0 takes the bytes"},
		"no multiple":  {put(32, 15), "does not divide"},
		"long":         {put(20, math.MaxUint32), "reaches back further than time does"},
		"overlap":      {put(24, 200), "lie over each other"},
		"other length": {put(4, 12), "it reaches back 12 s"},
	} {
		_, err := Parse(c.change(append([]byte(nil), good...)))
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	// The first slot says where the others belong.
	f, err := Parse(put(52, 7)(append([]byte(nil), good...)))
	if err != nil {
		t.Fatal(err)
	}
	whole := parseFile(t, "avg.wsp").Points(0)
	if p := f.Points(0); len(p.Times) > 0 || p.LeftOut < len(whole.Times) {
		t.Errorf("%d points, %d left out", len(p.Times), p.LeftOut)
	}
}

var sameBits = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

func FuzzParse(f *testing.F) {
	for _, name := range []string{"avg", "one", "empty"} {
		data, err := os.ReadFile("testdata/" + name + ".wsp")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if _, ok := file.archives[0].(*ring); !ok {
			return // FuzzParsePacked
		}
		all := file.all()
		for i, p := range all {
			if len(p.Times) != len(p.Values) || int64(len(p.Times)+p.LeftOut) > file.Archives[i].Points {
				t.Fatalf("%d points", len(p.Times))
			}
			for n, at := range p.Times {
				if n > 0 && at <= p.Times[n-1] || at%file.Archives[i].Step != 0 {
					t.Fatalf("times %d and %d", p.Times[n-1], at)
				}
			}
		}
		encoded, err := Encode(file.Header, all)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(encoded)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range again.all() {
			want := all[i]
			want.LeftOut = 0
			if diff := cmp.Diff(want, p, sameBits, cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
