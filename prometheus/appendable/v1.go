package appendable

import (
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
)

// appenderV1 shows a transaction as the older interface of the module.
type appenderV1 struct{ *Transaction }

var _ promstorage.Appender = appenderV1{}

// Append adds a sample.
func (a appenderV1) Append(_ promstorage.SeriesRef, ls labels.Labels, at int64, v float64) (promstorage.SeriesRef, error) {
	return a.Transaction.Append(0, ls, 0, at, v, nil, nil, promstorage.AppendV2Options{})
}

// AppendHistogram adds a histogram.
func (a appenderV1) AppendHistogram(_ promstorage.SeriesRef, ls labels.Labels, at int64, h *histogram.Histogram, fh *histogram.FloatHistogram) (promstorage.SeriesRef, error) {
	return a.Transaction.Append(0, ls, 0, at, 0, h, fh, promstorage.AppendV2Options{})
}

// AppendExemplar adds an exemplar.
func (a appenderV1) AppendExemplar(_ promstorage.SeriesRef, ls labels.Labels, e exemplar.Exemplar) (promstorage.SeriesRef, error) {
	number, err := a.number(ls)
	if err != nil {
		return 0, err
	}
	return promstorage.SeriesRef(number) + 1, a.addExemplar(number, e)
}

// UpdateMetadata keeps the metadata of a series' metric.
func (a appenderV1) UpdateMetadata(ref promstorage.SeriesRef, ls labels.Labels, m metadata.Metadata) (promstorage.SeriesRef, error) {
	a.addMetadata(ls, promstorage.AppendV2Options{Metadata: m})
	return ref, nil
}

// SetOptions does nothing: samples may come in any order.
func (appenderV1) SetOptions(*promstorage.AppendOptions) {}

// AppendSTZeroSample does nothing: start times are stored as such.
func (appenderV1) AppendSTZeroSample(ref promstorage.SeriesRef, _ labels.Labels, _, _ int64) (promstorage.SeriesRef, error) {
	return ref, nil
}

// AppendHistogramSTZeroSample does nothing: start times are stored as such.
func (appenderV1) AppendHistogramSTZeroSample(ref promstorage.SeriesRef, _ labels.Labels, _, _ int64, _ *histogram.Histogram, _ *histogram.FloatHistogram) (promstorage.SeriesRef, error) {
	return ref, nil
}
