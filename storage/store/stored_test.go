package store_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestDeleteEmptyKeeps: whatever is stored of a series keeps it, and the series that are named with it.
func TestDeleteEmptyKeeps(t *testing.T) {
	const at = 1356998400_000
	puts := map[string]func(s *store.Store, ref storage.Ref) error{
		"a point": func(s *store.Store, ref storage.Ref) error {
			b := &storage.Batch{}
			b.Add(ref, at, 1)
			return s.Append(t.Context(), b)
		},
		"an exemplar": func(s *store.Store, ref storage.Ref) error {
			b := &storage.Batch{}
			b.AddObject(ref, at, storage.KindExemplar, []byte("x"))
			return s.Append(t.Context(), b)
		},
		"a histogram of OpenTSDB": func(s *store.Store, ref storage.Ref) error {
			return s.PutHistograms(t.Context(), []storage.CodedHistogram{{Ref: ref, Time: at, Value: []byte{0, 1}}})
		},
		"an annotation": func(s *store.Store, ref storage.Ref) error {
			tsuid, _, err := s.Catalog().TSUID(t.Context(), deleteList[1])
			if err != nil {
				return err
			}
			notes := []storage.Annotation{{TSUID: strings.ToUpper(hex.EncodeToString(tsuid)), Start: at, Description: "x"}}
			_, err = s.Annotations().Put(t.Context(), storage.ReplaceAnnotation, notes)
			return err
		},
		"a slot of an archive": func(s *store.Store, ref storage.Ref) error {
			return s.Archives().Put(t.Context(), ref, []storage.ArchiveSlots{{Step: 60, Times: []int64{at / 1000}, Values: []float64{1}}})
		},
	}
	for _, exclusive := range []bool{true, false} {
		for what, put := range puts {
			var db kv.KV = kv.NewMem(tablesWithArchives()...)
			if !exclusive {
				db = kv.NewShared(tablesWithArchives()...)
			}
			s := storetest.Open(t, db, func(o *store.Options) { o.Exclusive, o.ArchiveTable = exclusive, archiveTable })
			refs := storetest.Resolve(t, s, deleteList...)
			if err := put(s, refs[1]); err != nil {
				t.Fatal(what, err)
			}
			if _, err := s.DeleteEmpty(t.Context(), refs); !errors.Is(err, storage.ErrNotEmpty) {
				t.Errorf("exclusive %v: with %s: %v", exclusive, what, err)
			}
			if d, err := s.DeleteEmpty(t.Context(), []storage.Ref{refs[0], refs[2]}); err != nil || d.Series != 2 {
				t.Errorf("exclusive %v: the others: %+v, %v", exclusive, d, err)
			}
			found, err := s.Find(t.Context(), nil, 0, storage.MaxTime, 0)
			if err != nil || len(found) != 1 || found[0].Ref != refs[1] {
				t.Errorf("exclusive %v: with %s: found are %v, %v", exclusive, what, found, err)
			}
		}
	}
}
