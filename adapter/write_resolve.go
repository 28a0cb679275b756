package adapter

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/storage"
)

// missingSeries is a series of the request that the cache does not know: unknown[unknown], if that is not negative.
type missingSeries struct {
	series  int
	key     []byte
	unknown int
}

// unknownSeries is what several missing series of one key have in common.
type unknownSeries struct {
	key    string
	series storage.Series
	ref    storage.Ref
	err    error
}

// findSeries gives each known series its Ref and makes the others known by name, or finds out what is wrong with them.
func (j *writeJob) findSeries(context.Context) error {
	j.refs = append(j.refs, make([]storage.Ref, len(j.req.series))...)
	if err := j.findKnown(); err != nil {
		return err
	}
	for i := range j.missing {
		if err := j.nameMissing(&j.missing[i]); err != nil {
			return err
		}
	}
	return nil
}

// findKnown looks all series up in the cache.
func (j *writeJob) findKnown() error {
	limits, size := &j.o.Limits, 0
	j.caches[j.req.version].Begin(&j.lookup)
	defer j.lookup.End()
	for i := range j.req.series {
		key, err := j.req.seriesKey(i, limits.SeriesBytes)
		if err != nil {
			j.bad[i] = err
			continue
		}
		if size += len(key); size > limits.LabelBytes {
			return writeError{http.StatusBadRequest, fmt.Errorf("%w: labels of more than %d bytes", errTooMany, limits.LabelBytes)}
		}
		if j.refs[i] = j.lookup.Find(key); j.refs[i] == 0 {
			// In 2.0 a short message can name long strings often; copied and translated they take several times their size.
			if j.req.version == wireV2 && !j.share.Take(2*len(key)) {
				return errBusy
			}
			j.missing = append(j.missing, missingSeries{i, key, -1})
			continue
		}
		j.req.forgetKey(key)
	}
	return nil
}

// nameMissing checks the labels of a series and translates them.
func (j *writeJob) nameMissing(m *missingSeries) (err error) {
	if u, ok := j.pending[string(m.key)]; ok {
		m.unknown = u
		return nil
	}
	good := j.holdsGood(m.series)
	if j.labels, err = j.req.keyLabels(j.labels[:0], m.key); err != nil {
		return writeError{http.StatusBadRequest, fmt.Errorf("labels of time series %d: %w", m.series+1, err)}
	}
	ls, err := checkSeries(j.labels, j.o.Limits.SeriesBytes)
	if err != nil {
		j.bad[m.series] = err
		return nil
	}
	if !good {
		return nil // A series is made by its first sample, not by a bad one or by metadata.
	}
	m.unknown = len(j.unknown)
	u := unknownSeries{key: string(m.key), series: j.o.Translator.FromLabels(toLabels(&j.builder, ls))}
	j.unknown = append(j.unknown, u)
	j.pending[u.key] = m.unknown
	return nil
}

// resolve gets the Refs of the unknown series, in one call.
func (j *writeJob) resolve(ctx context.Context) error {
	if len(j.unknown) == 0 {
		return nil
	}
	series, keys := make([]storage.Series, len(j.unknown)), make([]string, len(j.unknown))
	for i, u := range j.unknown {
		series[i], keys[i] = u.series, u.key
	}
	refs, errs := j.o.Appender.Resolve(ctx, series)
	j.caches[j.req.version].Add(keys, refs)
	for i := range j.unknown {
		j.unknown[i].ref = refs[i]
		if errs == nil || errs[i] == nil {
			continue
		}
		if !storage.IsRefusal(errs[i]) {
			return fmt.Errorf("resolve series: %w", errs[i])
		}
		j.unknown[i].err = errs[i]
	}
	for _, m := range j.missing {
		if m.unknown >= 0 {
			u := &j.unknown[m.unknown]
			j.refs[m.series] = u.ref
			if u.err != nil {
				j.bad[m.series] = u.err
			}
		}
	}
	return nil
}
