package join

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// An infoJoin makes the series of the answer.
type infoJoin struct {
	*Info
	block   *block.Block
	rows    map[uint64]*infoRow // by the hash of their labels
	order   []*infoRow
	builder *labels.Builder
}

// An infoRow is a series of the answer. Its first value decides whether the name is dropped.
type infoRow struct {
	block.Series
	first int // step
}

// add adds the values of a series under the labels of each step.
func (j *infoJoin) add(s *block.Series, metrics []infoMetric, enriched bool) error {
	choice, chosen := make([]int32, len(metrics)), false
	var row *infoRow // nil: the values are left out
	for step := s.From; step < s.To(); step++ {
		if !s.Has(step) {
			continue
		}
		same := chosen
		for k := range metrics {
			same = same && choice[k] == metrics[k].newest[step]
			choice[k] = metrics[k].newest[step]
		}
		if !same {
			ls, keep, err := j.labels(s.Labels, metrics, choice, enriched)
			if err != nil {
				return err
			}
			row, chosen = nil, true
			if keep {
				if row, err = j.row(ls, s, step); err != nil {
					return err
				}
			}
		}
		if row != nil {
			if row.Has(step) {
				return operator.ErrSameLabels
			}
			row.set(s, step)
		}
	}
	return nil
}

// row returns the series of the answer with some labels.
func (j *infoJoin) row(ls labels.Labels, s *block.Series, step int) (*infoRow, error) {
	hash := ls.Hash()
	row := j.rows[hash]
	if row == nil {
		values, err := j.block.Memory.Take(j.Grid.Steps)
		if err != nil {
			return nil, err
		}
		block.Fill(values, block.Absent)
		row = &infoRow{block.Series{Labels: ls, DropName: s.DropName, Values: values}, step}
		j.rows[hash], j.order = row, append(j.order, row)
	}
	if step < row.first {
		row.first, row.DropName = step, s.DropName
	}
	return row, nil
}

// set takes the value of a step.
func (r *infoRow) set(s *block.Series, step int) {
	if h := s.Hist(step); h != nil {
		if r.Hists == nil {
			r.Hists = make([]*histogram.FloatHistogram, len(r.Values))
		}
		r.Hists[step] = h
		return
	}
	r.Values[step], _ = s.At(step)
}

// labels returns the labels of a series with those of the info series that were chosen, false if the
// series is left out because the labels that were asked for are missing.
func (j *infoJoin) labels(ls labels.Labels, metrics []infoMetric, choice []int32, enriched bool) (labels.Labels, bool, error) {
	if !enriched {
		return ls, true, nil
	}
	j.builder.Reset(labels.EmptyLabels())
	found, conflict := false, false
	for k, i := range choice {
		if i < 0 {
			continue
		}
		found = true
		metrics[k].series[i].Labels.Range(func(l labels.Label) {
			switch v := j.builder.Get(l.Name); {
			case l.Name == model.MetricNameLabel || !j.asked(l.Name):
			case v != "" && v != l.Value:
				conflict = true
			case !ls.Has(l.Name):
				j.builder.Set(l.Name, l.Value)
			}
		})
	}
	if conflict {
		return ls, false, columns.ErrInfo // The library has the words.
	}
	if !found && slices.ContainsFunc(j.Data, func(m *labels.Matcher) bool { return !m.Matches("") }) {
		return ls, false, nil
	}
	added := j.builder.Labels()
	j.builder.Reset(ls)
	added.Range(func(l labels.Label) { j.builder.Set(l.Name, l.Value) })
	return j.builder.Labels(), true, nil
}

// asked reports whether a label is to be added.
func (j *infoJoin) asked(name string) bool {
	return len(j.Data) == 0 || slices.ContainsFunc(j.Data, func(m *labels.Matcher) bool { return m.Name == name })
}
