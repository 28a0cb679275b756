package register

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// newSeries is a series whose tsdb-meta row is not known to exist.
type newSeries struct {
	id     index.ID
	series int    // in the call
	tsuid  []byte // the index's own
	exists bool
}

// putMeta writes the tsdb-meta rows that are missing: the counter and the document that a TSD with
// its meta tracking on would have written for the first point. The observer comes first: a row
// means that everything of its series is there.
func (r *resolution) putMeta(ctx context.Context) {
	if len(r.fresh) == 0 {
		return
	}
	s := r.registrar
	fresh := r.distinct()
	if err := s.checkFit(ctx); err != nil {
		r.failUnfinished(err)
		return
	}
	if err := r.lookUp(ctx, fresh); err != nil {
		r.failUnfinished(fmt.Errorf("look whether series are registered: %w", err))
		return
	}
	fresh = slices.DeleteFunc(fresh, func(f newSeries) bool { return f.exists })
	if len(fresh) == 0 {
		return
	}
	if err := r.observe(ctx, fresh); err != nil {
		r.failUnfinished(err)
		return
	}
	for _, f := range fresh {
		s.registry.Of(f.id).Try()
	}
	if err := s.db.Apply(ctx, s.meta, schema.FamilyMeta, r.build(fresh, r.birth, s.now().Unix())); err != nil {
		r.failUnfinished(fmt.Errorf("register series: %w", err))
		return
	}
	added := 0
	for _, f := range fresh {
		if s.noteNew(f.id) {
			added++
			r.madeTags += extraTags(&r.series[f.series])
		}
	}
	s.created.Add(float64(added))
	r.made = added
	s.usage.Warn()
}

// distinct are the fresh series, each once, in the order of their TSUIDs: neighbours in the table
// are cheaper to insert one after the other.
func (r *resolution) distinct() []newSeries {
	r.ids = r.ids[:0]
	for _, f := range r.fresh {
		r.ids = append(r.ids, f.id)
	}
	r.keys = r.registrar.index.TSUIDBytes(r.keys[:0], r.ids)
	r.order = r.order[:0]
	for n := range r.fresh {
		r.fresh[n].tsuid = r.keys[n]
		r.order = append(r.order, orderOf(r.keys[n], n))
	}
	slices.SortFunc(r.order, r.compare)
	fresh := r.sorted[:0]
	for _, o := range r.order {
		if f := &r.fresh[o.at]; len(fresh) == 0 || fresh[len(fresh)-1].id != f.id {
			fresh = append(fresh, *f)
		}
	}
	r.sorted = fresh
	return fresh
}

// keyOrder is the first bytes of a TSUID as numbers, and the place of the series.
type keyOrder struct {
	high, low uint64
	at        int
}

func orderOf(tsuid []byte, at int) keyOrder {
	var prefix [16]byte
	copy(prefix[:], tsuid)
	return keyOrder{binary.BigEndian.Uint64(prefix[:8]), binary.BigEndian.Uint64(prefix[8:]), at}
}

// compare orders by the TSUIDs, and those of one TSUID by their places.
func (r *resolution) compare(a, b keyOrder) int {
	switch {
	case a.high != b.high:
		return cmp.Compare(a.high, b.high)
	case a.low != b.low:
		return cmp.Compare(a.low, b.low)
	}
	return cmp.Or(bytes.Compare(r.keys[a.at], r.keys[b.at]), cmp.Compare(a.at, b.at))
}

// lookUp finds out which of the series have a row in the table. Where no other process writes and
// the whole table was read, none has, but for those that this process has tried to write.
func (r *resolution) lookUp(ctx context.Context, fresh []newSeries) error {
	s := r.registrar
	r.keys = r.keys[:0]
	var asked []int
	complete := s.exclusive && s.registry.Loaded()
	if !complete { // the first series must not come before
		if err := s.days.Begin(ctx); err != nil {
			return err
		}
	}
	for n := range fresh {
		if !complete || s.registry.Of(fresh[n].id).Tried() {
			asked, r.keys = append(asked, n), append(r.keys, fresh[n].tsuid)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	rows, err := s.db.Get(ctx, s.meta, schema.FamilyMeta, r.keys)
	if err != nil {
		return err
	}
	for n, row := range rows {
		if f := &fresh[asked[n]]; len(row.Cells) > 0 {
			f.exists = true
			if s.registry.Note(f.id) {
				s.created.Inc()
			}
		}
	}
	return nil
}

// failUnfinished fails the series whose tsdb-meta row is still not known to exist.
func (r *resolution) failUnfinished(err error) {
	for _, f := range r.fresh {
		if !r.registrar.registry.Of(f.id).Exists() {
			r.fail(f.series, err)
		}
	}
}

// metaRows are new rows of tsdb-meta, and the memory of making them.
type metaRows struct {
	sorted    []newSeries
	order     []keyOrder
	keys      [][]byte
	news      []storage.NewSeries
	mutations []kv.Mutation
	puts      []kv.Put
	documents []byte
}

// build makes the rows of series.
func (m *metaRows) build(fresh []newSeries, b birth, now int64) []kv.Mutation {
	if b == noPoint {
		now = 0
	}
	size := 0
	for _, f := range fresh {
		size += schema.NewTSMetaSize(f.tsuid)
	}
	m.documents = slices.Grow(m.documents[:0], size)
	m.puts = slices.Grow(m.puts[:0], 2*len(fresh))
	m.mutations = m.mutations[:0]
	counter := kv.Put{Qualifier: schema.CounterQualifier(), Value: schema.EncodeCounter(int64(b))}
	document := schema.MetaQualifier()
	for _, f := range fresh {
		from, at := len(m.documents), len(m.puts)
		m.documents = schema.AppendNewTSMeta(m.documents, f.tsuid, now)
		m.puts = append(m.puts, counter, kv.Put{Qualifier: document, Value: m.documents[from:len(m.documents):len(m.documents)]})
		m.mutations = append(m.mutations, kv.Mutation{Key: f.tsuid, Puts: m.puts[at:len(m.puts):len(m.puts)]})
	}
	return m.mutations
}

// mostNew is how many series' memory is kept for other calls.
const mostNew = 1 << 14

func (m *metaRows) reset() {
	if cap(m.sorted) > mostNew {
		*m = metaRows{}
		return
	}
	clear(m.sorted[:cap(m.sorted)])
	clear(m.keys[:cap(m.keys)])
	clear(m.news[:cap(m.news)])
	clear(m.mutations[:cap(m.mutations)])
	clear(m.puts[:cap(m.puts)])
}
