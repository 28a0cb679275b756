package aggregate

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestCalendar checks that beginnings of intervals are dates, in zones with summer time too.
func TestCalendar(t *testing.T) {
	for _, c := range []struct{ interval, zone, at, floor, next string }{
		{"1n", "America/New_York", "2013-01-15T12:00:00Z", "2013-01-01T05:00:00Z", "2013-02-01T05:00:00Z"},
		{"1n", "America/New_York", "2013-03-15T12:00:00Z", "2013-03-01T05:00:00Z", "2013-04-01T04:00:00Z"},
		{"1d", "Europe/Berlin", "2013-03-31T12:00:00Z", "2013-03-30T23:00:00Z", "2013-03-31T22:00:00Z"},
		{"1y", "UTC", "2013-07-01T00:00:00Z", "2013-01-01T00:00:00Z", "2014-01-01T00:00:00Z"},
		{"1w", "UTC", "2013-01-02T00:00:00Z", "2012-12-30T00:00:00Z", "2013-01-06T00:00:00Z"},
		{"2d", "UTC", "2013-01-04T05:00:00Z", "2013-01-03T00:00:00Z", "2013-01-05T00:00:00Z"},
		{"6h", "Asia/Kolkata", "2013-01-01T00:00:00Z", "2012-12-31T18:30:00Z", "2013-01-01T00:30:00Z"},
		{"90m", "UTC", "2013-01-01T04:00:00Z", "2013-01-01T03:00:00Z", "2013-01-01T04:30:00Z"},
		{"500ms", "UTC", "2013-01-01T00:00:00.7Z", "2013-01-01T00:00:00.5Z", "2013-01-01T00:00:01Z"},
	} {
		n, unit, err := calendarUnits(c.interval)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		g := newCalendar(n, unit, zone)
		floor := g.floor(millis(t, c.at))
		if floor != millis(t, c.floor) || g.next(floor) != millis(t, c.next) {
			t.Errorf("%s in %s at %s: from %s to %s, want %s to %s", c.interval, c.zone, c.at,
				time.UnixMilli(floor).UTC(), time.UnixMilli(g.next(floor)).UTC(), c.floor, c.next)
		}
		if g.ceil(floor) != floor || g.ceil(floor+1) != g.next(floor) {
			t.Errorf("%s in %s: ceil of %s", c.interval, c.zone, c.floor)
		}
	}
}

func millis(t *testing.T, text string) int64 {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMilli()
}

// TestDownsampling checks that every point is in the interval that contains it, that no interval
// without points is there unless it is filled, and then each is.
func TestDownsampling(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const start = 1356998400_000
	var room Room
	for range 2000 {
		spec := []string{"10s-count", "7m-count", "1h-count", "10sc-count", "1mc-count", "1hc-count", "1dc-count"}[r.IntN(7)]
		filled := r.IntN(2) == 0
		if filled {
			spec += "-zero"
		}
		d, err := ParseDownsampling(spec)
		if err != nil {
			t.Fatal(err)
		}
		p := Plan{Range: NewRange(start, start+7200_000, d), Downsampling: d}
		var s Span
		for at := int64(start - 3600_000); at < p.Range.ScanEnd; at += 1 + r.Int64N(1<<r.IntN(22)) {
			s.Add(at, 1)
		}
		out, err := p.Member(s, &room)
		if err != nil {
			t.Fatal(err)
		}
		steps, _ := d.steps(p.Range)
		first := steps.ceil(p.Range.ScanStart)
		want, got := 0.0, 0.0
		for _, at := range s.Times {
			if at >= first && (!filled || at < steps.floor(p.Range.ScanEnd)) { // as a TSD cuts what is filled
				want++
			}
		}
		for i, at := range out.Times {
			got += out.Values[i]
			if steps.floor(at) != at || i > 0 && at <= out.Times[i-1] || filled && i > 0 && at != steps.next(out.Times[i-1]) || !filled && out.Values[i] == 0 {
				t.Fatalf("%s: an interval at %d after %v", spec, at, out.Times[:i])
			}
		}
		if got != want {
			t.Fatalf("%s: %v points in intervals, want %v", spec, got, want)
		}
	}
}

// TestParseDownsampling names what is wrong in a TSD's words.
func TestParseDownsampling(t *testing.T) {
	for text, want := range map[string]string{
		"1m":                          "Invalid downsampling specifier '1m': must provide at least interval and function",
		"1m-sum-nan-x":                "Invalid downsampling specifier '1m-sum-nan-x': must consist of interval, function, and optional fill policy",
		"1m-bogus":                    "No such downsampling function: bogus",
		"1m-none":                     "cannot use the NONE aggregator for downsampling",
		"0m-sum":                      "Zero or negative duration: 0m",
		"1q-sum":                      "Invalid duration (suffix): 1q",
		"1m-sum-bogus":                "Unrecognized fill policy: bogus",
		"99999999y-sum":               "",
		"0all-max":                    "",
		"1dc-sum-NaN":                 "",
		"10-sum":                      "Invalid duration, must have an integer and unit: 10",
		"9999999999999999999999m-sum": "Invalid duration (number): 9999999999999999999999m",
	} {
		_, err := ParseDownsampling(text)
		if got := ""; err != nil && err.Error() != want || err == nil && want != got {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzParseDownsampling finds no text that panics, or that is read to an interval without length.
func FuzzParseDownsampling(f *testing.F) {
	for _, s := range []string{"1m-avg", "0all-max", "1nc-sum-zero", "c-sum", "ms-avg", "1msc-avg"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDownsampling(text)
		if err == nil && !d.All && d.Interval <= 0 {
			t.Errorf("%q has the interval %d", text, d.Interval)
		}
	})
}
