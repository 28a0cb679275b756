package querytranslate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
)

var graphiteWords = words{
	functions:  map[Function]string{Rate: "perSecond", MeanOver: "avg", SumOver: "sum", LeastOver: "min", GreatestOver: "max", CountOver: "count"},
	aggregates: map[Aggregate]string{Sum: "sum", Mean: "average", Least: "min", Greatest: "max", Count: "count"},
}

func (s Speaker) readGraphite(text string) (Query, error) {
	node, err := expr.Parser{}.Parse(text)
	if err != nil {
		return Query{}, err
	}
	var q Query
	if node, err = s.takeGroup(&q, node); err != nil {
		return q, err
	}
	if node, err = q.takeWindow(node); err != nil {
		return q, err
	}
	switch n := node.(type) {
	case *expr.Path:
		if strings.Contains(n.Text, ";") {
			return q, unsaid("the name of a tagged series is said by seriesByTag elsewhere")
		}
		q.Metric, q.Pattern = n.Text, strings.ContainsAny(n.Text, "*?[{")
		return q, nil
	case *expr.Call:
		if n.Name == "seriesByTag" {
			return q, s.takeTags(&q, n)
		}
		return q, unsaid("the other languages have nothing like %s around a selector here", n.Name)
	}
	return q, unsaid("the query is more than a selector, a function and an aggregation")
}

// takeGroup reads sumSeries(x), aggregate(x, 'sum') and groupByTags(x, 'sum', 'tag', …).
func (s Speaker) takeGroup(q *Query, n expr.Node) (expr.Node, error) {
	c, ok := n.(*expr.Call)
	if !ok || len(c.Args) == 0 || len(c.Kwargs) > 0 {
		return n, nil
	}
	var word string
	switch {
	case c.Name == "aggregate" && len(c.Args) == 2, c.Name == "groupByTags" && len(c.Args) > 2:
		w, _ := c.Args[1].(expr.String)
		word = string(w)
		for _, arg := range c.Args[2:] {
			tag, _ := arg.(expr.String)
			q.By = append(q.By, s.label(string(tag)))
		}
	case strings.HasSuffix(c.Name, "Series") && len(c.Args) == 1:
		word = strings.TrimSuffix(c.Name, "Series")
	default:
		return n, nil
	}
	slices.Sort(q.By)
	if word == "avg" {
		word = "average"
	}
	if q.Aggregate, ok = find(graphiteWords.aggregates, word); !ok {
		return nil, unsaid("the other languages have no aggregation %s", word)
	}
	return c.Args[0], nil
}

// takeWindow reads perSecond(x) and summarize(x, '5min', 'avg').
func (q *Query) takeWindow(n expr.Node) (expr.Node, error) {
	c, ok := n.(*expr.Call)
	switch {
	case !ok || len(c.Kwargs) > 0:
		return n, nil
	case c.Name == "perSecond" && len(c.Args) == 1:
		q.Function = Rate
		return c.Args[0], nil
	case c.Name != "summarize" || len(c.Args) < 2 || len(c.Args) > 3:
		return n, nil
	}
	interval, _ := c.Args[1].(expr.String)
	window, err := model.ParseDuration(graphiteUnits.Replace(string(interval)))
	if err != nil {
		return nil, unsaid("the interval %q", string(interval))
	}
	word := expr.String("sum")
	if len(c.Args) == 3 {
		word, _ = c.Args[2].(expr.String)
	}
	if word == "average" {
		word = "avg"
	}
	if q.Function, ok = find(graphiteWords.functions, string(word)); !ok || q.Function == Rate {
		return nil, unsaid("the other languages have no %s over time", string(word))
	}
	q.Window = time.Duration(window)
	return c.Args[0], nil
}

// graphiteUnits turns Graphite's units of time into Prometheus'.
var graphiteUnits = strings.NewReplacer("seconds", "s", "second", "s", "sec", "s", "minutes", "m", "minute", "m", "min", "m", "hours", "h", "hour", "h",
	"days", "d", "day", "d", "weeks", "w", "week", "w")

