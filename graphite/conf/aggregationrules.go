package conf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
)

// AggregationRules are carbon's aggregation-rules.conf: of which metrics carbon-aggregator makes others.
type AggregationRules struct{ list []*AggregationRule }

// An AggregationRule is one line: output (frequency) = method input.
type AggregationRule struct {
	Frequency int64  // seconds of an interval, 1 or more
	Method    string // one of AggregationMethods
	text      string
	input     *pyregexp.Regexp
	output    []outputPart
}

// outputPart is literal text and then a field, or "".
type outputPart struct{ text, field string }

// AggregationMethods are those that carbon 1.1.10 has.
var AggregationMethods = []string{"sum", "avg", "min", "max", "p50", "p75", "p80", "p90", "p95", "p99", "p999", "count"}

// maxFrequency bounds the seconds of an interval: the times that points have.
const maxFrequency = math.MaxUint32

// ParseAggregationRules reads rules as carbon 1.1.10 does. A line that is no rule is an error, as it ends
// carbon-aggregator; so is an output that names a field which its input does not have, with which carbon
// would lose the points. file is for errors.
func ParseAggregationRules(file, text string) (*AggregationRules, error) {
	rules := &AggregationRules{}
	for i, line := range lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		rule, err := parseAggregationRule(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		rules.list = append(rules.list, rule)
	}
	return rules, nil
}

func parseAggregationRule(line string) (*AggregationRule, error) {
	left, right, _ := strings.Cut(line, "=")
	outputs, inputs := strings.Fields(left), strings.Fields(right)
	if len(outputs) != 2 || len(inputs) != 2 {
		return nil, fmt.Errorf("%q is not: output (frequency) = method input", line)
	}
	seconds := strings.TrimRight(strings.TrimLeft(outputs[1], "("), ")")
	frequency, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || frequency < 1 || frequency > maxFrequency {
		return nil, fmt.Errorf("frequency %q: want seconds from 1 to %d", outputs[1], int64(maxFrequency))
	}
	if !slices.Contains(AggregationMethods, inputs[0]) {
		return nil, fmt.Errorf("method %q: want one of %s", inputs[0], strings.Join(AggregationMethods, ", "))
	}
	r := &AggregationRule{Frequency: frequency, Method: inputs[0], text: line}
	if r.input, err = pyregexp.Compile(inputExpression(inputs[1])); err != nil {
		return nil, err
	}
	r.output, err = r.parseOutput(outputs[0])
	return r, err
}

// inputExpression returns the regular expression that carbon makes of an input pattern: of each part
// between dots, with one field or with stars. What else is in a part is a regular expression.
func inputExpression(pattern string) string {
	parts := strings.Split(pattern, ".")
	for i, part := range parts {
		parts[i] = inputPart(part)
	}
	return strings.Join(parts, `\.`) + "$"
}

func inputPart(part string) string {
	begin, end := strings.Index(part, "<<"), strings.Index(part, ">>")
	if begin >= 0 && end >= begin+2 {
		return part[:begin] + "(?P<" + part[begin+2:end] + ">.+?)" + part[end+2:]
	}
	begin, end = strings.IndexByte(part, '<'), strings.IndexByte(part, '>')
	switch {
	case begin >= 0 && end > begin:
		return part[:begin] + "(?P<" + part[begin+1:end] + ">[^.]+?)" + part[end+1:]
	case part == "*":
		return "[^.]+"
	}
	return strings.ReplaceAll(part, "*", "[^.]*")
}

// parseOutput reads an output as carbon does: < and > become %( and )s, and the whole is a format of
// Python.
func (r *AggregationRule) parseOutput(output string) ([]outputPart, error) {
	format := strings.ReplaceAll(strings.ReplaceAll(output, "<", "%("), ">", ")s")
	var parts []outputPart
	var text strings.Builder
	for format != "" {
		literal, rest, found := strings.Cut(format, "%")
		text.WriteString(literal)
		if !found {
			break
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			text.WriteByte('%')
			format = after
			continue
		}
		field, after, ok := strings.Cut(rest, ")s")
		if field, ok = cutField(field, ok); !ok {
			return nil, fmt.Errorf("output %q: what follows %q is no field", output, text.String())
		}
		if !r.input.HasGroup(field) {
			return nil, fmt.Errorf("output %q: the input has no field %q", output, field)
		}
		parts = append(parts, outputPart{text.String(), field})
		text.Reset()
		format = after
	}
	return append(parts, outputPart{text: text.String()}), nil
}

// cutField returns the name of a field without the parenthesis before it.
func cutField(field string, ok bool) (string, bool) {
	field, opened := strings.CutPrefix(field, "(")
	return field, ok && opened && !strings.ContainsAny(field, "()")
}

// Of calls use with each rule that a name is the input of, and with the name of its output, in the order
// of the file. An error means that a rule takes too long for the name: nothing is known of those after it.
func (r *AggregationRules) Of(name string, use func(rule *AggregationRule, output string)) error {
	if r == nil {
		return nil
	}
	for _, rule := range r.list {
		fields, err := rule.input.Groups(name)
		if err != nil {
			return err
		}
		if fields == nil {
			continue
		}
		use(rule, rule.outputOf(fields))
	}
	return nil
}

func (r *AggregationRule) outputOf(fields map[string]string) string {
	var b strings.Builder
	for _, part := range r.output {
		b.WriteString(part.text)
		if value, matched := fields[part.field]; matched {
			b.WriteString(value)
		} else if part.field != "" {
			b.WriteString("None") // as Python writes a group that took no part
		}
	}
	return b.String()
}

// Has reports whether there is the same rule.
func (r *AggregationRules) Has(rule *AggregationRule) bool {
	return r != nil && slices.ContainsFunc(r.list, func(other *AggregationRule) bool { return other.text == rule.text })
}

// String returns the line.
func (r *AggregationRule) String() string { return r.text }
