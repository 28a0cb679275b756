package rangeql

import (
	"strings"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// relabel is label_replace or label_join: it sets one label of each series.
type relabel struct {
	input *node
	label string
	// value returns the new value of the label, false to leave it as it is.
	value func(ls labels.Labels) (string, bool)
}

func (o relabel) inputs() []*node { return []*node{o.input} }

func (o relabel) eval(e *evaluation) (*block, error) {
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	b := e.newBlock(in.grid)
	b.series = make([]series, len(in.series))
	builder := labels.NewBuilder(labels.EmptyLabels())
	for i, s := range in.series {
		if value, ok := o.value(s.labels); ok {
			builder.Reset(s.labels)
			builder.Set(o.label, value)
			s.labels = builder.Labels()
			s.dropName = s.dropName && o.label != model.MetricNameLabel
		}
		b.series[i] = s
	}
	b.borrow(in)
	if err := e.seal(b); err != nil {
		return b, err
	}
	return b, e.join(b)
}

// replacement returns the value of label_replace, nil if the expression is not valid.
func replacement(source, pattern, template string) func(ls labels.Labels) (string, bool) {
	re, err := regexp.Compile("^(?s:" + pattern + ")$")
	if err != nil {
		return nil
	}
	var buffer []byte
	known := map[string]string{} // results by the source's value
	const most = 1024
	return func(ls labels.Labels) (string, bool) {
		value := ls.Get(source)
		if result, ok := known[value]; ok {
			return result, true
		}
		found := re.FindStringSubmatchIndex(value)
		if found == nil {
			return "", false
		}
		buffer = re.ExpandString(buffer[:0], template, value, found)
		result := string(buffer)
		if len(known) < most {
			known[value] = result
		}
		return result, true
	}
}

// joined returns the value of label_join.
func joined(separator string, sources []string) func(ls labels.Labels) (string, bool) {
	values := make([]string, len(sources))
	return func(ls labels.Labels) (string, bool) {
		for i, source := range sources {
			values[i] = ls.Get(source)
		}
		return strings.Join(values, separator), true
	}
}
