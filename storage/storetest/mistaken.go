package storetest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// RunMistaken tests a store on cells that a TSD's fsck takes for append cells. A TSD's compaction
// makes such cells. The store must read them; after it has written to their row, none of them may
// be left and no point may be lost.
func RunMistaken(t *testing.T, c Config) {
	for _, way := range ways[:2] {
		for _, write := range mistakenWrites {
			t.Run(way.name+"/"+write.name, func(t *testing.T) {
				r := run{Config: c, t: t, rng: rand.New(rand.NewPCG(1, 9)), engine: c.New(t), disk: logtest.New(1), flags: way.flags, take: way.take}
				(&mistakenRun{run: &r, model: NewModel(len(list))}).all(write.add)
			})
		}
	}
}

// mistakenWrites are writes to a row that has points at seconds 80, 90 and 100.
var mistakenWrites = []struct {
	name string
	add  func(b *storage.Batch, ref storage.Ref)
}{
	{"a later point", func(b *storage.Batch, ref storage.Ref) { b.Add(ref, begin+110_000, 5) }},
	{"an earlier point", func(b *storage.Batch, ref storage.Ref) { b.Add(ref, begin+79_999, 5) }},
	{"a point again", func(b *storage.Batch, ref storage.Ref) { b.Add(ref, begin+90_000, 90) }},
	{"a correction", func(b *storage.Batch, ref storage.Ref) { b.Add(ref, begin+80_000, 5) }},
	{"an object", func(b *storage.Batch, ref storage.Ref) { b.Add(ref, begin+110_000, math.Inf(1)) }},
	{"an object in place of a point", func(b *storage.Batch, ref storage.Ref) { b.Add(ref, begin+80_000, math.Inf(1)) }},
}

type mistakenRun struct {
	*run
	model *Model
}

func (r *mistakenRun) all(add func(*storage.Batch, storage.Ref)) {
	t := r.t
	r.start(Ended)
	for second := int64(80); second <= 100; second += 10 {
		r.append(func(b *storage.Batch, ref storage.Ref) { b.Add(ref, begin+second*1000, float64(second)) })
	}
	r.process.End()
	r.db = r.engine.Open(t, Ended)
	if n := r.spoil(); n != 1 {
		t.Fatalf("%d rows to spoil, want 1", n)
	}
	r.start(Ended)
	r.model.Check(t, r.process.Store, r.refs, 0, storage.MaxTime)
	r.append(add)
	r.process.End()
	r.start(Ended)
	r.model.Check(t, r.process.Store, r.refs, 0, storage.MaxTime)
	CheckRows(t, r.db, r.data, r.Exclusive)
	r.process.End()
}

// append writes what add adds, for the first series, and records it in the model.
func (r *mistakenRun) append(add func(*storage.Batch, storage.Ref)) {
	var b storage.Batch
	add(&b, r.refs[0])
	for i, time := range b.Times {
		r.model.Put(0, time, Sample{Bits: math.Float64bits(b.Values[i])})
	}
	if err := r.take(r.rng, r.process.Store).Append(r.t.Context(), &b); err != nil {
		r.t.Fatal(err)
	}
}

// spoil joins the points of each row in one cell, all qualifiers in seconds, and returns how many
// rows there are.
func (r *mistakenRun) spoil() (rows int) {
	var changes []kv.Mutation
	for row, err := range r.db.Scan(r.t.Context(), kv.Scan{Table: r.data, Family: schema.FamilyData}) {
		if err != nil {
			r.t.Fatal(err)
		}
		changes = append(changes, r.spoilt(row))
	}
	if err := r.db.Apply(r.t.Context(), r.data, schema.FamilyData, changes); err != nil {
		r.t.Fatal(err)
	}
	return len(changes)
}

func (r *mistakenRun) spoilt(row kv.Row) kv.Mutation {
	var points []schema.Point
	m := kv.Mutation{Key: row.Key}
	for _, c := range row.Cells {
		if schema.ClassifyCell(c.Qualifier) == schema.CellAges {
			continue
		}
		var err error
		if points, err = schema.DecodeData(points, c.Qualifier, c.Value); err != nil {
			r.t.Fatal(err)
		}
		m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
	}
	var put kv.Put
	for _, p := range points {
		p.Millis = false
		put.Qualifier, put.Value = p.AppendQualifier(put.Qualifier), p.AppendValue(put.Value)
	}
	put.Value = append(put.Value, 0)
	if !schema.MistakenForAppend(put.Qualifier) {
		r.t.Fatalf("cell %x would be spared", put.Qualifier)
	}
	m.Puts = []kv.Put{put}
	return m
}
