package draw

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAbsurd gives every parameter values that nobody needs. Each is drawn or refused, and none takes a second of
// a core or 100 MB.
func TestAbsurd(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of pictures")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	values := make([]float64, 300)
	for i := range values {
		values[i] = float64(i*7919%1009) * 1e3
	}
	wide := 1e9
	series := []Series{
		wave("a", values...), wave(strings.Repeat("long ", 1<<16), values...), {Name: "\u4e2d\u6587\U0001F600\x00\n", Start: begins, End: begins + 60*300, Step: 60, Values: values, Join: average, Style: Style{Right: true}},
	}
	absurd := []string{
		"1000000000", "-1000000000", "1e300", "-1e300", "1e-300", "0", "nan", "inf", "0x1p1000",
		strings.Repeat("9", 100_000), strings.Repeat("x", 1<<20), strings.Repeat("\u4e2d", 4000/3), strings.Repeat("a\n", 2000), strings.Repeat("%0A", 1300),
		strings.Repeat("red,", 10_000), strings.Repeat("4,", 10_000), "../../../etc/passwd", "\x00", strings.Repeat("%c", 2000), "\u202e\u0301\U0001F600",
		"500", "16384", "0.1",
	}
	try := func(query, format string, pie bool) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := used()
		v, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Parse(func(name string) (string, bool) { return v.Get(name), v.Has(name) }, pie, DefaultTemplates(), time.UTC)
		if err == nil {
			o.Format = format
			if pie {
				_, err = DrawPie(t.Context(), o, []Slice{{"a", 1}, {"b", 2}})
			} else {
				_, err = Draw(t.Context(), o, series)
			}
		}
		if err != nil {
			checkInvalid(t, err)
		}
		took := used() - begin
		runtime.ReadMemStats(&after)
		t.Logf("%v, %d KiB: %s, %.60s", took, (after.TotalAlloc-before.TotalAlloc)>>10, format, query)
		if made := after.TotalAlloc - before.TotalAlloc; made > 100<<20 || took > time.Second {
			t.Errorf("%.60s… as %s, pie %v: %v of a core, %d MiB: %v", query, format, pie, took, made>>20, err)
		}
	}
	for _, p := range Params() {
		for i, v := range absurd {
			format := []string{"png", "svg", "pdf"}[i%3]
			try(p.Name+"="+url.QueryEscape(v)+"&hideLegend=false", format, !p.Line)
		}
	}
	for _, query := range []string{
		"width=3840&height=2160", "width=16384&height=512&areaMode=stacked&areaAlpha=0.5", "width=512&height=16384&lineWidth=16384", "yStep=1e-300&yMin=0&yMax=1e300", "logBase=1.0000001&minorY=100",
		"yMin=nan&yMax=inf", "fontSize=500&title=" + strings.Repeat("W", 4096) + "&width=3840&height=2160", "leftDashed=0.1&rightDashed=0.1&lineWidth=16384&width=3840&height=2160",
		"minorY=100&yDivisors=" + strings.Repeat("100,", 99) + "100&fontSize=1&height=2160", "colorList=" + strings.Repeat("zzz,", 10_000),
	} {
		for _, format := range []string{"png", "svg", "pdf"} {
			try(query, format, false)
		}
	}
	series[0].Width = &wide
	try("", "png", false)
}

// used is what the thread has computed: other processes are not in it.
func used() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		panic(fmt.Sprint("getrusage: ", err))
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
