package expression

import (
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/java"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A line is a series on its way through functions.
type line struct {
	shown   query.Group // but for its points
	subject subject
	points  aggregate.Span
	aliased bool // it has a name of its own
	// uncounted tells that a TSD does not know how many points the line has.
	uncounted bool
	// unannotated tells that the line was computed of several: it shows an empty list of annotations.
	unannotated bool
	unnamed     bool // it was computed of lines with names of their own, which a TSD fails to print
}

func newLine(s *query.Series) line {
	return line{shown: s.Group, subject: subjectOfSeries(s), points: s.Points}
}

// group returns what is shown of a line: the points in the time of the request.
func (l line) group(e Environment) query.Group {
	g := l.shown
	g.Points = l.points.Within(e.Start, e.End)
	if l.unannotated && e.Annotations {
		g.Annotations = []storage.Annotation{}
	}
	return g
}

// A call is what a function is called with. Of the arguments there is at least one.
type call struct {
	arguments [][]line
	params    []string
	Environment
}

// A function computes series. Its errors are RequestErrors and those of the means.
type function func(c call) ([]line, error)

func functions() map[string]function {
	return map[string]function{
		"alias":          alias,
		"scale":          scale,
		"absolute":       absolute,
		"movingAverage":  movingAverage,
		"highestCurrent": highestCurrent,
		"highestMax":     highestMax,
		"shift":          timeShift,
		"timeShift":      timeShift,
		"divideSeries":   combine(divide),
		"divide":         combine(divide),
		"sumSeries":      combine(add),
		"sum":            combine(add),
		"diffSeries":     combine(subtract),
		"difference":     combine(subtract),
		"multiplySeries": combine(multiply),
		"multiply":       combine(multiply),
	}
}

// lines returns the lines of all arguments.
func (c call) lines() (all []line) {
	for _, set := range c.arguments {
		all = append(all, set...)
	}
	return all
}

// pointBytes is what Take is asked for of each point that a function makes.
const pointBytes = 32

// each computes each line for itself, point by point.
func (c call) each(compute func(s *aggregate.Span, i int, out *aggregate.Span)) ([]line, error) {
	lines := c.lines()
	for n, l := range lines {
		if err := c.use(l.points.Len()); err != nil {
			return nil, err
		}
		var out aggregate.Span
		for i := range l.points.Times {
			compute(&l.points, i, &out)
		}
		lines[n].points, lines[n].uncounted = out, false
	}
	return lines, nil
}

// use takes memory for points.
func (c call) use(points int) error {
	if err := c.Take(int64(points) * pointBytes); err != nil {
		return err
	}
	return c.Pause()
}

func isLong(s *aggregate.Span, i int) bool { return s.IsLong != nil && s.IsLong[i] }

func addAbsolute(s *aggregate.Span, i int, out *aggregate.Span) {
	if isLong(s, i) {
		v := s.Longs[i]
		if v < 0 {
			v = -v // the least one stays
		}
		out.AddLong(s.Times[i], v)
		return
	}
	out.Add(s.Times[i], math.Abs(s.Values[i]))
}

func absolute(c call) ([]line, error) { return c.each(addAbsolute) }

// scale multiplies with a factor. Integers stay so if the factor is whole.
func scale(c call) ([]line, error) {
	if len(c.params) == 0 {
		return nil, refused("Missing scaling factor")
	}
	factor, err := parseFactor(c.params[0])
	if err != nil {
		return nil, err
	}
	whole := factor == math.Floor(factor) && !math.IsInf(factor, 0)
	return c.each(func(s *aggregate.Span, i int, out *aggregate.Span) {
		if whole && isLong(s, i) {
			out.AddLong(s.Times[i], java.ToLong(factor)*s.Longs[i])
		} else {
			out.Add(s.Times[i], factor*s.Values[i])
		}
	})
}

// alias names the lines; @key stands for the value of a tag. As with a TSD values lose their signs.
func alias(c call) ([]line, error) {
	if len(c.params) == 0 {
		return nil, refused("Missing the alias")
	}
	for _, l := range c.lines() {
		if l.uncounted {
			return nil, refused("-1") // a TSD does not know how many points there are
		}
	}
	lines, err := c.each(addAbsolute)
	for i := range lines {
		lines[i].rename(strings.Join(c.params, ","))
	}
	return lines, err
}

// rename names the line and takes its tags from it.
func (l *line) rename(name string) {
	if !l.aliased {
		name = l.subject.filled(name)
	}
	l.aliased = true
	l.shown.Metric, l.shown.Tags, l.shown.AggregatedTags = name, []storage.Tag{}, []string{}
	l.subject.metrics, l.subject.aggregated = []query.ID{{}}, nil
}

// filled replaces @key by the value of a tag, in the order in which a TSD does: @host before @hostname
// leaves the name behind it.
func (s subject) filled(name string) string {
	keys, values := make([]string, len(s.tags)), map[string]string{}
	for i, tag := range s.tags {
		keys[i], values[tag.Key.Name] = tag.Key.Name, tag.Value.Name
	}
	for _, key := range java.InMapOrder(keys, len(keys)) {
		name = strings.ReplaceAll(name, "@"+key, values[key])
	}
	return name
}

// timeShift never works in OpenTSDB 2.4.1: it looks for units with the closing quote behind them.
func timeShift(c call) ([]line, error) {
	if len(c.params) == 0 {
		return nil, refused("Need amount of timeshift to perform timeshift")
	}
	text := c.params[0]
	if !strings.HasPrefix(text, "'") || !strings.HasSuffix(text, "'") {
		return nil, refused("Invalid timeshift parameter: eg '10min'")
	}
	digits := leadingDigits(text[1:])
	if digits == 0 {
		return nil, refused("Invalid Parameter: %s", text)
	}
	if _, err := parseInt(text[1 : 1+digits]); err != nil {
		return nil, err
	}
	return nil, refused("unknown time unit=%s", text[1+digits:])
}

// parseInt reads an integer of 32 bits.
func parseInt(digits string) (int64, error) {
	var n int64
	for _, c := range digits {
		if n = 10*n + int64(c-'0'); n > math.MaxInt32 {
			return 0, refused("For input string: %q", digits)
		}
	}
	return n, nil
}

func leadingDigits(s string) (n int) {
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
