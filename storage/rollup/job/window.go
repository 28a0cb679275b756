package job

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// staleMarker is the NaN with which Prometheus says that a series has ended. It is no sample.
const staleMarker = 0x7ff0000000000002

// windows returns the windows of a series between two times (milliseconds): of samples after the first, and not
// after the second.
func windows(p *storage.Points, i *rollup.Interval, from, to int64) (list []storage.Window) {
	length := int64(i.Seconds) * 1000
	at := func(t int64) *storage.WindowValues { // ascending, but for one step back to histograms
		begin := uint32((t - 1 - (t-1)%length) / 1000)
		if n := len(list); n == 0 || list[n-1].Begin != begin {
			list = append(list, storage.Window{Begin: begin})
		}
		return &list[len(list)-1].WindowValues
	}
	objects := p.Objects
	histograms := func(before int64) {
		for ; len(objects) > 0 && objects[0].Time < before; objects = objects[1:] {
			o := &objects[0]
			if (o.Kind == storage.KindHistogram || o.Kind == storage.KindCoded) && o.Time > from && o.Time <= to {
				*at(o.Time) = storage.WindowValues{Histograms: true}
			}
		}
	}
	for n, t := range p.Times {
		if t <= from || t > to || math.Float64bits(p.Values[n]) == staleMarker {
			continue
		}
		histograms(t + 1)
		if w := at(t); !w.Histograms {
			w.Add(p.Values[n])
		}
	}
	histograms(math.MaxInt64)
	return list
}

// withWindows adds windows to the values of the same intervals. Both are ascending.
func withWindows(values []rollup.Filled, windows []storage.Window) []rollup.Filled {
	joined := make([]rollup.Filled, 0, max(len(values), len(windows)))
	for len(values) > 0 || len(windows) > 0 {
		switch {
		case len(windows) == 0 || len(values) > 0 && values[0].Begin < windows[0].Begin:
			joined = append(joined, values[0])
			values = values[1:]
			continue
		case len(values) > 0 && values[0].Begin == windows[0].Begin:
			joined = append(joined, values[0])
			values = values[1:]
		default:
			joined = append(joined, rollup.Filled{Begin: windows[0].Begin})
		}
		joined[len(joined)-1].Window = windows[0].WindowValues
		windows = windows[1:]
	}
	return joined
}
