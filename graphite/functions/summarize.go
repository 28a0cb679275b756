package functions

import (
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// summarizeFamily returns the functions that cut series into longer steps.
func summarizeFamily() []call.Function {
	interval := need("intervalString", call.TypeInterval).Suggesting("10min", "1h", "1d")
	return []call.Function{{
		Name: "summarize", Group: "Transform", Signature: "seriesList, intervalString, func='sum', alignToFrom=False", Call: summarize,
		Doc: "Joins values to a longer step with an aggregation function.",
		Params: []call.Param{
			seriesParam("seriesList"), interval, with("func", call.TypeAggFunc, "sum"), with("alignToFrom", call.TypeBoolean, false),
		},
	}, {
		Name: "smartSummarize", Group: "Transform", Signature: "seriesList, intervalString, func='sum', alignTo=None", Call: smartSummarize,
		Doc: "Joins values to a longer step that begins where the graph does, or at a unit of time before.", Windows: alignedWindows,
		Params: []call.Param{
			seriesParam("seriesList"), interval, with("func", call.TypeAggFunc, "sum"),
			opt("alignTo", call.TypeString).WithOptions(nil, true, false, "years", "months", "weeks", "days", "hours", "minutes", "seconds"),
		},
	}}
}

func summarize(c *call.Call) ([]*series.Series, error) {
	list, align := c.Series("seriesList"), c.Truth("alignToFrom")
	interval := c.Interval(list)
	if len(list) == 0 || c.Err != nil {
		return nil, nil
	}
	suffix := ""
	if align {
		suffix = ", true"
	}
	function := c.Text("func")
	var out []*series.Series
	for s := range c.Over(list) {
		start, end := s.Start, s.End
		if !align {
			start, end = start-python.Modulo(start, interval), end-python.Modulo(end, interval)+interval
		}
		values, aligned, err := summarized(c, s, function, interval, start, end)
		if err != nil {
			return nil, err
		}
		if align {
			end = aligned
		}
		shown := c.Text("intervalString")
		s.Tags["summarize"], s.Tags["summarizeFunction"] = shown, function
		d := s.Derive("summarize("+s.Name+`, "`+shown+`", "`+function+`"`+suffix+")", values)
		d.Start, d.End, d.Step, d.Ints = start, end, interval, function == "count"
		out = append(out, d)
	}
	return out, nil
}

func smartSummarize(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	windows, err := alignedWindows(c)
	if err != nil || c.Err != nil {
		return nil, err
	}
	for _, w := range windows {
		if list, err = c.Evaluate(w); err != nil {
			return nil, err
		}
	}
	interval := c.Interval(list)
	if len(list) == 0 || c.Err != nil {
		return nil, nil
	}
	function := c.Text("func")
	var out []*series.Series
	for s := range c.Over(list) {
		values, end, err := summarized(c, s, function, interval, s.Start, s.End)
		if err != nil {
			return nil, err
		}
		shown := c.Text("intervalString")
		s.Tags["smartSummarize"], s.Tags["smartSummarizeFunction"] = shown, function
		d := s.Derive("smartSummarize("+s.Name+`, "`+shown+`", "`+function+`")`, values)
		d.End, d.Step, d.Ints = end, interval, function == "count"
		out = append(out, d)
	}
	return out, nil
}

// alignedWindows returns the window from the beginning of a unit of time on, if alignTo names one;
// true and false are what the parameter was before, and ignored.
func alignedWindows(c *call.Call) ([]call.Window, error) {
	align, ok := c.Value("alignTo").(string)
	if !ok {
		if _, isBool := c.Value("alignTo").(bool); !isBool && c.Has("alignTo") {
			return nil, python.Crash("alignTo is not a string")
		}
		return nil, nil
	}
	u, err := timespec.ParseUnit(align)
	if err != nil {
		return nil, python.Crash("%s", err)
	}
	w := c.Scope.Window
	local := time.Unix(w.From, 0).In(time.FixedZone("", int(w.FromOffset)))
	switch u {
	case timespec.Year:
		local = time.Date(local.Year(), 1, 1, 0, 0, 0, 0, local.Location())
	case timespec.Month:
		local = time.Date(local.Year(), local.Month(), 1, 0, 0, 0, 0, local.Location())
	case timespec.Week:
		first, err := firstWeekday(align)
		if err != nil {
			return nil, err
		}
		back := (int(local.Weekday())+6)%7 + 1 - first // Python counts Monday as 1, Sunday as 7.
		if back < 0 {
			back += 7
		}
		local = time.Date(local.Year(), local.Month(), local.Day()-back, 0, 0, 0, 0, local.Location())
	default:
		length := int64(u)
		at := local.Unix() + w.FromOffset
		local = time.Unix(at-python.Modulo(at, length)-w.FromOffset, 0)
	}
	w.From = local.Unix()
	return []call.Window{w}, nil
}

// firstWeekday returns the digit at the end of `weeks3`, else Monday.
func firstWeekday(align string) (int, error) {
	end := align[len(align)-1]
	if timespec.IsLetter(end) {
		return 1, nil
	}
	n, err := strconv.Atoi(string(end))
	if err != nil {
		return 0, python.Crash("%q is no day of the week", end)
	}
	return n, nil
}

// summarized is graphite-web's _summarizeValues: one value for each interval from start to end, and
// where the last interval ends. A point before start counts for nothing but may be aggregated with
// the first interval.
func summarized(c *call.Call, s *series.Series, function string, interval, start, end int64) ([]float64, int64, error) {
	agg, err := series.FindAggregator(function, function)
	if err != nil {
		return nil, 0, err
	}
	if s.Step <= 0 {
		return nil, 0, python.Crash("a series has no step")
	}
	if (end-start)/interval > maxMade {
		return nil, 0, python.Invalid("more than %d points", maxMade)
	}
	if !c.Reserve(8 * max(0, (end-start)/interval+1)) {
		return nil, 0, c.Err
	}
	points := min(len(s.Values), int(max(0, (s.End-s.Start+s.Step-1)/s.Step)))
	var values []float64
	i, low := 0, 0
	for ; start < end && c.Tick(1+i-low); start += interval {
		present := 0
		low = i
		for at := s.Start + int64(i)*s.Step; i < points && at < start+interval; at += s.Step {
			if at <= start {
				low = i
			}
			if at >= start && !python.IsNone(s.Values[i]) {
				present++
			}
			i++
		}
		values = append(values, python.None())
		if present > 0 && float64(present)/(float64(interval)/float64(s.Step)) >= s.XFilesFactor {
			values[len(values)-1] = agg.Of(s.Values[low:i])
		}
	}
	return values, start, nil
}

// maxMade bounds the points of one series that a function makes up, so that no target eats all
// memory.
const maxMade = 10_000_000
