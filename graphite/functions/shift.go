package functions

import (
	"strconv"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// shiftFamily returns the functions that move series in time.
func shiftFamily() []call.Function {
	units := []any{"1h", "6h", "12h", "1d", "2d", "7d", "14d", "30d"}
	return []call.Function{{
		Name: "timeShift", Group: "Transform", Signature: "seriesList, timeShift, resetEnd=True, alignDST=False", Call: timeShift, Windows: shiftWindows,
		Doc: "Draws the past: series of an earlier time range over the graph's.",
		Params: []call.Param{
			seriesParam("seriesList"), need("timeShift", call.TypeInterval).Suggesting(units...), with("resetEnd", call.TypeBoolean, true), with("alignDst", call.TypeBoolean, false),
		},
	}, {
		Name: "timeStack", Group: "Transform", Signature: "seriesList, timeShiftUnit='1d', timeShiftStart=0, timeShiftEnd=7", Call: timeStack, Windows: stackWindows,
		Doc: "Draws several time ranges, each so much earlier, over the graph's.",
		Params: []call.Param{
			seriesParam("seriesList"), with("timeShiftUnit", call.TypeInterval, "1d").Suggesting(units...),
			with("timeShiftStart", call.TypeInteger, int64(0)), with("timeShiftEnd", call.TypeInteger, int64(7)),
		},
	}, {
		Name: "timeSlice", Group: "Transform", Signature: "seriesList, startSliceAt, endSliceAt='now'", Call: timeSlice,
		Doc:    "Leaves out the points outside of a time range.",
		Params: []call.Param{seriesParam("seriesList"), need("startSliceAt", call.TypeDate), with("endSliceAt", call.TypeDate, "now")},
	}}
}

// backwards returns an offset that goes back unless it has a plus sign.
func backwards(c *call.Call, name string) (string, int64) {
	shown := c.Text(name)
	if shown == "" {
		c.Fail(python.Crash("%s is empty", name))
		return "", 0
	}
	if python.IsDigit(shown[0]) {
		shown = "-" + shown
	}
	seconds, err := timespec.ParseOffset(shown)
	if err != nil {
		c.Fail(python.Crash("%s", err))
	}
	return shown, seconds
}

func shiftWindows(c *call.Call) ([]call.Window, error) {
	_, seconds := backwards(c, "timeShift")
	w := c.Scope.Window.Moved(seconds, seconds)
	if c.Truth("alignDST") {
		dst := daylightShift(c, w)
		w = w.Moved(dst, dst)
	}
	return []call.Window{w}, nil
}

// daylightShift returns an hour when one of two windows lies in daylight saving time of the
// server's zone and the other does not, so that the same hours of the day are compared.
func daylightShift(c *call.Call, shifted call.Window) int64 {
	saving := func(unix int64) bool { return c.Scope.Request.ServerTime(unix).IsDST() }
	w := c.Scope.Window
	from, until := saving(c.WallFrom(w)), saving(c.WallUntil(w))
	oldFrom, oldUntil := saving(c.WallFrom(shifted)), saving(c.WallUntil(shifted))
	switch {
	case from && until && !oldFrom && !oldUntil:
		return int64(timespec.Hour)
	case !from && !until && oldFrom && oldUntil:
		return -int64(timespec.Hour)
	}
	return 0
}

func timeShift(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	shown, _ := backwards(c, "timeShift")
	windows, err := shiftWindows(c)
	if err != nil || c.Err != nil || len(list) == 0 {
		return nil, err
	}
	start, end := list[0].Start, list[0].End
	shifted, err := c.Evaluate(windows[0])
	if err != nil {
		return nil, err
	}
	for s := range c.Over(shifted) {
		s.Tags["timeShift"] = shown
		s.Rename("timeShift(" + s.Name + `, "` + shown + `")`)
		if c.Truth("resetEnd") {
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

func stackWindows(c *call.Call) ([]call.Window, error) {
	_, seconds := backwards(c, "timeShiftUnit")
	from, to := c.ToInt("timeShiftStart"), c.ToInt("timeShiftEnd")
	if c.Err == nil && (to-from > maxShifts || max(from, -from, to, -to) > timespec.MaxOffset/max(seconds, -seconds, 1)) {
		return nil, python.Invalid("timeStack of %d time ranges", to-from)
	}
	var list []call.Window
	for ; from < to; from++ {
		list = append(list, c.Scope.Window.Moved(from*seconds, from*seconds))
	}
	return list, nil
}

func timeStack(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	unit, _ := backwards(c, "timeShiftUnit")
	windows, err := stackWindows(c)
	if err != nil || c.Err != nil || len(list) == 0 {
		return nil, err
	}
	start, end := list[0].Start, list[0].End
	var out []*series.Series
	for i, w := range windows {
		shifted, err := c.Evaluate(w)
		if err != nil {
			return nil, err
		}
		n := strconv.FormatInt(c.ToInt("timeShiftStart")+int64(i), 10)
		for s := range c.Over(shifted) {
			s.Tags["timeShiftUnit"], s.Tags["timeShift"] = unit, n
			s.Wrap("timeShift(" + s.Name + ", " + unit + ", " + n + ")")
			s.Start, s.End = start, end
			out = append(out, s)
		}
	}
	return out, nil
}

// timeSlice counts slots from the start of the request as its zone's clock shows it.
func timeSlice(c *call.Call) ([]*series.Series, error) {
	list, from, until := c.Series("seriesList"), localTime(c, "startSliceAt").Unix(), localTime(c, "endSliceAt").Unix()
	if c.Err != nil {
		return nil, nil
	}
	start, end := strconv.FormatInt(from, 10), strconv.FormatInt(until, 10)
	for s := range c.Over(list) {
		s.Tags["timeSliceStart"], s.Tags["timeSliceEnd"] = start, end
		s.Rename("timeSlice(" + s.Name + ", " + start + ", " + end + ")")
		now := c.WallFrom(c.Scope.Window)
		c.Replace(s, func(v float64) float64 {
			if now < from || now > until {
				v = python.None()
			}
			now += s.Step
			return v
		})
	}
	return list, nil
}
