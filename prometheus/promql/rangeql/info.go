package rangeql

import (
	"maps"
	"slices"
	"strings"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// info adds the labels of info series to the series of a vector: of those with the same instance
// and job.
type info struct {
	grid  grid
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

func (o *info) eval(e *evaluation) (*block, error) {
	in, err := o.base.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	if err := e.hold(in.samples); err != nil { // The library holds them until the query ends.
		return nil, err
	}
	enriched := o.enriched(in)
	b := e.newBlock(o.grid)
	found, err := o.read(e, b, in, enriched)
	if err != nil {
		return b, err
	}
	j := &infoJoin{info: o, block: b, rows: map[uint64]*infoRow{}, builder: labels.NewBuilder(labels.EmptyLabels())}
	for i := range in.series {
		if err := e.ended(); err != nil {
			return b, err
		}
		s := &in.series[i]
		var candidates []infoMetric
		if enriched[i] {
			candidates = found[identity(s.labels)]
		}
		if err := j.add(s, candidates, enriched[i]); err != nil {
			return b, err
		}
	}
	for _, row := range j.order {
		row.trim()
		b.series = append(b.series, row.series)
	}
	return b, e.seal(b)
}

// enriched reports which series get labels: those that are no info series themselves.
func (o *info) enriched(in *block) []bool {
	all := make([]bool, len(in.series))
	for i := range in.series {
		name := in.series[i].labels.Get(model.MetricNameLabel)
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
	series []*series
	newest []int32 // at each step, the index of the newest series; -1: none
}

// read returns the info series by their identity. Their memory belongs to the block.
func (o *info) read(e *evaluation, b, in *block, enriched []bool) (map[string][]infoMetric, error) {
	byIdentity := map[string][]infoMetric{}
	for _, matchers := range identities(in, enriched) {
		rows, err := o.readSet(e, append(append(matchers, o.data...), o.names...))
		if err != nil {
			return nil, err
		}
		b.memory.join(&rows.memory)
		for i := range rows.series {
			s := &rows.series[i]
			if s.hists != nil {
				return nil, errInfo // The library refuses it.
			}
			key, name := identity(s.labels), s.labels.Get(model.MetricNameLabel)
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
			if err := b.memory.takeBytes(int64(o.grid.steps) * 4); err != nil {
				return nil, err
			}
			if err := metrics[i].rank(o.grid.steps); err != nil {
				return nil, err
			}
		}
	}
	return byIdentity, nil
}

// readSet reads the info series that match, with the times of their newest samples.
func (o *info) readSet(e *evaluation, matchers []*labels.Matcher) (*block, error) {
	l := &leaf{windows: o.times, keeps: true}
	first, _ := l.window(0)
	_, last := l.window(o.grid.steps - 1)
	l.read = &read{selector: Selector{Matchers: matchers, Start: first + 1, End: last}, leaves: []*leaf{l}}
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
			t, ok := s.at(step)
			switch {
			case !ok:
			case m.newest[step] < 0 || t > newest:
				m.newest[step], newest = int32(i), t
			case t == newest:
				return errInfo
			}
		}
	}
	return nil
}

// identities returns matchers for the identities of the series: one set for each choice of
// identifying labels that are present. It is the library's infoIdentifyingMatcherSets.
func identities(in *block, enriched []bool) [][]*labels.Matcher {
	type values [len(identifying)]map[string]struct{}
	sets := map[int]*values{}
	for i := range in.series {
		if !enriched[i] {
			continue
		}
		present := 0
		for k, name := range identifying {
			if in.series[i].labels.Get(name) != "" {
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
				sets[present][k][in.series[i].labels.Get(name)] = struct{}{}
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
