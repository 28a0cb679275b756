package kvtest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

func (s *suite) increment(key string, delta, want int64) {
	s.Helper()
	got, err := s.kv.Increment(s.Context(), s.cell(key, "n"), delta)
	if err != nil || got != want {
		s.Errorf("Increment(%s, %d) = %d, %v, want %d", key, delta, got, err, want)
	}
}

func counter(n int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }

func testIncrement(s *suite) {
	s.put("k", "other", "cell")
	s.increment("k", 5, 5)
	s.increment("k", 1, 6)
	s.increment("k", -10, -4)
	s.increment("k", 0, -4)
	s.want(s.get("k"), s.row("k", "n", counter(-4), "other", "cell"))
	s.put("put", "n", counter(1<<40))
	s.increment("put", 1, 1<<40+1)
	s.put("put", "n", counter(7))
	s.increment("put", 1, 8)
	s.apply(deletes(s.key("put"), "n"))
	s.increment("put", 3, 3)
	for _, wrong := range []string{"short", "longer than eight"} {
		s.put("wrong", "n", wrong)
		if sum, err := s.kv.Increment(s.Context(), s.cell("wrong", "n"), 1); err == nil {
			s.Errorf("Increment of a cell of %d bytes = %d, want an error", len(wrong), sum)
		}
		s.want(s.get("wrong"), s.row("wrong", "n", wrong))
	}
}

// testIncrementRace draws numbers from one counter in several goroutines.
func testIncrementRace(s *suite) {
	const drawers, draws = 8, 25
	sums := make([][]int64, drawers)
	var g errgroup.Group
	for i := range drawers {
		g.Go(func() error {
			for range draws {
				sum, err := s.kv.Increment(s.Context(), s.cell("k", "n"), 1)
				if err != nil {
					return err
				}
				if n := len(sums[i]); n > 0 && sums[i][n-1] >= sum {
					return fmt.Errorf("increment by 1 gave %d after %d", sum, sums[i][n-1])
				}
				sums[i] = append(sums[i], sum)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		s.Fatal(err)
	}
	all := slices.Concat(sums...)
	slices.Sort(all)
	if different := slices.Compact(slices.Clone(all)); len(different) != drawers*draws {
		s.Errorf("%d increments gave %d different sums", drawers*draws, len(different))
	}
	s.increment("k", 0, all[len(all)-1])
}

func (s *suite) checkAndPut(key string, expected []byte, value string, want bool) {
	s.Helper()
	got, err := s.kv.CheckAndPut(s.Context(), s.cell(key, "n"), expected, []byte(value))
	if err != nil || got != want {
		s.Errorf("CheckAndPut(%s, %q, %q) = %t, %v, want %t", key, expected, value, got, err, want)
	}
}

// testCheckAndPut checks and puts one cell next to a small one, and next to one that makes the row
// wide.
func testCheckAndPut(s *suite) {
	for key, other := range map[string]string{"narrow": "cell", "wide": strings.Repeat("cell", 16<<10)} {
		s.checkAndPutBeside(key, other)
	}
	s.checkAndPut("new", nil, "row", true)
	s.want(s.get("new"), s.row("new", "n", "row"))
}

func (s *suite) checkAndPutBeside(key, other string) {
	s.Helper()
	s.put(key, "other", other)
	s.checkAndPut(key, []byte("x"), "1", false)
	s.want(s.get(key), s.row(key, "other", other))
	s.checkAndPut(key, nil, "1", true)
	s.checkAndPut(key, nil, "2", false)
	s.checkAndPut(key, []byte("2"), "3", false)
	s.checkAndPut(key, []byte("11"), "3", false)
	s.want(s.get(key), s.row(key, "n", "1", "other", other))
	s.checkAndPut(key, []byte("1"), "4", true)
	s.want(s.get(key), s.row(key, "n", "4", "other", other))
	s.apply(deletes(s.key(key), "n"))
	s.checkAndPut(key, []byte("4"), "5", false)
	s.checkAndPut(key, nil, "6", true)
	s.put(key, "n", "7")
	s.checkAndPut(key, []byte("7"), counter(8), true)
	s.increment(key, 1, 9)
}

// testCheckAndPutRace has several callers put each of some absent cells; one of them succeeds.
func testCheckAndPutRace(s *suite) {
	const callers, cells = 8, 10
	for n := range cells {
		key := fmt.Sprint(n)
		var winners atomic.Int64
		var winner atomic.Value
		var g errgroup.Group
		for i := range callers {
			g.Go(func() error {
				name := fmt.Sprint("caller ", i)
				won, err := s.kv.CheckAndPut(s.Context(), s.cell(key, "n"), nil, []byte(name))
				if won {
					winners.Add(1)
					winner.Store(name)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			s.Fatal(err)
		}
		if winners.Load() != 1 {
			s.Fatalf("%d of %d callers won", winners.Load(), callers)
		}
		s.want(s.get(key), s.row(key, "n", winner.Load().(string)))
	}
}
