package pickle

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A recording is a pickle and what Python 3 reads from it; see testdata/record.py.
type recording struct {
	Pickle []byte
	Value  any
}

func recordings(t testing.TB) []recording {
	t.Helper()
	file, err := os.Open("testdata/pickles.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []recording
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var one recording
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// shown writes a value as the recordings do. Integers are written as the floats nearest to them.
func shown(d *Decoder, v Value, depth int) any {
	if depth > 50 {
		return "deep"
	}
	switch v.Kind() {
	case None:
		return nil
	case Bool:
		return v.Number() == 1
	case Int:
		return map[string]any{"i": floatText(v.Number())}
	case BigInt:
		return map[string]any{"i": "big"}
	case Float:
		return map[string]any{"f": floatText(v.Number())}
	case Text:
		text := d.Text(v)
		return map[string]any{"s": string(text)}
	case Bytes:
		text := d.Text(v)
		return map[string]any{"b": base64.StdEncoding.EncodeToString(text)}
	case Dict:
		return "dict"
	}
	all := []any{map[Kind]string{Tuple: "tuple", List: "list"}[v.Kind()]}
	for _, item := range d.Items(v) {
		all = append(all, shown(d, item, depth+1))
	}
	return all
}

func floatText(v float64) string {
	if v == 0 { // an integer has no sign
		v = math.Abs(v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// normal rewrites the numbers of a recorded value as floatText does.
func normal(t testing.TB, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = normal(t, v[i])
		}
	case map[string]any:
		if text, ok := v["f"].(string); ok {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			v["f"] = floatText(f)
		}
		if text, ok := v["i"].(string); ok && text != "big" {
			n, ok := new(big.Int).SetString(text, 10)
			if !ok {
				t.Fatal(text)
			}
			f, _ := new(big.Float).SetInt(n).Float64()
			v["i"] = floatText(f)
			if math.IsInf(f, 0) {
				v["i"] = "big"
			}
		}
	}
	return v
}

// TestAgainstPython: what is read is what Python reads, and what Python refuses is refused. Sets are
// refused, too, and so are underscores in numbers.
func TestAgainstPython(t *testing.T) {
	var d Decoder
	refused, read := 0, 0
	for _, r := range recordings(t) {
		v, err := d.Decode(r.Pickle)
		if r.Value == "error" {
			if refused++; err == nil {
				t.Errorf("%q: Python refuses it, we read %v", r.Pickle, shown(&d, v, 0))
			}
			continue
		}
		if err != nil {
			if r.Value != "other" && string(r.Pickle) != "I1_0\n." {
				t.Errorf("%.200q: %v, Python reads %v", r.Pickle, err, r.Value)
			}
			continue
		}
		read++
		if want, got := fmt.Sprint(normal(t, r.Value)), fmt.Sprint(shown(&d, v, 0)); got != want {
			t.Errorf("%.200q: %.500s, Python reads %.500s", r.Pickle, got, want)
		}
	}
	if refused < 30 || read < 500 {
		t.Errorf("%d were refused, %d read", refused, read)
	}
}

// TestUnsafe: nothing that refers to code is read.
func TestUnsafe(t *testing.T) {
	var d Decoder
	for _, pickle := range []string{"cos\nsystem\n(S'true'\ntR.", "(S'x'\nios\nsystem\n.", "\x8c\x02os\x8c\x06system\x93.", "\x82\x01.", "Px\n.", "NQ.", "Nb.", "NR.", "N\x81."} {
		if _, err := d.Decode([]byte(pickle)); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%q: %v", pickle, err)
		}
	}
}

// TestMemory: a pickle takes little memory for its length, whatever its opcodes are.
func TestMemory(t *testing.T) {
	const length = 1 << 18
	for _, piece := range []string{")", "]", "N2", "(", "N\x85", "]N\x94a", "}", "K\x012\x86", "N(NNt", "Nr\x00\x00\x04\x00", "](22222e", "](]]]]e", "\x8c\x01a\x94", "V\xe9\n", "]2a"} {
		var d Decoder
		_, _ = d.Decode([]byte(strings.Repeat(piece, length/len(piece)) + "."))
		if size := d.Size(); size > 32*length {
			t.Errorf("%q takes %d bytes a byte", piece, size/length)
		}
	}
}

// rowsOf returns what is read of a pickle as rows.
func rowsOf(r *Rows, pickle []byte) (rows []any, ok bool) {
	rows = []any{"list"}
	ok = r.Read(pickle, func(text []byte, first, second float64) bool {
		rows = append(rows, fmt.Sprintf("%q %s %s", text, floatText(first), floatText(second)))
		return true
	})
	return rows, ok
}

// rowsOfValue returns a decoded value as rows; nil: it has another form.
func rowsOfValue(d *Decoder, v Value) []any {
	if v.Kind() != List {
		return nil
	}
	rows := []any{"list"}
	for _, item := range d.Items(v) {
		pair := d.Items(item)
		if item.Kind() != Tuple || len(pair) != 2 || pair[0].Kind() != Text || pair[1].Kind() != Tuple || len(d.Items(pair[1])) != 2 {
			return nil
		}
		numbers := d.Items(pair[1])
		rows = append(rows, fmt.Sprintf("%q %s %s", d.Text(pair[0]), floatText(numbers[0].Number()), floatText(numbers[1].Number())))
	}
	return rows
}

// TestRows: Rows reads the lists of points that Python writes in the protocols 2 to 5, and they are those that
// Decode reads.
func TestRows(t *testing.T) {
	var d Decoder
	var r Rows
	read := map[int]int{}
	for _, one := range recordings(t) {
		rows, ok := rowsOf(&r, one.Pickle)
		if !ok {
			continue
		}
		v, err := d.Decode(one.Pickle)
		if want := rowsOfValue(&d, v); err != nil || fmt.Sprint(rows) != fmt.Sprint(want) {
			t.Errorf("%.200q: %v, Decode reads %v, %v", one.Pickle, rows, want, err)
		}
		if len(rows) > 3 && one.Pickle[0] == opProtocol {
			read[int(one.Pickle[1])]++
		}
	}
	for protocol := 2; protocol <= highest; protocol++ {
		if read[protocol] == 0 {
			t.Errorf("no pickle of points in protocol %d is read", protocol)
		}
	}
}

// FuzzRows: what Rows reads, Decode reads alike.
func FuzzRows(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.Pickle)
	}
	f.Add([]byte("\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x01a\x94K\x05K\x06\x86\x94\x86\x94h\x01M\x05\x06J\x06\x07\x08\x09\x86\x94\x86\x94e."))
	f.Add([]byte("\x80\x02]q\x00U\x01aq\x01J\xff\xff\xff\xffG\x00\x00\x00\x00\x00\x00\x00\x00\x86q\x02\x86q\x03a."))
	f.Add([]byte("]q\x00(X\x01\x00\x00\x00aq\x00j\x00\x00\x00\x00K\x01\x86\x86e."))
	var d Decoder
	var r Rows
	f.Fuzz(func(t *testing.T, pickle []byte) {
		rows, ok := rowsOf(&r, pickle)
		if !ok {
			return
		}
		v, err := d.Decode(pickle)
		if want := rowsOfValue(&d, v); err != nil || fmt.Sprint(rows) != fmt.Sprint(want) {
			t.Errorf("%q: %v, Decode reads %v, %v", pickle, rows, want, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.Pickle)
	}
	var d Decoder
	f.Fuzz(func(t *testing.T, pickle []byte) {
		v, err := d.Decode(pickle)
		if err != nil {
			return
		}
		first := fmt.Sprint(shown(&d, v, 0))
		var fresh Decoder
		again, err := fresh.Decode(pickle)
		if err != nil || fmt.Sprint(shown(&fresh, again, 0)) != first {
			t.Errorf("%q is read in another way in fresh memory: %v", pickle, err)
		}
	})
}

// TestManyValues: a pickle with more values than points of its length have is refused before they take much
// work and memory.
func TestManyValues(t *testing.T) {
	const length = 1 << 18
	for _, piece := range []string{")", "]", "(", "}", "2", "]N\x94a", "N"} {
		var d Decoder
		_, err := d.Decode([]byte("N\x94" + strings.Repeat(piece, length/len(piece)) + "."))
		if !errors.Is(err, errMany) || d.i > length/2+8*freeValues {
			t.Errorf("%q: %v at byte %d", piece, err, d.i)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	var pickle []byte
	for _, r := range recordings(b) {
		if len(r.Pickle) > len(pickle) {
			pickle = r.Pickle
		}
	}
	var d Decoder
	b.SetBytes(int64(len(pickle)))
	for b.Loop() {
		if _, err := d.Decode(pickle); err != nil {
			b.Fatal(err)
		}
	}
}
