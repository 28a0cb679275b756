package plan

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Evaluate returns the answer.
func (p *Plan) Evaluate(e *operator.Evaluation, memory *Points) (parser.Value, error) {
	switch {
	case p.text != nil:
		return promql.String{T: p.Grid.Start, V: p.text.Val}, nil
	case p.Samples != nil:
		return p.Samples.read(e, memory)
	}
	b, err := p.Root.Block(e)
	if err != nil {
		return nil, err
	}
	e.Warnings = p.annotations(e)
	return p.answer(e, b, memory)
}

// Counts returns the samples that the library's statistics count.
func (p *Plan) Counts() (total, read int64) {
	switch {
	case p.text != nil:
		return 0, 0
	case p.Samples != nil:
		return p.Samples.Count.Total, p.Samples.Count.Read
	}
	return p.Root.Counts()
}

// answer converts the block of a query into what the library's caller gets.
func (p *Plan) answer(e *operator.Evaluation, b *block.Block, memory *Points) (parser.Value, error) {
	if e.Delayed {
		if err := dropNames(e, b); err != nil {
			return nil, err
		}
	}
	defer e.Release(b)
	if p.instant && p.kind != parser.ValueTypeMatrix {
		return p.instantAnswer(b), nil
	}
	memory.account = e.Account
	m := make(promql.Matrix, len(b.Series))
	for i := range b.Series {
		s := &b.Series[i]
		list, err := memory.take(block.CountPresent(s.Values))
		if err != nil {
			return nil, err
		}
		for k, v := range s.Values {
			if v == v || !block.IsAbsent(v) {
				list = append(list, promql.FPoint{T: b.Time(s.From + k), F: v})
			}
		}
		m[i] = promql.Series{Metric: s.Labels, Floats: list, DropName: s.DropName}
		for k, h := range s.Hists {
			if h != nil {
				m[i].Histograms = append(m[i].Histograms, promql.HPoint{T: b.Time(s.From + k), H: h})
			}
		}
	}
	sortByLabels(m)
	return m, nil
}

func sortByLabels(m promql.Matrix) {
	slices.SortFunc(m, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
}

func (p *Plan) instantAnswer(b *block.Block) parser.Value {
	if p.kind == parser.ValueTypeScalar {
		return promql.Scalar{V: b.Series[0].Values[0], T: p.Grid.Start}
	}
	v := make(promql.Vector, len(b.Series))
	for i := range b.Series {
		s := &b.Series[i]
		v[i] = promql.Sample{Metric: s.Labels, F: s.Values[0], T: p.Grid.Start, DropName: s.DropName}
		if s.Hists != nil && s.Hists[0] != nil {
			v[i].F, v[i].H = 0, s.Hists[0]
		}
	}
	return v
}

// dropNames is the delayed removal of names. It joins the series that become equal. The caller must
// be the only user of the block.
func dropNames(e *operator.Evaluation, b *block.Block) error {
	var names operator.NameCheck
	for i := range b.Series {
		s := &b.Series[i]
		names.See(s.Labels)
		if s.DropName {
			s.Labels = s.Labels.DropReserved(operator.IsMetadata)
		}
	}
	if !names.Several {
		return nil
	}
	return e.JoinOr(b, operator.ErrSameLabels)
}
