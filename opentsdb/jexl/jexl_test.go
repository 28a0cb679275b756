package jexl

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAsJEXL computes what JEXL itself computed; testdata/Record.java recorded it.
func TestAsJEXL(t *testing.T) {
	file, err := os.Open("testdata/jexl.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(text); lines.Scan(); n++ {
		columns := strings.Split(lines.Text(), "\t")
		want := strings.Join(columns[4:], " ")
		if got := result(t, columns); got != want {
			t.Errorf("%q: got %s, want %s", columns[:4], got, want)
		}
	}
	if n < 1000 {
		t.Errorf("%d expressions were recorded", n)
	}
}

// result computes an expression of a, b and c, and prints the result as the recording does.
func result(t *testing.T, columns []string) string {
	s, err := Parse(columns[0])
	if err != nil {
		return "PARSE "
	}
	var values []float64
	for _, name := range s.Variables() {
		v, err := strconv.ParseFloat(columns[1+int(name[0]-'a')], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	v, err := s.Eval(values)
	switch {
	case err != nil:
		return "EVAL "
	case v.isReal() && v.f != v.f:
		return v.Kind().String() + " 7ff8000000000000"
	case v.isReal():
		return fmt.Sprintf("%s %x", v.Kind(), math.Float64bits(v.f))
	}
	return fmt.Sprintf("%s %s", v.Kind(), v)
}

// TestVariables: they are found in any parentheses, which JEXL overlooks, in the order of their first use.
func TestVariables(t *testing.T) {
	for text, want := range map[string][]string{
		"b + a * b":     {"b", "a"},
		"((x)) + ((y))": {"x", "y"},
		"1 + 2":         nil,
		"a or bc":       {"a", "bc"},
		"ordered + e5":  {"ordered", "e5"},
		"$a+@b+_c":      {"$a", "@b", "_c"},
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Variables(), want) {
			t.Errorf("%s has the variables %q, want %q", text, s.Variables(), want)
		}
	}
	s, err := Parse("((a)) * 3")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Eval([]float64{2}); err != nil || v.f != 6 {
		t.Errorf("((a)) * 3 of 2 is %v, %v", v, err)
	}
}

// TestRefused: what does more than compute is refused as such, and so is what is too large.
func TestRefused(t *testing.T) {
	for _, text := range []string{
		"new('java.lang.ProcessBuilder', 'id').start()", "a.getClass()", "a.class", "a[0]", "f(a)", "b = a", "var b = a",
		"while (true) {}", "for (x : a) x", "foreach (x in a) x", "if (a) b", "return a", "size(a)", "empty(a)", "{1:2}", "[1, a]", "'text'",
		`"text"`, "a =~ b", "a !~ b", "1.5b", "a ? b : c(1)", "1.", ".5",
		strings.Repeat("(", 10_000) + "a" + strings.Repeat(")", 10_000), strings.Repeat("-", 10_000) + "a",
		strings.Repeat("(", 300) + "a" + strings.Repeat(")", 300), strings.Repeat("a?", 300) + "a", strings.Repeat("a?:", 300) + "a",
		strings.Repeat("a+", 500_000) + "a",
	} {
		var unsupported UnsupportedError
		if _, err := Parse(text); !errors.As(err, &unsupported) || len(err.Error()) > 500 {
			t.Errorf("%.50s: %v", text, err)
		}
	}
	for _, text := range []string{"a +", "a b", "(a", "a)", "#", "§", "a < b < c", "1e5", "08", "a ? b", "a ?: ", "\x00", "a == b == c", "0x", "99999999999999999999l"} {
		var syntax SyntaxError
		if _, err := Parse(text); !errors.As(err, &syntax) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLong: the longest expressions are read and computed at once.
func TestLong(t *testing.T) {
	begin := time.Now()
	text := strings.Repeat("a*b+", MaxLength/4-1) + "a"
	many := "v0"
	for i := 1; len(many) < MaxLength-10; i++ {
		many += "+v" + strconv.Itoa(i)
	}
	for _, text := range []string{text, many, "a" + strings.Repeat("/a", MaxLength/2-1), strings.Repeat("9", MaxLength-2) + "h"} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Eval(make([]float64, len(s.Variables()))); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestNumber: only a Double and a Bool are numbers for a TSD.
func TestNumber(t *testing.T) {
	for text, want := range map[string]struct {
		n  float64
		ok bool
	}{
		"a + 1": {3, true}, "a > 1": {1, true}, "a < 1": {0, true}, "a > 1 ? 1 : 2": {0, false}, "a > 1 ? 1.0 : 2": {0, false},
		"a > 1 ? 1.5d : 2": {1.5, true}, "a & 1": {0, false}, "null": {0, false}, "": {0, false},
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Eval([]float64{2})
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := v.Number(); n != want.n || ok != want.ok {
			t.Errorf("%s is %v, %v", text, n, ok)
		}
	}
}

// TestEvaluationError names the expression and the reason.
func TestEvaluationError(t *testing.T) {
	s, err := Parse(" (a > 1) * 2 ")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Eval([]float64{2})
	var failed EvaluationError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "'(a > 1) * 2' * error: BigInteger coercion: java.lang.Boolean:(true)") {
		t.Errorf("the error is %v", err)
	}
}

// FuzzParse: what is read is bounded and computes without a panic.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a + b * 2 / (c - 1.5d) % 3", "a > b ? 1.0 : !c && a || b", "a ?: -1; ~b ^ 3 | 0x1F & 017L", "a /* x */ // y", "null == true", "5h * 6h", "a.b", "'"} {
		f.Add(text, 1.5)
	}
	f.Fuzz(func(t *testing.T, text string, value float64) {
		s, err := Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		values := slices.Repeat([]float64{value}, len(s.Variables()))
		v, err := s.Eval(values)
		if err != nil {
			return
		}
		again, err := s.Eval(values)
		if err != nil || again.String() != v.String() || again.Kind() != v.Kind() {
			t.Errorf("%q is %v, and then %v, %v", text, v, again, err)
		}
	})
}