// takeTags reads seriesByTag('name=x', 'k=v', …).
func (s Speaker) takeTags(q *Query, c *expr.Call) error {
	for _, arg := range c.Args {
		text, ok := arg.(expr.String)
		m := tagCondition.FindStringSubmatch(string(text))
		if !ok || m == nil {
			return unsaid("the condition %v", arg)
		}
		condition := Condition{s.label(m[1]), Op(strings.ReplaceAll(m[2], "!=~", "!~")), m[3]}
		switch {
		case condition.Label != model.MetricNameLabel:
			if condition.Op == Matches || condition.Op == MatchesNot {
				condition.Value = wholeExpression(condition.Value)
			}
			q.Conditions = append(q.Conditions, condition)
		case condition.Op != Equals:
			return unsaid("the other languages ask for one metric by its name")
		default:
			q.Metric = condition.Value
		}
	}
	return nil
}

var tagCondition = regexp.MustCompile(`(?s)^([^;!^=]+)(!=~|=~|!=|=)(.*)$`)

// wholeExpression turns an expression that need match only the begin of a value, as Graphite's, into one for the whole value.
func wholeExpression(e string) string {
	for _, open := range []string{"^(?:", "^("} {
		if inner, ok := strings.CutPrefix(e, open); ok {
			if inner, ok = strings.CutSuffix(inner, ")$"); ok && !strings.ContainsAny(inner, "()") {
				return inner
			}
		}
	}
	if inner, ok := strings.CutSuffix(strings.TrimPrefix(e, "^"), "$"); ok && !strings.Contains(inner, "|") {
		return inner
	}
	return "(" + strings.TrimPrefix(e, "^") + ").*"
}

func (s Speaker) label(tag string) string {
	if tag == "name" {
		return model.MetricNameLabel
	}
	return tag
}

func (s Speaker) sayGraphite(q Query) (string, error) {
	text := q.Metric
	if len(q.Conditions) > 0 || !q.Pattern && !s.Dotted(q.Metric) {
		conditions := []string{quoteGraphite("name=" + q.Metric)}
		if strings.HasPrefix(q.Metric, "~") {
			return "", unsaid("Graphite takes a name that begins with ~ as an expression")
		}
		for _, c := range q.Conditions {
			op, value := string(c.Op), c.Value
			if strings.HasPrefix(value, "~") {
				return "", unsaid("Graphite takes a value that begins with ~ as an expression")
			}
			if c.Op == Matches || c.Op == MatchesNot {
				op, value = strings.Replace(op, "!~", "!=~", 1), "^(?:"+value+")$"
			}
			conditions = append(conditions, quoteGraphite(s.Tag(c.Label)+op+value))
		}
		text = "seriesByTag(" + strings.Join(conditions, ", ") + ")"
	}
	switch q.Function {
	case NoFunction:
	case Rate:
		text = "perSecond(" + text + ")"
	default:
		text = fmt.Sprintf("summarize(%s, '%ds', '%s')", text, max(1, int64(q.window().Seconds())), graphiteWords.functions[q.Function])
	}
	switch word := graphiteWords.aggregates[q.Aggregate]; {
	case q.Aggregate == NoAggregate:
	case len(q.By) > 0:
		tags := make([]string, len(q.By))
		for i, label := range q.By {
			tags[i] = quoteGraphite(s.Tag(label))
		}
		text = fmt.Sprintf("groupByTags(%s, '%s', %s)", text, word, strings.Join(tags, ", "))
	default:
		text = word + "Series(" + text + ")"
	}
	if strings.ContainsAny(text, "\n\r") {
		return "", unsaid("Graphite's targets have no line breaks")
	}
	if again, err := s.readGraphite(text); err != nil || again.Metric != q.Metric || len(again.Conditions) != len(q.Conditions) {
		return "", unsaid("its names or values have characters that a target has no place for")
	}
	return text, nil
}

// quoteGraphite puts a text between the quotes that it does not have. Graphite's strings have no escapes.
func quoteGraphite(text string) string {
	if strings.Contains(text, "'") {
		return `"` + text + `"`
	}
	return "'" + text + "'"
}

// globExpression returns the regular expression of a pattern.
func globExpression(glob string) string {
	var b strings.Builder
	depth := 0
	for _, r := range glob {
		switch {
		case r == '*':
			b.WriteString("[^.]*")
		case r == '?':
			b.WriteString("[^.]")
		case r == '{':
			depth++
			b.WriteString("(?:")
		case r == '}' && depth > 0:
			depth--
			b.WriteString(")")
		case r == ',' && depth > 0:
			b.WriteString("|")
		case r == '[' || r == ']' || r == '-':
			b.WriteRune(r) // classes are written alike
		case r == '!' && strings.HasSuffix(b.String(), "["):
			b.WriteString("^")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}
