package rangeql

import (
	"maps"
	"slices"
	"strings"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
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
	reads []*read
}

// identifying are the labels by which info series belong to others.
//
//nolint:gochecknoglobals // a constant that the language cannot express.
var identifying = [...]string{"instance", "job"}

func (o *info) inputs() []*node { return []*node{o.base} }

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
	o.reads = append(o.reads, l.read)
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

// An infoJoin makes the series of the answer.
type infoJoin struct {
	*info
	block   *block
	rows    map[uint64]*infoRow // by the hash of their labels
	order   []*infoRow
	builder *labels.Builder
}

// An infoRow is a series of the answer. Its first value decides whether the name is dropped.
type infoRow struct {
	series
	first int // step
}

// add adds the values of a series under the labels of each step.
func (j *infoJoin) add(s *series, metrics []infoMetric, enriched bool) error {
	choice, chosen := make([]int32, len(metrics)), false
	var row *infoRow // nil: the values are left out
	for step := s.from; step < s.to(); step++ {
		if !s.has(step) {
			continue
		}
		same := chosen
		for k := range metrics {
			same = same && choice[k] == metrics[k].newest[step]
			choice[k] = metrics[k].newest[step]
		}
		if !same {
			ls, keep, err := j.labels(s.labels, metrics, choice, enriched)
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
			if row.has(step) {
				return errSameLabels
			}
			row.set(s, step)
		}
	}
	return nil
}

// row returns the series of the answer with some labels.
func (j *infoJoin) row(ls labels.Labels, s *series, step int) (*infoRow, error) {
	hash := ls.Hash()
	row := j.rows[hash]
	if row == nil {
		values, err := j.block.memory.take(j.grid.steps)
		if err != nil {
			return nil, err
		}
		fill(values, absent)
		row = &infoRow{series{labels: ls, dropName: s.dropName, values: values}, step}
		j.rows[hash], j.order = row, append(j.order, row)
	}
	if step < row.first {
		row.first, row.dropName = step, s.dropName
	}
	return row, nil
}

// set takes the value of a step.
func (r *infoRow) set(s *series, step int) {
	if h := s.hist(step); h != nil {
		if r.hists == nil {
			r.hists = make([]*histogram.FloatHistogram, len(r.values))
		}
		r.hists[step] = h
		return
	}
	r.values[step], _ = s.at(step)
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
		metrics[k].series[i].labels.Range(func(l labels.Label) {
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
		return ls, false, errInfo // The library has the words.
	}
	if !found && slices.ContainsFunc(j.data, func(m *labels.Matcher) bool { return !m.Matches("") }) {
		return ls, false, nil
	}
	added := j.builder.Labels()
	j.builder.Reset(ls)
	added.Range(func(l labels.Label) { j.builder.Set(l.Name, l.Value) })
	return j.builder.Labels(), true, nil
}

// asked reports whether a label is to be added.
func (j *infoJoin) asked(name string) bool {
	return len(j.data) == 0 || slices.ContainsFunc(j.data, func(m *labels.Matcher) bool { return m.Name == name })
}
