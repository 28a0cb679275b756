package tsdtext

import (
	"bufio"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/client"
)

// Numbers are printed as Java's String.format("%f") does: the shortest digits, rounded half up.
func TestFixed(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.000000", 1: "1.000000", -1.5: "-1.500000", 5e-7: "0.000001", 4.9e-7: "0.000000", 0.9999995: "1.000000", 9.9999995: "10.000000",
		1e21: "1000000000000000000000.000000", 123456.789: "123456.789000", 0.1 + 0.2: "0.300000", 1e-300: "0.000000", 1.0000005: "1.000001", 99999999.9999999: "100000000.000000",
	} {
		if got := string(appendFixed(nil, v)); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// A printed number is as near to the digits as six decimals can be.
func FuzzFixed(f *testing.F) {
	f.Add(0.1)
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		text := string(appendFixed(nil, v))
		digits, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'e', -1, 64))
		got, ok := new(big.Rat).SetString(text)
		if !ok || len(text)-strings.IndexByte(text, '.') != 1+decimals {
			t.Fatalf("%v is printed as %s", v, text)
		}
		if d := new(big.Rat).Sub(got, digits); d.Abs(d).Cmp(big.NewRat(1, 2_000_000)) > 0 {
			t.Fatalf("%v is printed as %s", v, text)
		}
	})
}

func TestQueryLines(t *testing.T) {
	var s client.Series
	if err := json.Unmarshal([]byte(`{"metric":"a.b","tags":{"host":"x","dc":"l"},"dps":{"1356998400000":1,"1356998400500":2.5E-7,"3":"NaN","4":-0.0}}`), &s); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	w := bufio.NewWriter(&b)
	WriteQueryLines(w, &s)
	_ = w.Flush()
	const want = "a.b 1356998400000 1 {host=x, dc=l}\na.b 1356998400500 0.000000 {host=x, dc=l}\na.b 3 NaN {host=x, dc=l}\na.b 4 -0.000000 {host=x, dc=l}\n"
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}
