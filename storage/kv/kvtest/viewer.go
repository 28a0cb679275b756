package kvtest

import (
	"context"
	"errors"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// testGetStored compares GetStored with Get: dense and sparse keys, absent ones included.
func testGetStored(s *suite, engine kv.RowViewer) {
	keys := s.fill(60)
	s.apply(s.puts("k0007x", "a", "1", "b", "2"), kv.Mutation{Key: s.key(keys[9]), DeleteRow: true})
	for _, near := range []bool{false, true} {
		for _, step := range []int{1, 2, 25} {
			var ask [][]byte
			for i := 0; i < len(keys); i += step {
				ask = append(ask, s.key(keys[i]), s.key(keys[i]+"x"))
			}
			want, err := s.kv.Get(s.Context(), dataTable, dataFamily, ask)
			if err != nil {
				s.Fatal(err)
			}
			want = slices.DeleteFunc(want, func(r kv.Row) bool { return len(r.Cells) == 0 })
			var got []kv.Row
			err = engine.GetStored(s.Context(), dataTable, dataFamily, ask, near, func(i int, cells []kv.StoredCell) error {
				got = append(got, stored(ask[i], cells))
				return nil
			})
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				s.Errorf("near %v, step %d: %v (-Get +GetStored)\n%s", near, step, err, diff)
			}
		}
	}
	err := engine.GetStored(s.Context(), dataTable, dataFamily, [][]byte{s.key(keys[0])}, false, func(int, []kv.StoredCell) error { return errEnough })
	if !errors.Is(err, errEnough) {
		s.Errorf("GetStored = %v, want the error of visit", err)
	}
	ask := [][]byte{s.key(keys[0])}
	if err = engine.GetStored(s.Context(), "none", dataFamily, ask, false, nil); !errors.Is(err, kv.ErrNoTable) {
		s.Errorf("GetStored of no table = %v", err)
	}
}

// testScanStored compares ScanStored with Scan.
func testScanStored(s *suite, engine kv.RowViewer) {
	keys := s.fill(60)
	s.apply(kv.Mutation{Key: s.key(keys[9]), DeleteRow: true})
	match := &kv.Match{Prefix: len(s.key("k")), Key: 2, Value: 2, Tags: []kv.Tag{{Key: []byte("00"), Values: [][]byte{[]byte("11"), []byte("42")}}}}
	for _, change := range []func(*kv.Scan){
		func(*kv.Scan) {},
		func(scan *kv.Scan) { scan.Start, scan.Stop = s.key("k0005"), s.key("k0020") },
		func(scan *kv.Scan) { scan.Start, scan.Stop = s.key("k0020"), s.key("k0005") },
		func(scan *kv.Scan) { scan.Match = match },
	} {
		scan := s.all()
		change(&scan)
		var got []kv.Row
		err := engine.ScanStored(s.Context(), scan, func(key []byte, cells []kv.StoredCell) error {
			got = append(got, stored(key, cells))
			return nil
		})
		if diff := cmp.Diff(s.scan(scan), got); err != nil || diff != "" {
			s.Errorf("%+v: %v (-Scan +ScanStored)\n%s", scan, err, diff)
		}
	}
	seen := 0
	err := engine.ScanStored(s.Context(), s.all(), func([]byte, []kv.StoredCell) error { seen++; return errEnough })
	if !errors.Is(err, errEnough) || seen != 1 {
		s.Errorf("ScanStored = %v after %d rows, want the error of visit", err, seen)
	}
	cancelled, cancel := context.WithCancel(s.Context())
	cancel()
	if err = engine.ScanStored(cancelled, s.all(), func([]byte, []kv.StoredCell) error { return nil }); !errors.Is(err, context.Canceled) {
		s.Errorf("ScanStored, cancelled = %v", err)
	}
}
