package push

import (
	"errors"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/openmetrics"
)

// append adds a sample to the transaction. Of a sample with a bad exemplar the rest is added.
func (p *pass) append(s *openmetrics.Sample, ls labels.Labels, at int64) error {
	o := promstorage.AppendV2Options{MetricFamilyName: s.Family}
	if s.Family != "" {
		o.Metadata = s.Metadata
	}
	if e, ok := s.Exemplar(); ok {
		if !e.HasTs {
			e.Ts = at
		}
		o.Exemplars = []exemplar.Exemplar{e}
	}
	_, err := p.transaction.Append(0, ls, 0, at, s.Value, nil, nil, o)
	if partial, ok := errors.AsType[*promstorage.AppendPartialError](err); ok {
		p.pending++ // the sample itself is taken
		return errors.Join(partial.ExemplarErrors...)
	}
	return err
}
