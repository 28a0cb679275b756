package kvtest

import (
	"context"
	"errors"
	"slices"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// testSplit runs the parts of scans at the same time and joins them in order.
func testSplit(s *suite, engine kv.Splitter) {
	keys := s.fill(1000)
	for _, change := range []func(*kv.Scan){
		func(*kv.Scan) {},
		func(scan *kv.Scan) { scan.Start, scan.Stop = s.key(keys[100]), s.key(keys[200]) },
		func(scan *kv.Scan) { scan.Start = nil },
		func(scan *kv.Scan) { scan.Start, scan.Stop = nil, nil },
		func(scan *kv.Scan) { scan.Stop = scan.Start },
		func(scan *kv.Scan) { scan.Start, scan.Stop = scan.Stop, scan.Start },
		func(scan *kv.Scan) { scan.KeysOnly, scan.Qualifier = true, []byte("q") },
		func(scan *kv.Scan) { scan.Limit = 7 },
	} {
		scan := s.all()
		change(&scan)
		want := s.scan(scan)
		for _, n := range []int{-1, 0, 1, 2, 3, 8, 5000} {
			parts, err := engine.Split(s.Context(), scan, n)
			if err != nil {
				s.Fatal(err)
			}
			if len(parts) < 1 || len(parts) > max(n, 1) || scan.Limit > 0 && len(parts) > 1 {
				s.Fatalf("%d parts of %+v, want 1 to %d", len(parts), scan, n)
			}
			if diff := cmp.Diff(texts(want), texts(s.together(parts))); diff != "" {
				s.Errorf("%d parts of %+v (-whole +parts):\n%s", len(parts), scan, diff)
			}
		}
	}
}

// together runs scans at the same time and returns their rows, those of the first one first.
func (s *suite) together(parts []kv.Scan) []kv.Row {
	s.Helper()
	rows := make([][]kv.Row, len(parts))
	var group errgroup.Group
	group.SetLimit(8)
	for i, part := range parts {
		group.Go(func() (err error) {
			rows[i], err = collect(s.Context(), s.kv, part)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		s.Fatal(err)
	}
	return slices.Concat(rows...)
}

func testSplitEmpty(s *suite, engine kv.Splitter) {
	parts, err := engine.Split(s.Context(), s.all(), 4)
	if err != nil || len(parts) < 1 || len(s.together(parts)) != 0 {
		s.Errorf("parts of nothing: %+v, %v", parts, err)
	}
	none := s.all()
	none.Table = "none"
	parts, err = engine.Split(s.Context(), none, 4)
	if err == nil { // an engine may notice it only when it reads
		_, err = collect(s.Context(), s.kv, parts[0])
	}
	if !errors.Is(err, kv.ErrNoTable) {
		s.Errorf("parts of no table: %v", err)
	}
	cancelled, cancel := context.WithCancel(s.Context())
	cancel()
	if _, err := engine.Split(cancelled, s.all(), 4); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled: %v", err)
	}
}
