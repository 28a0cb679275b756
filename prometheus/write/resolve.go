package write

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"unsafe"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// missingSeries is a series of the request that is not in the cache. unknown is its number in
// unknownSeries, or negative.
type missingSeries struct {
	series  int
	key     []byte
	unknown int
}

// unknownSeries are the series that the store must resolve. A series that occurs several times in
// succession is contained once.
type unknownSeries struct {
	ingest.Unknown               // by keys that lie in the body, or in the request's keys
	tags           []storage.Tag // the memory of series
	text           []byte        // of their names
}

// reset removes all series and keeps the memory, except that of their names.
func (u *unknownSeries) reset() {
	u.Reset()
	clear(u.tags)
	u.tags, u.text = u.tags[:0], nil
}

// add adds a series by its labels and returns its number. The key must not change until reset.
func (u *unknownSeries) add(key []byte, ls []rawLabel, names Names) (number int) {
	from := len(u.tags)
	for _, l := range ls {
		u.tags = append(u.tags, storage.Tag{Key: u.string(l.name), Value: u.string(l.value)})
	}
	series := names.FromPairs(u.tags[from:len(u.tags):len(u.tags)])
	return u.Add(unsafe.String(unsafe.SliceData(key), len(key)), series)
}

// textChunk is how many bytes of names are copied into one piece of memory. A name that is kept
// keeps the whole piece.
const textChunk = 16 << 10

// string copies text, since the body is reused. The copy never changes.
func (u *unknownSeries) string(b []byte) string {
	if len(b) > cap(u.text)-len(u.text) {
		u.text = make([]byte, 0, max(textChunk, len(b)))
	}
	at := len(u.text)
	u.text = append(u.text, b...)
	return unsafe.String(unsafe.SliceData(u.text[at:]), len(b))
}

// findSeries sets the Ref of each known series. It translates the others, or records what is wrong
// with them.
func (j *job) findSeries(context.Context) error {
	j.refs = append(j.refs, make([]storage.Ref, len(j.req.series))...)
	if err := j.findKnown(); err != nil {
		return err
	}
	for i := range j.missing {
		m := &j.missing[i]
		if i > 0 && bytes.Equal(m.key, j.missing[i-1].key) {
			if m.unknown = j.missing[i-1].unknown; m.unknown >= 0 {
				continue
			}
		}
		if err := j.nameMissing(m); err != nil {
			return err
		}
	}
	return nil
}

// findKnown looks all series up in the cache.
func (j *job) findKnown() error {
	limits, size, metadata := &j.o, 0, 0
	j.cache = j.caches[j.req.version].Load()
	j.cache.Begin(&j.lookup)
	defer j.lookup.End()
	for i := range j.req.series {
		if j.passedOver(i) {
			continue
		}
		key, err := j.req.seriesKey(i, limits.SeriesBytes)
		if err == nil {
			err = j.req.series[i].meta.check(j.req.symbols)
		}
		if err != nil {
			if err := j.setBad(i, err); err != nil {
				return err
			}
			continue
		}
		metadata += j.req.series[i].meta.size(j.req.symbols)
		if size += len(key); size+metadata > limits.LabelBytes {
			return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("%w: labels and metadata of more than %d bytes", errTooMany, limits.LabelBytes))
		}
		if j.refs[i] = j.lookup.Find(key); j.refs[i] == 0 {
			// In 2.0 a short message can refer to long strings many times. Copied and translated,
			// they take several times their size.
			if j.req.version == version2 {
				if err := j.share.Need(2 * len(key)); err != nil {
					return err
				}
			}
			j.missing = append(j.missing, missingSeries{i, key, -1})
			continue
		}
		j.req.forgetKey(key)
	}
	return j.share.Need(metadata)
}

// nameMissing checks the labels of a series and translates them.
func (j *job) nameMissing(m *missingSeries) (err error) {
	good := j.holdsGood(m.series)
	if err := j.roomForLabels(m); err != nil {
		return err
	}
	if j.labels, err = j.req.keyLabels(j.labels[:0], m.key); err != nil {
		return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("labels of time series %d: %w", m.series+1, err))
	}
	ls, err := checkSeries(j.labels, j.o.SeriesBytes)
	if err != nil {
		return j.setBad(m.series, err)
	}
	if !good {
		return nil // A good sample creates a series, a bad one or metadata does not.
	}
	m.unknown = j.unknown.add(m.key, j.withoutReplica(ls), j.o.Names)
	return nil
}

// What a new series takes until the store knows it, and a label of it, in bytes.
const (
	newSeriesMemory = 200
	newLabelMemory  = 32
	rawLabelMemory  = 48
)

// roomForLabels takes the memory for the labels of a new series.
func (j *job) roomForLabels(m *missingSeries) error {
	n := j.req.countLabels(m.series)
	need := newSeriesMemory + newLabelMemory*n
	if j.req.version == version1 {
		need += len(m.key) // for their names
	}
	if more := n - j.maxLabel; more > 0 {
		need += rawLabelMemory * more
		j.maxLabel = n
	}
	return j.share.Need(need)
}

// resolve resolves the unknown series in one call.
func (j *job) resolve(ctx context.Context) error {
	if j.unknown.Len() == 0 {
		return nil
	}
	if err := j.unknown.Resolve(ctx, j.o.Appender, j.cache); err != nil {
		if failed, ok := errors.AsType[*ingest.FailedError](err); ok {
			err = failed.Err
		}
		return fmt.Errorf("resolve series: %w", err)
	}
	for _, m := range j.missing {
		if m.unknown < 0 {
			continue
		}
		ref, refused := j.unknown.Answer(m.unknown)
		if j.refs[m.series] = ref; refused != nil {
			j.bad[m.series] = refused
		}
	}
	return nil
}
