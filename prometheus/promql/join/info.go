package join

import (
	"maps"
	"slices"
	"strings"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangefn"
)

// Info adds the labels of info series to the series of a vector: of those with the same instance
// and job.
type Info struct {
	Grid  block.Grid
	Base  *operator.Node
	Names []*labels.Matcher // of info metrics
	Data  []*labels.Matcher // of the labels to add; none: all labels
	Times rangefn.Windows   // of info series
	count rangefn.SampleCount
	sets  []*operator.Read
}

// identifying are the labels by which info series belong to others.
//
//nolint:gochecknoglobals // a constant that the language cannot express.
var identifying = [...]string{"instance", "job"}

// Inputs implements operator.Operator.
func (o *Info) Inputs() []*operator.Node { return []*operator.Node{o.Base} }

// Sampled implements operator.Sampler.
func (o *Info) Sampled() (total, read int64) { return o.count.Total, o.count.Read }

// Reads implements operator.Reader.
func (o *Info) Reads() []*operator.Read { return o.sets }

// Eval implements operator.Operator.
func (o *Info) Eval(e *operator.Evaluation) (*block.Block, error) {
	in, err := o.Base.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	if err := e.Hold(in.Samples); err != nil { // The library holds them until the query ends.
		return nil, err
	}
	enriched := o.enriched(in)
	b := e.NewBlock(o.Grid)
	found, err := o.read(e, b, in, enriched)
	if err != nil {
		return b, err
	}
	j := &infoJoin{Info: o, block: b, rows: map[uint64]*infoRow{}, builder: labels.NewBuilder(labels.EmptyLabels())}
	for i := range in.Series {
		if err := e.Ended(); err != nil {
			return b, err
		}
		s := &in.Series[i]
		var candidates []infoMetric
		if enriched[i] {
			candidates = found[identity(s.Labels)]
		}
		if err := j.add(s, candidates, enriched[i]); err != nil {
			return b, err
		}
	}
	for _, row := range j.order {
		row.Trim()
		b.Series = append(b.Series, row.Series)
	}
	return b, e.Seal(b)
}

// enriched reports which series get labels: those that are no info series themselves.
func (o *Info) enriched(in *block.Block) []bool {
	all := make([]bool, len(in.Series))
	for i := range in.Series {
		name := in.Series[i].Labels.Get(model.MetricNameLabel)
		all[i] = slices.ContainsFunc(o.Names, func(m *labels.Matcher) bool { return !m.Matches(name) })
	}
	return all
}

// identity returns the identifying labels of a series.
func identity(ls labels.Labels) string {
	return string(ls.BytesWithLabels(nil, identifying[:]...))
}

// An infoMetric is the info series of one name and identity.
type infoMetric struct {
	name   string
	series []*block.Series
	newest []int32 // at each step, the index of the newest series; -1: none
}

// read returns the info series by their identity. Their memory belongs to the block.
func (o *Info) read(e *operator.Evaluation, b, in *block.Block, enriched []bool) (map[string][]infoMetric, error) {
	byIdentity := map[string][]infoMetric{}
	for _, matchers := range identities(in, enriched) {
		rows, err := o.readSet(e, append(append(matchers, o.Data...), o.Names...))
		if err != nil {
			return nil, err
		}
		b.Memory.Join(&rows.Memory)
		for i := range rows.Series {
			s := &rows.Series[i]
			if s.Hists != nil {
				return nil, columns.ErrInfo // The library refuses it.
			}
			key, name := identity(s.Labels), s.Labels.Get(model.MetricNameLabel)
			at := slices.IndexFunc(byIdentity[key], func(m infoMetric) bool { return m.name == name })
			if at < 0 {
				at = len(byIdentity[key])
				byIdentity[key] = append(byIdentity[key], infoMetric{name: name})
			}
			m := &byIdentity[key][at]
			m.series = append(m.series, s)
		}
	}
	for _, metrics := range byIdentity {
		for i := range metrics {
			if err := b.Memory.TakeBytes(int64(o.Grid.Steps) * 4); err != nil {
				return nil, err
			}
			if err := metrics[i].rank(o.Grid.Steps); err != nil {
				return nil, err
			}
		}
	}
	return byIdentity, nil
}

// readSet reads the info series that match, with the times of their newest samples.
func (o *Info) readSet(e *operator.Evaluation, matchers []*labels.Matcher) (*block.Block, error) {
	l := &operator.Leaf{Windows: o.Times, Keeps: true}
	first, _ := l.Window(0)
	_, last := l.Window(o.Grid.Steps - 1)
	l.Read = &operator.Read{Selector: columns.Selector{Matchers: matchers, Start: first + 1, End: last}, Leaves: []*operator.Leaf{l}}
	o.sets = append(o.sets, l.Read)
	rows, err := l.Eval(e)
	o.count.Add(l.Count)
	return rows, err
}

// rank finds the newest series of each step. The library refuses two that are equally new.
func (m *infoMetric) rank(steps int) error {
	m.newest = make([]int32, steps)
	for step := range m.newest {
		m.newest[step] = -1
		newest := 0.0
		for i, s := range m.series {
			t, ok := s.At(step)
			switch {
			case !ok:
			case m.newest[step] < 0 || t > newest:
				m.newest[step], newest = int32(i), t
			case t == newest:
				return columns.ErrInfo
			}
		}
	}
	return nil
}

// identities returns matchers for the identities of the series: one set for each choice of
// identifying labels that are present. It is the library's infoIdentifyingMatcherSets.
func identities(in *block.Block, enriched []bool) [][]*labels.Matcher {
	type values [len(identifying)]map[string]struct{}
	sets := map[int]*values{}
	for i := range in.Series {
		if !enriched[i] {
			continue
		}
		present := 0
		for k, name := range identifying {
			if in.Series[i].Labels.Get(name) != "" {
				present |= 1 << k
			}
		}
		if present == 0 {
			continue
		}
		if sets[present] == nil {
			sets[present] = &values{{}, {}}
		}
		for k, name := range identifying {
			if present&(1<<k) != 0 {
				sets[present][k][in.Series[i].Labels.Get(name)] = struct{}{}
			}
		}
	}
	var all [][]*labels.Matcher
	for _, present := range slices.Sorted(maps.Keys(sets)) {
		var matchers []*labels.Matcher
		for k, name := range identifying {
			matchers = append(matchers, oneOf(name, sets[present][k]))
		}
		all = append(all, matchers)
	}
	return all
}

// oneOf returns a matcher for some values of a label; none: the label is missing.
func oneOf(name string, values map[string]struct{}) *labels.Matcher {
	if len(values) == 0 {
		return labels.MustNewMatcher(labels.MatchEqual, name, "")
	}
	quoted := slices.Sorted(maps.Keys(values))
	for i := range quoted {
		quoted[i] = regexp.QuoteMeta(quoted[i])
	}
	return labels.MustNewMatcher(labels.MatchRegexp, name, strings.Join(quoted, "|"))
}
