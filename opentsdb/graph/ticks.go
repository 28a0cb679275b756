package graph

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// tick is a mark of an axis.
type tick struct {
	at   float64
	text string
}

// mostTicks bounds the marks of an axis.
const mostTicks = 50

// valueTicks marks an axis of values about n times, at round numbers.
func valueTicks(low, high float64, n int, o AxisOptions) (ticks []tick) {
	if o.Log {
		for e := math.Ceil(math.Log10(low)); e <= math.Log10(high) && len(ticks) < mostTicks; e++ {
			v := math.Pow(10, e)
			ticks = append(ticks, tick{v, valueText(v, v, o.Format)})
		}
		return ticks
	}
	step := roundStep((high - low) / float64(max(n, 1)))
	if step <= 0 || math.IsInf(step, 0) {
		return nil
	}
	for i := math.Ceil(low / step); i*step <= high && len(ticks) < mostTicks; i++ {
		at := i*step + 0 // -0 becomes 0
		ticks = append(ticks, tick{at, valueText(at, step, o.Format)})
	}
	return ticks
}

// roundStep returns the smallest of 1, 2 and 5 times a power of ten that is at least step.
func roundStep(step float64) float64 {
	if step <= 0 || math.IsNaN(step) || math.IsInf(step, 0) {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= step {
			return times * power
		}
	}
	return 10 * power
}

// valueText prints a value with the digits that steps need, or in a format of printf.
func valueText(v, step float64, format string) string {
	if format != "" {
		return formatted(v, format)
	}
	if v != 0 && (math.Abs(v) >= 1e7 || math.Abs(v) < 1e-4) {
		return strconv.FormatFloat(v, 'g', 5, 64)
	}
	digits := 0
	if step < 1 && step > 0 {
		digits = int(math.Ceil(-math.Log10(step)))
	}
	return strconv.FormatFloat(v, 'f', min(digits, 9), 64)
}

// formatted prints a value as gnuplot does: %f %e %g with digits, %s with %c for a mantissa and its unit, %%.
func formatted(v float64, format string) string {
	var b strings.Builder
	mantissa, unit := v, ""
	for _, u := range []string{"k", "M", "G", "T", "P", "E"} {
		if math.Abs(mantissa) < 1000 || !strings.Contains(format, "%c") {
			break
		}
		mantissa, unit = mantissa/1000, u
	}
	for rest := format; rest != ""; {
		i := strings.IndexByte(rest, '%')
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		spec := rest[i+1:]
		n := strings.IndexAny(spec, "feEgGsc%")
		if n < 0 || strings.Trim(spec[:n], "0123456789.") != "" {
			b.WriteByte('%')
			rest = spec
			continue
		}
		rest = spec[n+1:]
		switch c := spec[n]; c {
		case '%':
			b.WriteByte('%')
		case 'c':
			b.WriteString(unit)
		case 's':
			b.WriteString(number(mantissa, spec[:n], 'f', -1))
		default:
			b.WriteString(number(v, spec[:n], c, 6))
		}
	}
	return b.String()
}

// number prints with the digits of a specification such as 5.2.
func number(v float64, spec string, format byte, digits int) string {
	if _, after, ok := strings.Cut(spec, "."); ok {
		if n, err := strconv.Atoi(after); err == nil {
			digits = min(n, 20)
		}
	}
	return strconv.FormatFloat(v, format, digits, 64)
}

// timeTicks marks the time axis about n times, at round times of the zone. Times are in seconds.
func timeTicks(from, to float64, n int, o *Options) (ticks []tick) {
	step := timeStep((to - from) / float64(max(n, 1)))
	begin := time.Unix(int64(from), 0).In(o.Zone)
	_, offset := begin.Zone()
	first := math.Ceil((from+float64(offset))/step)*step - float64(offset)
	for at := first; at <= to && len(ticks) < mostTicks; at += step {
		ticks = append(ticks, tick{at, timeText(time.Unix(int64(at), 0).In(o.Zone), to-from, o.TimeFormat)})
	}
	return ticks
}

// timeStep returns the smallest round span in seconds that is at least step.
func timeStep(step float64) float64 {
	for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800} {
		if s >= step {
			return s
		}
	}
	return math.Ceil(step/(30*86400)) * 30 * 86400
}

// timeText prints a time as short as a span of seconds allows, or in a format of strftime.
func timeText(t time.Time, span float64, format string) string {
	switch {
	case format != "":
		return strftime(t, format)
	case span < 120:
		return t.Format("15:04:05")
	case span < 86400:
		return t.Format("15:04")
	case span < 7*86400:
		return t.Format("Mon 15:04")
	case span < 300*86400:
		return t.Format("2006/01/02")
	}
	return t.Format("2006/01")
}

// strftime knows what dates need; other letters stay.
func strftime(t time.Time, format string) string {
	layouts := map[byte]string{
		'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'a': "Mon", 'A': "Monday",
		'b': "Jan", 'B': "January", 'Z': "MST", 'D': "01/02/06", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch layout, ok := layouts[format[i]]; {
		case ok:
			b.WriteString(t.Format(layout))
		case format[i] == 's':
			fmt.Fprint(&b, t.Unix())
		case format[i] == 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		default:
			b.WriteByte(format[i])
		}
	}
	return b.String()
}
