package kvtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Without faults the wrapper behaves like the engine.
func TestFaultyContract(t *testing.T) {
	Run(t, func(*testing.T) kv.KV { return New(kv.NewMem(Tables()...)) })
	Run(t, func(*testing.T) kv.KV { return NewVersioned(kv.NewShared(Tables()...)) })
}

// TestFaulty makes the second of three calls of each method fail and checks its error and its
// effect.
func TestFaulty(t *testing.T) {
	for _, test := range []struct {
		method  Method
		when    When
		answers string // of the three calls
		left    string // the rows afterwards
	}{
		{Apply, Before, "ok fault ok", "a1 b1 a3 b3"},
		{Apply, Midway, "ok fault ok", "a1 b1 a2 a3 b3"},
		{Apply, After, "ok fault ok", "a1 b1 a2 b2 a3 b3"},
		{Increment, Before, "1 fault 2", "n"},
		{Increment, After, "1 fault 3", "n"},
		{Increment, Midway, "1 fault 3", "n"},
		{CheckAndPut, Before, "true fault true", "c1 c3"},
		{CheckAndPut, After, "true fault true", "c1 c2 c3"},
		{Get, Before, "2 fault 2", "a0 b0"},
		{Get, After, "2 fault 2", "a0 b0"},
		{History, Before, "2 fault 2", "a0 b0"},
		{History, After, "2 fault 2", "a0 b0"},
		{Scan, Before, "2 0+fault 2", "a0 b0"},
		{Scan, Midway, "2 1+fault 2", "a0 b0"},
		{Scan, After, "2 2+fault 2", "a0 b0"},
	} {
		f := NewVersioned(kv.NewShared(Tables()...))
		s := &suite{T: t, kv: f, name: "t"}
		if test.method == Get || test.method == Scan || test.method == History {
			s.apply(s.puts("a0", "q", "v"), s.puts("b0", "q", "v"))
		}
		before := f.Calls(test.method)
		f.Fail(test.method, 2, test.when)
		var answers string
		for n := 1; n <= 3; n++ {
			answers += " " + s.callOnce(test.method, n)
		}
		if answers[1:] != test.answers || f.Calls(test.method) != before+3 {
			t.Errorf("%s %s: answers%s in %d calls, want %s", test.method, test.when, answers, f.Calls(test.method), test.answers)
		}
		var left string
		for _, row := range s.scan(s.all()) {
			left += " " + string(row.Key[len("t/"):])
		}
		if want := sortedWords(test.left); left[1:] != want {
			t.Errorf("%s %s: left%s, want %s", test.method, test.when, left, want)
		}
	}
}

// callOnce calls a method and returns its answer as a word.
func (s *suite) callOnce(m Method, n int) string {
	var answer any
	var err error
	switch m {
	case Get:
		var rows []kv.Row
		rows, err = s.kv.Get(s.Context(), dataTable, dataFamily, [][]byte{s.key("a0"), s.key("b0")})
		answer = len(rows)
	case History:
		var rows []kv.History
		rows, err = s.kv.(kv.Versioned).History(s.Context(), dataTable, dataFamily, [][]byte{s.key("a0"), s.key("b0")})
		answer = len(rows)
	case Scan:
		rows, scanErr := collect(s.Context(), s.kv, s.all())
		if errors.Is(scanErr, ErrFault) {
			return fmt.Sprintf("%d+fault", len(rows))
		}
		answer, err = len(rows), scanErr
	case Apply:
		answer = "ok"
		a, b := s.puts(fmt.Sprint("a", n), "q", "v"), s.puts(fmt.Sprint("b", n), "q", "v")
		err = s.kv.Apply(s.Context(), dataTable, dataFamily, []kv.Mutation{a, b})
	case Increment:
		answer, err = s.kv.Increment(s.Context(), s.cell("n", "n"), 1)
	case CheckAndPut:
		answer, err = s.kv.CheckAndPut(s.Context(), s.cell(fmt.Sprint("c", n), "q"), nil, []byte("v"))
	}
	if errors.Is(err, ErrFault) {
		return "fault"
	}
	if err != nil {
		s.Error(err)
	}
	return fmt.Sprint(answer)
}
