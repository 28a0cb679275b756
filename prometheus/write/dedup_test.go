package write

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/hatracker"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/election"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// withPairs has a handler deduplicate two clusters.
func withPairs(now func() time.Time, db kv.KV) func(*Options) {
	return func(o *Options) {
		o.Dedup.ClusterLabel, o.Dedup.ReplicaLabel, o.Dedup.Clusters = "cluster", "__replica__", 2
		o.Pairs = hatracker.New(o.Dedup, hatracker.Parts{
			Book: election.New(kv.NewEngine(db, true), "tsdb-tree"), Logger: slog.New(slog.DiscardHandler),
			Registerer: prometheus.NewRegistry(), Now: now,
		})
	}
}

func treeTable() kv.KV {
	return kv.NewMem(kv.Table{Name: "tsdb-tree", Families: []string{schema.FamilyData}})
}

// TestDedup runs testdata/dedup.
func TestDedup(t *testing.T) {
	now := promtest.Now()
	clock := func() time.Time { return now }
	one, two := newTestDoor(withPairs(clock, treeTable())), newTestDoor(withPairs(clock, treeTable()))
	datadriven.RunTest(t, "testdata/dedup", func(t *testing.T, d *datadriven.TestData) string {
		req, err := promtest.ParseWrite(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		var after string
		if d.MaybeScanArgs(t, "after", &after); after != "" {
			span, err := time.ParseDuration(after)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			now = now.Add(span)
		}
		m1, m2 := req.V1(), req.V2()
		out := "1.0: " + describe(t, one.send(version1, promtest.Marshal(t, &m1))) + "\n"
		out += "2.0: " + describe(t, two.send(version2, promtest.Marshal(t, &m2))) + "\n"
		if a, b := one.store.String(), two.store.String(); a != b {
			return out + "1.0: " + a + "2.0: " + b
		}
		return out + one.store.String()
	})
	if err := testutil.GatherAndCompare(two.registry, strings.NewReader(`
# HELP tsdbridge_write_samples_deduplicated_total Data of replicas that are not elected (--write.dedup.*): acknowledged and not stored.
# TYPE tsdbridge_write_samples_deduplicated_total counter
tsdbridge_write_samples_deduplicated_total{kind="exemplar",protocol="remote_write_1"} 0
tsdbridge_write_samples_deduplicated_total{kind="exemplar",protocol="remote_write_2"} 1
tsdbridge_write_samples_deduplicated_total{kind="histogram",protocol="remote_write_1"} 0
tsdbridge_write_samples_deduplicated_total{kind="histogram",protocol="remote_write_2"} 1
tsdbridge_write_samples_deduplicated_total{kind="metadata",protocol="remote_write_1"} 0
tsdbridge_write_samples_deduplicated_total{kind="metadata",protocol="remote_write_2"} 1
tsdbridge_write_samples_deduplicated_total{kind="sample",protocol="remote_write_1"} 0
tsdbridge_write_samples_deduplicated_total{kind="sample",protocol="remote_write_2"} 7
`), "tsdbridge_write_samples_deduplicated_total"); err != nil {
		t.Error(err)
	}
}

// While nobody knows who is elected, the sender is asked to try again, and nothing is stored.
func TestDedupAway(t *testing.T) {
	d := newTestDoor(withPairs(promtest.Now, kv.NewMem())) // without the table
	q := promtest.WriteText{Series: []promtest.WriteTextSeries{{
		Labels:  []prompb.Label{{Name: "__name__", Value: "up"}, {Name: "__replica__", Value: "a"}, {Name: "cluster", Value: "one"}},
		Samples: []writev2.Sample{{Value: 1, Timestamp: 1000}},
	}}}
	m := q.V2()
	if text := describe(t, d.send(version2, promtest.Marshal(t, &m))); !strings.HasPrefix(text, "503 written 0/0/0 elect a replica: ") {
		t.Error(text)
	}
	if text := d.store.String(); text != "nothing\n" {
		t.Error(text)
	}
}

// While data of the elected replica cannot be stored nothing of the other one is dropped.
func TestDedupUnstored(t *testing.T) {
	d := newTestDoor(withPairs(promtest.Now, treeTable()))
	send := func(replica string, want string) {
		t.Helper()
		q := promtest.WriteText{Series: []promtest.WriteTextSeries{{
			Labels:  []prompb.Label{{Name: "__name__", Value: "up"}, {Name: "__replica__", Value: replica}, {Name: "cluster", Value: "one"}},
			Samples: []writev2.Sample{{Value: 1, Timestamp: 1000}},
		}}}
		m := q.V2()
		if text := describe(t, d.send(version2, promtest.Marshal(t, &m))); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", replica, text)
		}
	}
	failed := func(context.Context) error { return errors.New("the disk is full") }
	send("a", "204 written 1/0/0")
	send("b", "204 written 1/0/0")
	d.store.appendErr = failed
	send("a", "503 written 0/0/0 append: the disk is full")
	send("b", "503 written 0/0/0 elect a replica: it is not known yet")
	d.store.appendErr = func(context.Context) error { return storage.ErrInvalid } // which no sender repeats
	send("a", "400")
	send("b", "204")
	d.store.appendErr = failed
	send("a", "503")
	d.store.appendErr = nil
	send("b", "503")
	send("a", "204")
	send("b", "204")
}

