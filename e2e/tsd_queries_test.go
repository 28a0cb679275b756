package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// testTSDQueries asks a TSD and the adapter random queries over the same tables. The answers must be equal
// in every bit of every value.
func testTSDQueries(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t, "--opentsdb.listen-address=127.0.0.1:0")
	d := s.startTSD(t, false, withoutMeta()...)
	seed := scale.Of[uint64](t, "seed of the random queries", 1, 1, 1)
	m := &queryMaker{rng: rand.New(rand.NewPCG(seed, 20))}
	if err := json.Unmarshal(d.Get(t, "/api/aggregators").ok(t).body, &m.aggregators); err != nil {
		t.Fatal(err)
	}
	points := m.points()
	for some := range slices.Chunk(points, 40) {
		d.Put(t, some...)
	}
	whole := madeQuery{"start": epoch.Unix(), "end": epoch.Unix() + queriedSpan, "queries": []any{map[string]any{"aggregator": "count", "metric": queriedSparse}}}
	eventually(t, waitTimeout, "the adapter knows the series", func() error { return sameAnswers(postQuery(t, d.client, whole), postQuery(t, a.client, whole)) })

	m.tsuids = map[string][]string{}
	for _, metric := range queriedMetrics() {
		found, err := d.Query(t, "none:"+metric, epoch, epoch.Add(queriedSpan*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found {
			m.tsuids[metric] = append(m.tsuids[metric], s.TSUIDs...)
		}
	}
	n, wrong, counts := scale.Of(t, "random queries of /api/query", 300, 600, 5000), 0, map[string]int{}
	for i := range n {
		q := m.query()
		want, got := postQuery(t, d.client, q), postQuery(t, a.client, q)
		counts[fmt.Sprintf("%d", want.status)]++
		if want.status == http.StatusInternalServerError {
			continue // a defect of the TSD
		}
		if err := sameAnswers(want, got); err != nil {
			t.Errorf("query %d: %s: %v", i, q, err)
			if wrong++; wrong == 20 {
				t.Fatal("enough")
			}
		}
	}
	t.Logf("%d points, %d queries, statuses of the TSD: %v", len(points), n, counts)
}

func postQuery(t *testing.T, c client, q madeQuery) reply {
	t.Helper()
	r, err := c.do(t.Context(), http.MethodPost, "/api/query", map[string]string{"Content-Type": "application/json"}, []byte(q.String()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answeredSeries is a series of an answer, with the texts of its numbers.
type answeredSeries struct {
	Metric        string
	Tags          map[string]string
	AggregateTags []string
	TSUIDs        []string
	DPs           map[string]json.RawMessage
}

// key names the series.
func (s answeredSeries) key() string {
	slices.Sort(s.AggregateTags)
	slices.Sort(s.TSUIDs)
	var tags []string
	for _, k := range slices.Sorted(maps.Keys(s.Tags)) {
		tags = append(tags, k+"="+s.Tags[k])
	}
	return fmt.Sprint(s.Metric, tags, s.AggregateTags, s.TSUIDs)
}

// sameAnswers returns how an answer differs from that of a TSD.
func sameAnswers(want, got reply) error {
	if want.status != got.status {
		return fmt.Errorf("answer %.300v, want %.300v", got, want)
	}
	if want.status != http.StatusOK {
		return nil
	}
	var wanted, have []answeredSeries
	if err := json.Unmarshal(want.body, &wanted); err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, &have); err != nil {
		return fmt.Errorf("%w in %.300v", err, got)
	}
	// A TSD answers with nameless series without points where explicitTags and a filling leave nothing.
	wanted = slices.DeleteFunc(wanted, func(s answeredSeries) bool { return s.Metric == "" && len(s.DPs) == 0 })
	order := func(a, b answeredSeries) int { return strings.Compare(a.key(), b.key()) }
	slices.SortStableFunc(wanted, order) // sub queries stay in their order
	slices.SortStableFunc(have, order)
	if len(wanted) != len(have) {
		return fmt.Errorf("%d series, want %d: %.300v, want %.300v", len(have), len(wanted), got, want)
	}
	for i := range wanted {
		if wanted[i].key() != have[i].key() {
			return fmt.Errorf("series %s, want %s", have[i].key(), wanted[i].key())
		}
		if err := samePoints(wanted[i].DPs, have[i].DPs); err != nil {
			return fmt.Errorf("series %s: %w", have[i].key(), err)
		}
	}
	return nil
}

// samePoints compares the bits of values. The TSD's Java prints some numbers with more digits than they need.
func samePoints(want, have map[string]json.RawMessage) error {
	bits := func(text json.RawMessage) (uint64, error) {
		f, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
		return math.Float64bits(f), err
	}
	for _, at := range slices.Sorted(maps.Keys(want)) {
		if bytes.Equal(want[at], have[at]) {
			continue
		}
		a, err := bits(want[at])
		b, err2 := bits(have[at])
		if err != nil || err2 != nil || a != b || bytes.ContainsAny(want[at], ".E") != bytes.ContainsAny(have[at], ".E") {
			return fmt.Errorf("at %s %s, want %s", at, have[at], want[at])
		}
	}
	for _, at := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[at]; !ok {
			return fmt.Errorf("at %s %s, want nothing", at, have[at])
		}
	}
	return nil
}
