package eval

import (
	"strconv"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// shiftFamily returns the functions that move series in time.
func shiftFamily() []Function {
	units := []any{"1h", "6h", "12h", "1d", "2d", "7d", "14d", "30d"}
	return []Function{{
		Name: "timeShift", Group: "Transform", Signature: "seriesList, timeShift, resetEnd=True, alignDST=False", call: timeShift, windows: shiftWindows,
		Doc: "Draws the past: series of an earlier time range over the graph's.",
		Params: []Param{
			seriesParam("seriesList"), need("timeShift", typeInterval).suggest(units...), with("resetEnd", typeBoolean, true), with("alignDst", typeBoolean, false),
		},
	}, {
		Name: "timeStack", Group: "Transform", Signature: "seriesList, timeShiftUnit='1d', timeShiftStart=0, timeShiftEnd=7", call: timeStack, windows: stackWindows,
		Doc: "Draws several time ranges, each so much earlier, over the graph's.",
		Params: []Param{
			seriesParam("seriesList"), with("timeShiftUnit", typeInterval, "1d").suggest(units...),
			with("timeShiftStart", typeInteger, int64(0)), with("timeShiftEnd", typeInteger, int64(7)),
		},
	}, {
		Name: "timeSlice", Group: "Transform", Signature: "seriesList, startSliceAt, endSliceAt='now'", call: timeSlice,
		Doc:    "Leaves out the points outside of a time range.",
		Params: []Param{seriesParam("seriesList"), need("startSliceAt", typeDate), with("endSliceAt", typeDate, "now")},
	}}
}

// backwards returns an offset that goes back unless it has a plus sign.
func backwards(c *call, name string) (string, int64) {
	shown := c.string(name)
	if shown == "" {
		c.fail(python.Crash("%s is empty", name))
		return "", 0
	}
	if python.IsDigit(shown[0]) {
		shown = "-" + shown
	}
	seconds, err := timespec.ParseOffset(shown)
	if err != nil {
		c.fail(python.Crash("%s", err))
	}
	return shown, seconds
}

func shiftWindows(c *call) ([]window, error) {
	_, seconds := backwards(c, "timeShift")
	w := c.scope.window.moved(seconds, seconds)
	if c.truth("alignDST") {
		dst := daylightShift(c, w)
		w = w.moved(dst, dst)
	}
	return []window{w}, nil
}

// daylightShift returns an hour when one of two windows lies in daylight saving time of the
// server's zone and the other does not, so that the same hours of the day are compared.
func daylightShift(c *call, shifted window) int64 {
	saving := func(unix int64) bool { return c.scope.request.localTime(unix).IsDST() }
	w := c.scope.window
	from, until := saving(c.wallFrom(w)), saving(c.wallUntil(w))
	oldFrom, oldUntil := saving(c.wallFrom(shifted)), saving(c.wallUntil(shifted))
	switch {
	case from && until && !oldFrom && !oldUntil:
		return int64(timespec.Hour)
	case !from && !until && oldFrom && oldUntil:
		return -int64(timespec.Hour)
	}
	return 0
}

func timeShift(c *call) ([]*series.Series, error) {
	list := c.series("seriesList")
	shown, _ := backwards(c, "timeShift")
	windows, err := shiftWindows(c)
	if err != nil || c.err != nil || len(list) == 0 {
		return nil, err
	}
	start, end := list[0].Start, list[0].End
	shifted, err := c.evaluate(windows[0])
	if err != nil {
		return nil, err
	}
	for s := range c.over(shifted) {
		s.Tags["timeShift"] = shown
		s.Rename("timeShift(" + s.Name + `, "` + shown + `")`)
		if c.truth("resetEnd") {
			s.End = end
		} else {
			s.End += start - s.Start
		}
		s.Start = start
	}
	return shifted, nil
}

// maxShifts bounds timeStack.
const maxShifts = 1000

func stackWindows(c *call) ([]window, error) {
	_, seconds := backwards(c, "timeShiftUnit")
	from, to := c.toInt("timeShiftStart"), c.toInt("timeShiftEnd")
	if c.err == nil && (to-from > maxShifts || max(from, -from, to, -to) > timespec.MaxOffset/max(seconds, -seconds, 1)) {
		return nil, python.Invalid("timeStack of %d time ranges", to-from)
	}
	var list []window
	for ; from < to; from++ {
		list = append(list, c.scope.window.moved(from*seconds, from*seconds))
	}
	return list, nil
}

func timeStack(c *call) ([]*series.Series, error) {
	list := c.series("seriesList")
	unit, _ := backwards(c, "timeShiftUnit")
	windows, err := stackWindows(c)
	if err != nil || c.err != nil || len(list) == 0 {
		return nil, err
	}
	start, end := list[0].Start, list[0].End
	var out []*series.Series
	for i, w := range windows {
		shifted, err := c.evaluate(w)
		if err != nil {
			return nil, err
		}
		n := strconv.FormatInt(c.toInt("timeShiftStart")+int64(i), 10)
		for s := range c.over(shifted) {
			s.Tags["timeShiftUnit"], s.Tags["timeShift"] = unit, n
			s.Wrap("timeShift(" + s.Name + ", " + unit + ", " + n + ")")
			s.Start, s.End = start, end
			out = append(out, s)
		}
	}
	return out, nil
}

// timeSlice counts slots from the start of the request as its zone's clock shows it.
func timeSlice(c *call) ([]*series.Series, error) {
	list, from, until := c.series("seriesList"), localTime(c, "startSliceAt").Unix(), localTime(c, "endSliceAt").Unix()
	if c.err != nil {
		return nil, nil
	}
	start, end := strconv.FormatInt(from, 10), strconv.FormatInt(until, 10)
	for s := range c.over(list) {
		s.Tags["timeSliceStart"], s.Tags["timeSliceEnd"] = start, end
		s.Rename("timeSlice(" + s.Name + ", " + start + ", " + end + ")")
		now := c.wallFrom(c.scope.window)
		c.replace(s, func(v float64) float64 {
			if now < from || now > until {
				v = python.None()
			}
			now += s.Step
			return v
		})
	}
	return list, nil
}