// The labels of a pair are found wherever they stand and however they are encoded.
func TestPairOf(t *testing.T) {
	for i, labels := range [][]prompb.Label{
		{{Name: "c", Value: "one"}, {Name: "r", Value: "two"}},
		{{Name: "r", Value: "two"}, {Name: "__name__", Value: strings.Repeat("x", 300)}, {Name: "c", Value: "one"}},
		{{Name: "c", Value: ""}, {Name: "c", Value: "one"}, {Name: "x", Value: ""}, {Name: "r", Value: "two"}},
	} {
		q := promtest.WriteText{Series: []promtest.WriteTextSeries{{Labels: labels}}}
		m1, m2 := q.V1(), q.V2()
		for v, body := range map[version][]byte{version1: promtest.Marshal(t, &m1), version2: promtest.Marshal(t, &m2)} {
			var r message
			r.reset(v)
			if err := r.walk(body, messageLimits{series: 9, data: 9}); err != nil {
				t.Fatal(err)
			}
			if c, r := r.pairOf(0, "c", "r"); string(c) != "one" || string(r) != "two" {
				t.Errorf("%d, %v: %q, %q", i, v, c, r)
			}
		}
	}
}

// FuzzPairOf finds the labels of a pair in any block of labels as parseBlock reads it.
func FuzzPairOf(f *testing.F) {
	q := promtest.WriteText{Series: []promtest.WriteTextSeries{{Labels: []prompb.Label{{Name: "c", Value: "one"}, {Name: "r", Value: ""}, {Name: "r", Value: "two"}}}}}
	m := q.V1()
	f.Add(promtest.Marshal(f, &m.Timeseries[0]))
	f.Fuzz(func(t *testing.T, block []byte) {
		ls, err := parseBlock(nil, block)
		if err != nil {
			return
		}
		var want [2][]byte
		for _, l := range ls {
			take(&want[0], l, "c")
			take(&want[1], l, "r")
		}
		r := message{series: []messageSeries{{block: labelBlock{bytes: block}}}}
		if c, r := r.pairOf(0, "c", "r"); string(c) != string(want[0]) || string(r) != string(want[1]) {
			t.Errorf("%q, %q; want %q", c, r, want)
		}
	})
}

func BenchmarkDedup(b *testing.B) {
	const series = 2000
	for _, v := range []version{version1, version2} {
		for _, replica := range []string{"elected", "dropped"} {
			b.Run(fmt.Sprintf("%v/%s", v, replica), func(b *testing.B) {
				post := pairPoster(b, v, series, replica == "dropped")
				post()
				b.ReportAllocs()
				for b.Loop() {
					post()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/sample")
			})
		}
	}
}

// pairPoster is a poster of a replica that is elected or not.
func pairPoster(b *testing.B, v version, series int, dropped bool) func() {
	change := withPairs(promtest.Now, treeTable())
	body := senderBody(b, v, series, prompb.Label{Name: "__replica__", Value: "a"}, prompb.Label{Name: "cluster", Value: "one"})
	post, _ := bodyPoster(b, v, body, func(o *Options) {
		change(o)
		if dropped {
			if _, err := o.Pairs.Keep(b.Context(), []byte("one"), []byte("b")); err != nil {
				b.Fatal(err)
			}
		}
	})
	return post
}
