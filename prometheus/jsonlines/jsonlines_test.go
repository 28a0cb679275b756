package jsonlines

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
)

// TestLines: what is parsed is what was written, in all bits.
func TestLines(t *testing.T) {
	ls := labels.FromStrings("__name__", "m", "a", "x\"\n\u2028ü<")
	values := []float64{0, math.Copysign(0, -1), 1.5, math.MaxFloat64, 5e-324, math.Inf(1), math.Inf(-1)}
	times := []int64{1, 2, 3, 4, 5, 6, 1 << 41}
	text := Append(nil, ls, times, values)
	got, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if !labels.Equal(got.Labels, ls) || !slices.Equal(got.Times, times) || !slices.EqualFunc(got.Values, values, same) {
		t.Errorf("%s: %v", text, got)
	}
	if want := `"values":[0,-0,1.5,1.7976931348623157e+308,5e-324,1e999,-1e999],"timestamps":[1,`; !strings.Contains(string(text), want) {
		t.Errorf("%s lacks %s", text, want)
	}
}

// TestVictoriaMetrics reads a line of VictoriaMetrics' documentation, and refuses others.
func TestVictoriaMetrics(t *testing.T) {
	l, err := Parse([]byte(`{"metric":{"__name__":"up","job":"node_exporter","instance":"localhost:9100"},"values":[0,0,0],"timestamps":[1549891472010,1549891487724,1549891503438]}`))
	if err != nil || l.Labels.String() != `{__name__="up", instance="localhost:9100", job="node_exporter"}` || len(l.Values) != 3 {
		t.Errorf("%v, %v", l, err)
	}
	// What VictoriaMetrics 1.79 answers, and what later ones do.
	for _, text := range []string{`{"metric":{"__name__":"NaN\"+Inf"},"values":[1,+Inf,-Inf,NaN,0],"timestamps":[1700000000000,2,3,4,5]}`, `{"metric":{"__name__":"NaN\"+Inf"},"values":[1,"Infinity","-Infinity",null,0],"timestamps":[1700000000000,2,3,4,5]}`} {
		l, err := Parse([]byte(text))
		if err != nil || l.Labels.Get("__name__") != `NaN"+Inf` || !math.IsInf(l.Values[1], 1) || !math.IsInf(l.Values[2], -1) || !math.IsNaN(l.Values[3]) {
			t.Errorf("%s: %v, %v", text, l, err)
		}
	}
	for _, text := range []string{
		``, `{`, `[]`, `{}`, `{"name":"up","points":[[1,2]]}`, `{"values":[1],"timestamps":[1]}`, `{"metric":{},"values":null,"timestamps":[]}`,
		`{"metric":{},"values":[1],"timestamps":[]}`, `{"metric":{},"values":["x"],"timestamps":[1]}`, `{"metric":{},"values":[1],"timestamps":[1.5]}`,
		`{"metric":{},"values":[1,2],"timestamps":[1,null]}`, `{"metric":{},"values":[1],"timestamps":["1"]}`, `{"metric":{"a":1},"values":[1],"timestamps":[1]}`,
		"{\"metric\":{\"a\":\"\xff\"},\"values\":[1],\"timestamps\":[1]}",
	} {
		if l, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, l)
		}
	}
}

// FuzzParse: nothing makes it panic, and what it takes it writes so that it is read as the same.
func FuzzParse(f *testing.F) {
	f.Add(`{"metric":{"__name__":"up"},"values":[0,null,"Infinity"],"timestamps":[1,2,3]}`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse([]byte(text))
		if err != nil {
			return
		}
		if slices.ContainsFunc(l.Values, math.IsNaN) {
			return
		}
		again, err := Parse(Append(nil, l.Labels, l.Times, l.Values))
		if err != nil || !slices.Equal(again.Times, l.Times) {
			t.Errorf("%q: %v, %v", text, again, err)
		}
	})
}
