package fsck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Series are compared with their rows in as many steps as memory allows, with the same findings.
func TestMetaInSteps(t *testing.T) {
	for seed := range uint64(20) {
		w := worlds(t)["local"]
		r := rand.New(rand.NewPCG(seed, 3))
		want := map[string]string{}
		for i := range 60 {
			tsuid := []byte{0, 0, byte(1 + i%2), 0, 0, 1, 0, 0, byte(1 + i%9), 0, 0, 2, 0, 0, byte(1 + i/9)}
			text := fmt.Sprintf("%x", tsuid)
			if r.IntN(2) == 0 {
				w.put(fmt.Sprintf("meta %x ts_ctr=0000000000000001 ts_meta=%s", tsuid, schema.AppendNewTSMeta(nil, tsuid, 1)))
				want[text] = "no-data"
			} else {
				want[text] = "no-meta"
			}
			if r.IntN(3) > 0 {
				for hour := range uint32(1 + r.IntN(3)) {
					key := w.layout.AppendRowKey(nil, tsuid, 1_356_998_400+3600*hour)
					m := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte{0, 0}, Value: []byte{1}}}}
					if err := w.db.Apply(t.Context(), "tsdb", "t", []kv.Mutation{m}); err != nil {
						t.Fatal(err)
					}
				}
				if want[text] == "no-data" {
					delete(want, text)
				}
			} else if want[text] == "no-meta" {
				delete(want, text)
			}
		}
		checker := w.checker()
		checker.series, checker.strangers = 1+r.IntN(20), 1+r.IntN(10)
		found := map[string]string{}
		stretches, err := checker.Plan(t.Context(), Query{Tables: []string{TableMeta}}, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stretches {
			err = checker.Check(t.Context(), s, Query{}, func(step Step) error {
				for _, f := range step.Findings {
					if found[f.Key] != "" {
						t.Errorf("%s is found twice", f.Key)
					}
					found[f.Key] = string(f.Kind)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Fatalf("seed %d, %d series and %d strangers at once (-want +got):\n%s", seed, checker.series, checker.strangers, diff)
		}
	}
}

// The stretches of tsdb-meta are all metrics, each once.
func TestPlanMeta(t *testing.T) {
	for _, most := range []int64{0, 1, 5, 1000, 1 << 24} {
		w := worlds(t)["local"]
		m := kv.Mutation{Key: schema.MaxIDRow(), Puts: []kv.Put{{Qualifier: []byte("metrics"), Value: schema.EncodeCounter(most)}}}
		if err := w.db.Apply(t.Context(), "tsdb-uid", schema.FamilyID, []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
		stretches, err := w.checker().Plan(t.Context(), Query{Tables: []string{TableMeta}}, 8)
		if err != nil || len(stretches) == 0 || len(stretches) > 9 {
			t.Fatal(stretches, err)
		}
		var at []byte
		for _, s := range stretches {
			if !slices.Equal(s.From, at) || s.Table != "tsdb-meta" {
				t.Errorf("%d metrics: %+v", most, stretches)
			}
			at = s.To
		}
		if at != nil {
			t.Errorf("%d metrics: the last ones are left out: %+v", most, stretches)
		}
	}
}
