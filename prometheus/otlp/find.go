package otlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

var (
	errNoTime      = errors.New("no time (time_unix_nano)")
	errNoName      = errors.New("no metric name")
	errTemporality = errors.New("neither cumulative nor delta temporality")
)

// check refuses points that the Prometheus module does not convert, or whose times cannot be stored.
// The module would leave out all points that come after such a one.
func (j *known) check() {
	for i := range j.points {
		p := &j.points[i]
		if err := j.checkPoint(p); err != nil {
			j.refuse(p, err)
		}
	}
}

func (j *known) checkPoint(p *point) error {
	m := &j.metrics[p.metric]
	if p.nanos == 0 {
		return errNoTime
	}
	if p.at < 0 || p.at > j.latest {
		return histogramcodec.TimeError(p.at, j.o.Future)
	}
	if p.start < 0 {
		return fmt.Errorf("start: %w", histogramcodec.TimeError(p.start, 0))
	}
	switch {
	case len(m.name) == 0:
		return errNoName
	case m.kind != kindGauge && m.kind != kindSummary && m.temporality != temporalityCumulative && m.temporality != temporalityDelta:
		return errTemporality
	case m.kind == kindExponential && j.extras[p.extra].scale < histogram.ExponentialSchemaMin:
		return fmt.Errorf("scale %d is below %d", j.extras[p.extra].scale, histogram.ExponentialSchemaMin)
	case p.attributes > maxAttributes:
		return errAttributes
	case p.exemplars > maxExemplars:
		return errExemplars
	case j.native(m) && max(j.extras[p.extra].exponential, len(j.extras[p.extra].bounds)/8) > histogramcodec.MaxBuckets:
		return fmt.Errorf("histogram of more than %d buckets", histogramcodec.MaxBuckets)
	case len(p.raw) > j.o.PointBytes:
		return fmt.Errorf("data point of more than %d bytes", j.o.PointBytes)
	}
	return nil
}

// native reports whether a point becomes a native histogram.
func (j *known) native(m *metric) bool {
	return m.kind == kindExponential || m.kind == kindHistogram && j.of.settings.ConvertHistogramsToNHCB
}

// Suffixes of keys of points with several series.
const (
	seriesSum      = 's'
	seriesCount    = 'c'
	seriesBucket   = 'b' // and the bits of the bound
	seriesInfinity = 'i'
	seriesQuantile = 'q' // and the bits of the quantile
)

// find sets the refs of all series that are known.
func (j *known) find() error {
	for i := range j.resources {
		j.key = appendResourceKey(j.key[:0], &j.resources[i])
		j.origins = append(j.origins, j.of.family(j.key))
	}
	for i := range j.scopes {
		s := &j.scopes[i]
		j.key = appendScopeKey(j.key[:0], j.origins[s.resource], s)
		j.families = append(j.families, j.of.family(j.key))
	}
	for i := range j.metrics {
		m := &j.metrics[i]
		j.key = appendFamilyKey(j.key[:0], j.families[m.scope], m)
		m.family = j.of.family(j.key)
	}
	j.of.cache.Begin(&j.lookup)
	defer j.lookup.End()
	for i := range j.points {
		p := &j.points[i]
		if p.bad != nil {
			continue
		}
		n := j.series(p)
		if len(j.refs)+n > j.o.RequestSamples {
			return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("data points of more than %d samples", j.o.RequestSamples))
		}
		if j.hashed += n * (p.key.to - p.key.from); j.hashed > hashedBytes {
			return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("attributes of more than %d bytes, counted for each series", hashedBytes))
		}
		p.refs.from = len(j.refs)
		j.findPoint(p)
		p.refs.to = len(j.refs)
	}
	return nil
}

// hashedBytes is how many bytes of keys are looked up for a request. A histogram's attributes count
// with each of its series.
const hashedBytes = 2 << 30

// series returns how many series a point has.
func (j *known) series(p *point) int {
	m := &j.metrics[p.metric]
	switch {
	case m.kind == kindGauge || m.kind == kindSum || j.native(m):
		return 1
	case m.kind == kindSummary:
		return 2 + len(j.extras[p.extra].quantiles)
	}
	return 3 + j.extras[p.extra].buckets()
}

func (j *known) findPoint(p *point) {
	m := &j.metrics[p.metric]
	key := j.keys[p.key.from:p.key.to:p.key.to]
	binary.LittleEndian.PutUint64(key, m.family.number)
	if m.cumulative() {
		binary.LittleEndian.PutUint64(key[8:], uint64(p.start))
	}
	if m.kind == kindGauge || m.kind == kindSum || j.native(m) {
		j.refs = append(j.refs, j.lookup.Find(key))
		return
	}
	j.key = append(j.key[:0], key...)
	j.eachSuffix(p, func(suffix byte, bits uint64) {
		j.refs = append(j.refs, j.lookup.Find(j.suffixed(len(key), suffix, bits)))
	})
}

// suffixed returns the key of n bytes in j.key with a suffix.
func (j *known) suffixed(n int, suffix byte, bits uint64) []byte {
	j.key = append(j.key[:n], suffix)
	if suffix == seriesBucket || suffix == seriesQuantile {
		j.key = binary.LittleEndian.AppendUint64(j.key, bits)
	}
	return j.key
}

// eachSuffix calls f for each series of a histogram or summary, in the order in which the module
// makes them.
func (j *known) eachSuffix(p *point, f func(suffix byte, bits uint64)) {
	e := &j.extras[p.extra]
	summary := j.metrics[p.metric].kind == kindSummary
	if summary || e.hasSum {
		f(seriesSum, 0)
	}
	f(seriesCount, 0)
	if summary {
		for _, q := range e.quantiles {
			f(seriesQuantile, math.Float64bits(q))
		}
		return
	}
	for i := range e.buckets() {
		f(seriesBucket, e.bound(i))
	}
	f(seriesInfinity, 0)
}

// pointKey returns the key of a series of a point, by its number in the point.
func (j *known) pointKey(p *point, number int) []byte {
	key := j.keys[p.key.from:p.key.to:p.key.to]
	m := &j.metrics[p.metric]
	if m.kind == kindGauge || m.kind == kindSum || j.native(m) {
		return key
	}
	j.key = append(j.key[:0], key...)
	e := &j.extras[p.extra]
	if m.kind == kindSummary || e.hasSum {
		if number == 0 {
			return j.suffixed(len(key), seriesSum, 0)
		}
		number--
	}
	switch number--; {
	case number < 0:
		return j.suffixed(len(key), seriesCount, 0)
	case m.kind == kindSummary:
		return j.suffixed(len(key), seriesQuantile, math.Float64bits(e.quantiles[number]))
	case number < e.buckets():
		return j.suffixed(len(key), seriesBucket, e.bound(number))
	}
	return j.suffixed(len(key), seriesInfinity, 0)
}
