package appendable

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// Store appends a batch, and returns when it is durable. What can never be stored is in a
// *RefusedError; the rest is durable. After any other error the same batch may be stored again. The
// batch is not changed. The data of its objects must be sound; see Check.
func (a *Appendable) Store(ctx context.Context, b *columns.Batch) error {
	refused := &RefusedError{}
	refs, err := a.refs(ctx, b, refused)
	if err != nil {
		return err
	}
	points, all := a.points(b, refs)
	if !all {
		points = a.taken(b, refs, refused)
	}
	if len(points.Refs) > 0 || len(points.Objects) > 0 {
		if err := a.o.Appender.Append(ctx, points); err != nil {
			return fmt.Errorf("append: %w", err)
		}
	}
	if err := a.storeMetadata(ctx, b); err != nil {
		return err
	}
	return refused.orNil()
}

// storeMetadata stores the metadata of metric families. Those that the store refuses are left out.
func (a *Appendable) storeMetadata(ctx context.Context, b *columns.Batch) error {
	if len(b.Metadata) == 0 {
		return nil
	}
	all := make(map[string]storage.Metadata, len(b.Metadata))
	for family, m := range b.Metadata {
		all[a.o.Names.MetricName(family)] = storage.Metadata{Type: string(m.Type), Help: m.Help, Unit: m.Unit}
	}
	if err := a.o.Metadata.PutMetadata(ctx, all); err != nil && !storage.IsRefusal(err) {
		return fmt.Errorf("put metadata: %w", err)
	}
	return nil
}

// Check returns why the data of the objects of a batch are not what the store keeps. It is for
// batches that come from other processes.
func Check(b *columns.Batch) error {
	for i := range b.Points.Objects {
		if err := checkObject(&b.Points.Objects[i]); err != nil {
			return fmt.Errorf("%w: %s at %d: %w", storage.ErrInvalid, b.Labels[b.Points.Objects[i].Ref], b.Points.Objects[i].Time, err)
		}
	}
	return nil
}

func checkObject(o *storage.Object) error {
	switch o.Kind {
	case storage.KindHistogram:
		h, fh, err := histogramcodec.DecodeHistogram(o.Data)
		if err != nil {
			return err
		}
		_, err = histogramcodec.Data(h, fh)
		return err
	case storage.KindExemplar:
		e, err := histogramcodec.DecodeExemplar(o.Data)
		if err != nil {
			return err
		}
		return CheckExemplar(e.Labels)
	case storage.KindStartTime:
		_, err := histogramcodec.DecodeStartTime(o.Data)
		return err
	}
	return fmt.Errorf("object of kind %d", o.Kind)
}

// refs returns the Ref of each series of a batch, 0 for those that are refused.
func (a *Appendable) refs(ctx context.Context, b *columns.Batch, refused *RefusedError) ([]storage.Ref, error) {
	refs := make([]storage.Ref, len(b.Labels))
	unknown, at := a.lookup(b.Labels, refs, func(i int, err error) { refused.add(b.Labels[i], err, 0) })
	if err := unknown.Resolve(ctx, a.o.Appender, a.cache); err != nil {
		return nil, err
	}
	for n, i := range at {
		ref, err := unknown.Answer(n)
		if refs[i] = ref; err != nil {
			refused.add(b.Labels[i], err, 0)
		}
	}
	return refs, nil
}

// lookup sets the Refs of series that the cache knows, and returns the others with their numbers.
func (a *Appendable) lookup(all []labels.Labels, refs []storage.Ref, refuse func(int, error)) (unknown ingest.Unknown, at []int) {
	var lookup ingest.Lookup
	var key []byte
	a.cache.Begin(&lookup)
	defer lookup.End()
	for i, ls := range all {
		key = ls.Bytes(key)
		if refs[i] = lookup.Find(key); refs[i] != 0 {
			continue
		}
		if err := a.check(ls, len(key)); err != nil {
			refuse(i, err)
			continue
		}
		unknown.Add(string(key), a.o.Names.FromLabels(ls))
		at = append(at, i)
	}
	return unknown, at
}

// points returns the samples of a batch with their Refs; false: some of them cannot be stored.
func (a *Appendable) points(b *columns.Batch, refs []storage.Ref) (*storage.Batch, bool) {
	if slices.Contains(refs, 0) {
		return nil, false
	}
	latest := histogramcodec.LastTime(a.o.Now, a.o.Future)
	p := &storage.Batch{Refs: make([]storage.Ref, len(b.Points.Refs)), Times: b.Points.Times, Values: b.Points.Values}
	for i, number := range b.Points.Refs {
		p.Refs[i] = refs[number]
	}
	low, high := int64(0), int64(0)
	for _, t := range p.Times {
		low, high = min(low, t), max(high, t)
	}
	p.Objects = slices.Clone(b.Points.Objects)
	for i := range p.Objects {
		o := &p.Objects[i]
		o.Ref = refs[o.Ref]
		low, high = min(low, o.Time), max(high, o.Time)
	}
	return p, low >= 0 && high <= latest
}

// taken returns the samples that can be stored, in their order, and tells of the others.
func (a *Appendable) taken(b *columns.Batch, refs []storage.Ref, refused *RefusedError) *storage.Batch {
	latest := histogramcodec.LastTime(a.o.Now, a.o.Future)
	p := &storage.Batch{}
	told := make([]bool, len(b.Labels))
	takes := func(number storage.Ref, at int64, sample bool) bool {
		good := at >= 0 && at <= latest
		if !good && !told[number] && refs[number] != 0 {
			told[number] = true
			refused.add(b.Labels[number], histogramcodec.TimeError(at, a.o.Future), 0)
		}
		if good = good && refs[number] != 0; !good && sample {
			refused.Samples++
		}
		return good
	}
	objects := b.Points.Objects
	add := func(before int) {
		for ; len(objects) > 0 && objects[0].After() <= before; objects = objects[1:] {
			if o := &objects[0]; takes(o.Ref, o.Time, o.Kind == storage.KindHistogram) {
				p.AddObject(refs[o.Ref], o.Time, o.Kind, o.Data)
			}
		}
	}
	for i, number := range b.Points.Refs {
		add(i)
		if takes(number, b.Points.Times[i], true) {
			p.Add(refs[number], b.Points.Times[i], b.Points.Values[i])
		}
	}
	add(len(b.Points.Refs))
	return p
}
