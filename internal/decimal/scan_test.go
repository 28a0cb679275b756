package decimal

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestScan(t *testing.T) {
	for _, c := range []struct {
		text string
		want Number
		n    int
	}{
		{"0", Number{Whole: true}, 1},
		{"-0 ", Number{Negative: true, Whole: true}, 2},
		{"+12x", Number{Mantissa: 12, Whole: true}, 3},
		{"1.50", Number{Mantissa: 150, Exponent: -2}, 4},
		{".5", Number{Mantissa: 5, Exponent: -1}, 2},
		{"5.", Number{Mantissa: 5}, 2},
		{"1.25e+3,", Number{Mantissa: 125, Exponent: 1}, 7},
		{"7E-2", Number{Mantissa: 7, Exponent: -2}, 4},
		{"999999999999999999", Number{Mantissa: 999999999999999999, Whole: true}, 18},
		{"1.2.3", Number{Mantissa: 12, Exponent: -1}, 3},
		{"1000000000000000000", Number{}, 0},
		{"", Number{}, 0},
		{"-", Number{}, 0},
		{".", Number{}, 0},
		{"e5", Number{}, 0},
		{"1e", Number{}, 0},
		{"1e+", Number{}, 0},
		{"1e99999", Number{}, 0},
		{"nan", Number{}, 0},
		{"--1", Number{}, 0},
	} {
		d, n := Scan([]byte(c.text))
		if n != c.n || n > 0 && d != c.want {
			t.Errorf("Scan(%q) = %+v, %d, want %+v, %d", c.text, d, n, c.want, c.n)
		}
	}
}

// FuzzScan checks that a Number equals what strconv reads, to the last bit.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		"0", "-0", "-0.0", "1.5", "999999999999999.9", "123456789012345678", "0.000000000000001", "-", ".5", "5.", "1.2.3", "00.10", "1e22", "1e23", "9007199254740993",
		"9007199254740993e1", "1.7179869184e+10", "8.5e-22", "123456789.123456789", "4.35", "0.1e-5",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, n := Scan(text)
		if n == 0 {
			return
		}
		number := string(text[:n])
		want, err := strconv.ParseFloat(number, 64)
		if err != nil && !math.IsInf(want, 0) {
			t.Fatalf("%q was read, which is no number: %v", number, err)
		}
		if v, ok := d.Float64(); ok && math.Float64bits(v) != math.Float64bits(want) {
			t.Errorf("%q is %v, want %v", number, v, want)
		}
		if d.Whole == strings.ContainsAny(number, ".eE") {
			t.Errorf("%q: whole is %v", number, d.Whole)
		}
		if d.Whole {
			if whole, err := strconv.ParseInt(number, 10, 64); err != nil || whole != d.Int64() {
				t.Errorf("%q is %d, want %d", number, d.Int64(), whole)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	for _, text := range []string{"42", "42.75", "1.7179869184e+10", "281474976710655"} {
		b.Run(text, func(b *testing.B) {
			number := []byte(text)
			b.ReportAllocs()
			for b.Loop() {
				d, _ := Scan(number)
				if _, ok := d.Float64(); !ok {
					b.Fatal("not read")
				}
			}
		})
	}
}
