package rangeql

import (
	"maps"
	"slices"
	"strings"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// info adds the labels of info series to the series of a vector: of those with the same instance
// and job.
type info struct {
	grid  block.Grid
	base  *node
	names []*labels.Matcher // of info metrics
	data  []*labels.Matcher // of the labels to add; none: all labels
	times windows           // of info series
	count sampleCount
	sets  []*read
}

// identifying are the labels by which info series belong to others.
//
//nolint:gochecknoglobals // a constant that the language cannot express.
var identifying = [...]string{"instance", "job"}

func (o *info) inputs() []*node { return []*node{o.base} }

func (*info) name() string { return "info" }

func (o *info) sampled() (total, read int64) { return o.count.total, o.count.read }

func (o *info) reads() []*read { return o.sets }

func (o *info) eval(e *evaluation) (*block.Block, error) {
	in, err := o.base.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	if err := e.hold(in.Samples); err != nil { // The library holds them until the query ends.
		return nil, err
	}
	enriched := o.enriched(in)
	b := e.newBlock(o.grid)
	found, err := o.read(e, b, in, enriched)
	if err != nil {
		return b, err
	}
	j := &infoJoin{info: o, block: b, rows: map[uint64]*infoRow{}, builder: labels.NewBuilder(labels.EmptyLabels())}
	for i := range in.Series {
		if err := e.ended(); err != nil {
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
	return b, e.seal(b)
}

// enriched reports which series get labels: those that are no info series themselves.
func (o *info) enriched(in *block.Block) []bool {
	all := make([]bool, len(in.Series))
	for i := range in.Series {
		name := in.Series[i].Labels.Get(model.MetricNameLabel)
		all[i] = slices.ContainsFunc(o.names, func(m *labels.Matcher) bool { return !m.Matches(name) })
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
func (o *info) read(e *evaluation, b, in *block.Block, enriched []bool) (map[string][]infoMetric, error) {
	byIdentity := map[string][]infoMetric{}
	for _, matchers := range identities(in, enriched) {
		rows, err := o.readSet(e, append(append(matchers, o.data...), o.names...))
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
			if err := b.Memory.TakeBytes(int64(o.grid.Steps) * 4); err != nil {
				return nil, err
			}
			if err := metrics[i].rank(o.grid.Steps); err != nil {
				return nil, err
			}
		}
	}
	return byIdentity, nil
}

// readSet reads the info series that match, with the times of their newest samples.
func (o *info) readSet(e *evaluation, matchers []*labels.Matcher) (*block.Block, error) {
	l := &leaf{windows: o.times, keeps: true}
	first, _ := l.window(0)
	_, last := l.window(o.grid.Steps - 1)
	l.read = &read{selector: columns.Selector{Matchers: matchers, Start: first + 1, End: last}, leaves: []*leaf{l}}
	o.sets = append(o.sets, l.read)
	rows, err := l.eval(e)
	o.count.add(l.count)
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
