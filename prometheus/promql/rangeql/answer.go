package rangeql

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// evaluate returns the answer.
func (p *plan) evaluate(e *evaluation, memory *points) (parser.Value, error) {
	switch {
	case p.text != nil:
		return promql.String{T: p.grid.Start, V: p.text.Val}, nil
	case p.samples != nil:
		return p.samples.read(e, memory)
	}
	b, err := p.root.block(e)
	if err != nil {
		return nil, err
	}
	e.warnings = p.annotations(e)
	return p.answer(e, b, memory)
}

// counts returns the samples that the library's statistics count.
func (p *plan) counts() (total, read int64) {
	switch {
	case p.text != nil:
		return 0, 0
	case p.samples != nil:
		return p.samples.count.total, p.samples.count.read
	}
	return p.root.counts()
}

// answer converts the block of a query into what the library's caller gets.
func (p *plan) answer(e *evaluation, b *block.Block, memory *points) (parser.Value, error) {
	if e.delayed {
		if err := dropNames(e, b); err != nil {
			return nil, err
		}
	}
	defer e.release(b)
	if p.instant && p.kind != parser.ValueTypeMatrix {
		return p.instantAnswer(b), nil
	}
	memory.account = e.account
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

func (p *plan) instantAnswer(b *block.Block) parser.Value {
	if p.kind == parser.ValueTypeScalar {
		return promql.Scalar{V: b.Series[0].Values[0], T: p.grid.Start}
	}
	v := make(promql.Vector, len(b.Series))
	for i := range b.Series {
		s := &b.Series[i]
		v[i] = promql.Sample{Metric: s.Labels, F: s.Values[0], T: p.grid.Start, DropName: s.DropName}
		if s.Hists != nil && s.Hists[0] != nil {
			v[i].F, v[i].H = 0, s.Hists[0]
		}
	}
	return v
}

// dropNames is the delayed removal of names. It joins the series that become equal. The caller must
// be the only user of the block.
func dropNames(e *evaluation, b *block.Block) error {
	var names nameCheck
	for i := range b.Series {
		s := &b.Series[i]
		names.see(s.Labels)
		if s.DropName {
			s.Labels = s.Labels.DropReserved(isMetadata)
		}
	}
	if !names.several {
		return nil
	}
	return e.joinOr(b, errSameLabels)
}
