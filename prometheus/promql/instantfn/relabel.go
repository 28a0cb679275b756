package instantfn

import (
	"fmt"
	"strings"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Relabel is label_replace or label_join: it sets one label of each series.
type Relabel struct {
	Input *operator.Node
	Label string
	// Value returns the new value of the label, false to leave it as it is.
	Value func(ls labels.Labels) (string, bool)
}

// Inputs implements operator.Operator.
func (o Relabel) Inputs() []*operator.Node { return []*operator.Node{o.Input} }

// Eval implements operator.Operator.
func (o Relabel) Eval(e *operator.Evaluation) (*block.Block, error) {
	in, err := o.Input.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	b := e.NewBlock(in.Grid)
	b.Series = make([]block.Series, len(in.Series))
	builder := labels.NewBuilder(labels.EmptyLabels())
	for i, s := range in.Series {
		if value, ok := o.Value(s.Labels); ok {
			builder.Reset(s.Labels)
			builder.Set(o.Label, value)
			s.Labels = builder.Labels()
			s.DropName = s.DropName && o.Label != model.MetricNameLabel
		}
		b.Series[i] = s
	}
	b.Borrow(in)
	if err := e.Seal(b); err != nil {
		return b, err
	}
	return b, e.JoinOr(b, operator.ErrSameLabels)
}

// RefusedLabels returns the library's error of the arguments of label_replace or label_join, nil if
// they are valid.
func RefusedLabels(function string, args []string) error {
	valid := model.UTF8Validation.IsValidLabelName
	if function == "label_replace" {
		if _, err := regexp.Compile(wholeValue(args[3])); err != nil {
			return fmt.Errorf("invalid regular expression in label_replace(): %s", args[3])
		}
	} else {
		for _, source := range args[2:] {
			if !valid(source) {
				return fmt.Errorf("invalid source label name in label_join(): %s", source)
			}
		}
	}
	if !valid(args[0]) {
		return fmt.Errorf("invalid destination label name in %s(): %s", function, args[0])
	}
	return nil
}

// wholeValue returns the expression that matches whole values.
func wholeValue(pattern string) string { return "^(?s:" + pattern + ")$" }

// Replacement returns the value of label_replace. The pattern must be valid.
func Replacement(source, pattern, template string) func(ls labels.Labels) (string, bool) {
	re := regexp.MustCompile(wholeValue(pattern))
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

// Joined returns the value of label_join.
func Joined(separator string, sources []string) func(ls labels.Labels) (string, bool) {
	values := make([]string, len(sources))
	return func(ls labels.Labels) (string, bool) {
		for i, source := range sources {
			values[i] = ls.Get(source)
		}
		return strings.Join(values, separator), true
	}
}
