package appendable

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// A Transaction gathers samples and appends them all in Commit. A sample that cannot be stored gets
// an error at once; the others go on. It is not safe for concurrent use.
type Transaction struct {
	a       *Appendable
	context func() context.Context
	latest  int64 // the last time that a sample may have, milliseconds

	numbers  map[string]int // of series, by the bytes of their labels
	series   []oneSeries
	key      []byte
	batch    storage.Batch // Refs are numbers of series until Commit
	metadata map[string]storage.Metadata
}

// oneSeries is a series of the transaction.
type oneSeries struct {
	key    string
	labels labels.Labels
}

// Append implements storage.AppenderV2 of the module. It keeps no reference to what it is given but
// to the labels. Start times are milliseconds, 0 if there is none.
func (t *Transaction) Append(_ promstorage.SeriesRef, ls labels.Labels, start, at int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	if err := t.checkTime(at); err != nil {
		return 0, err
	}
	data, err := histogramcodec.Data(h, fh)
	if err != nil {
		return 0, err
	}
	ref, err := t.number(ls)
	if err != nil {
		return 0, err
	}
	if data != nil {
		t.batch.AddObject(ref, at, storage.KindHistogram, data)
	} else {
		t.batch.Add(ref, at, v)
	}
	if start != 0 {
		t.batch.AddObject(ref, at, storage.KindStartTime, histogramcodec.AppendStartTime(nil, start-at))
	}
	t.addMetadata(ls, o)
	return promstorage.SeriesRef(ref) + 1, t.addExemplars(ref, o.Exemplars)
}

// checkTime returns why a time cannot be stored.
func (t *Transaction) checkTime(at int64) error {
	if at < 0 || at > t.latest {
		return histogramcodec.TimeError(at, t.a.o.Future)
	}
	return nil
}

// number returns the number of a series in the transaction, in the place of its Ref.
func (t *Transaction) number(ls labels.Labels) (storage.Ref, error) {
	t.key = ls.Bytes(t.key)
	if n, ok := t.numbers[string(t.key)]; ok {
		return storage.Ref(n), nil
	}
	if err := t.a.check(ls, len(t.key)); err != nil {
		return 0, err
	}
	s := oneSeries{string(t.key), ls}
	t.numbers[s.key] = len(t.series)
	t.series = append(t.series, s)
	return storage.Ref(len(t.series) - 1), nil
}

// addExemplars adds the exemplars of a sample. It reports those that cannot be stored.
func (t *Transaction) addExemplars(ref storage.Ref, all []exemplar.Exemplar) error {
	var refused promstorage.AppendPartialError
	for _, e := range all {
		if err := t.addExemplar(ref, e); err != nil {
			refused.ExemplarErrors = append(refused.ExemplarErrors, err)
		}
	}
	return refused.ToError()
}

func (t *Transaction) addExemplar(ref storage.Ref, e exemplar.Exemplar) error {
	if err := t.checkTime(e.Ts); err != nil {
		return fmt.Errorf("exemplar: %w", err)
	}
	if err := CheckExemplar(e.Labels); err != nil {
		return fmt.Errorf("exemplar: %w", err)
	}
	t.batch.AddObject(ref, e.Ts, storage.KindExemplar, histogramcodec.EncodeExemplar(e))
	return nil
}

// addMetadata keeps the metadata of a series' metric, the last of each.
func (t *Transaction) addMetadata(ls labels.Labels, o promstorage.AppendV2Options) {
	if o.Metadata.IsEmpty() {
		return
	}
	family := o.MetricFamilyName
	if family == "" {
		family = ls.Get(model.MetricNameLabel)
	}
	t.metadata[t.a.o.Names.MetricName(family)] = storage.Metadata{Type: string(o.Metadata.Type), Help: o.Metadata.Help, Unit: o.Metadata.Unit}
}

// Rollback forgets everything.
func (t *Transaction) Rollback() error {
	t.series, t.numbers, t.metadata = nil, nil, nil
	t.batch.Reset()
	return nil
}

// Commit appends everything that was added. When it returns nil, all of it is durable. A
// *RefusedError names what can never be stored; the rest is durable. After any other error the
// samples may be sent again.
func (t *Transaction) Commit() error {
	defer func() { _ = t.Rollback() }()
	if len(t.series) == 0 {
		return nil
	}
	refs, refused, err := t.resolve()
	if err != nil {
		return err
	}
	t.assign(refs)
	if len(t.batch.Refs) > 0 || len(t.batch.Objects) > 0 {
		if err := t.a.o.Appender.Append(t.context(), &t.batch); err != nil {
			return fmt.Errorf("append: %w", err)
		}
	}
	if len(t.metadata) > 0 {
		if err := t.a.o.Metadata.PutMetadata(t.context(), t.metadata); err != nil && !storage.IsRefusal(err) {
			return fmt.Errorf("put metadata: %w", err)
		}
	}
	return refused.orNil()
}

// resolve returns the Ref of each series, 0 for those that the store refuses.
func (t *Transaction) resolve() ([]storage.Ref, *RefusedError, error) {
	refs := make([]storage.Ref, len(t.series))
	unknown, at := t.find(refs)
	refused := &RefusedError{}
	if err := unknown.Resolve(t.context(), t.a.o.Appender, t.a.cache); err != nil {
		return nil, nil, err
	}
	for n, i := range at {
		ref, err := unknown.Answer(n)
		if refs[i] = ref; err != nil {
			refused.add(t.series[i].labels, err, t.samplesOf(storage.Ref(i)))
		}
	}
	return refs, refused, nil
}

// find sets the Refs of series that the cache knows, and returns the others with their numbers.
func (t *Transaction) find(refs []storage.Ref) (unknown ingest.Unknown, at []int) {
	var lookup ingest.Lookup
	t.a.cache.Begin(&lookup)
	defer lookup.End()
	for i, s := range t.series {
		if refs[i] = lookup.Find([]byte(s.key)); refs[i] == 0 {
			unknown.Add(s.key, t.a.o.Names.FromLabels(s.labels))
			at = append(at, i)
		}
	}
	return unknown, at
}

// samplesOf counts the samples and histograms of a series.
func (t *Transaction) samplesOf(number storage.Ref) (n int) {
	for _, ref := range t.batch.Refs {
		if ref == number {
			n++
		}
	}
	for _, o := range t.batch.Objects {
		if o.Ref == number && o.Kind == storage.KindHistogram {
			n++
		}
	}
	return n
}

// assign gives each sample the Ref of its series. It leaves out those whose series has none.
func (t *Transaction) assign(refs []storage.Ref) {
	if slices.Contains(refs, 0) {
		t.dropRefused(refs)
		return
	}
	for i, number := range t.batch.Refs {
		t.batch.Refs[i] = refs[number]
	}
	for i := range t.batch.Objects {
		t.batch.Objects[i].Ref = refs[t.batch.Objects[i].Ref]
	}
}

// dropRefused makes the batch anew from what has a Ref. Order within a series stays.
func (t *Transaction) dropRefused(refs []storage.Ref) {
	old := t.batch
	t.batch = storage.Batch{}
	objects := old.Objects
	add := func(before int) {
		for len(objects) > 0 && objects[0].After() <= before {
			if ref := refs[objects[0].Ref]; ref != 0 {
				t.batch.AddObject(ref, objects[0].Time, objects[0].Kind, objects[0].Data)
			}
			objects = objects[1:]
		}
	}
	for i, number := range old.Refs {
		add(i)
		if ref := refs[number]; ref != 0 {
			t.batch.Add(ref, old.Times[i], old.Values[i])
		}
	}
	add(len(old.Refs))
}
