package draw

import (
	"math"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

const (
	// partBytes is what a series or a slice takes beside its points: itself, its name in the legend, and the
	// texts of both in a document.
	partBytes = 2000
	// wayBytes is what a point takes while its line is drawn: two steps of a staircase, the area below and the
	// one before it, each as it grows.
	wayBytes = 200
	// dashBytes is what a dash and its gap take while a line is drawn.
	dashBytes = 100
	// textBytes is what a drawn point takes in a document.
	textBytes = 100
	// dataBytes is what a value takes in the metadata of an SVG.
	dataBytes = 30
	// valueBytes is what a value takes that was computed.
	valueBytes = 8
)

// memory returns what drawing series takes beside the pixels.
func (o *Options) memory(series []Series) int64 {
	bytes, most := partBytes*int64(len(series)+50), 0
	dashed := o.LeftSide.dash != nil || o.RightSide.dash != nil
	for i := range series {
		values := len(series[i].Values)
		drawn := values
		if o.MinXStep > 0 {
			drawn = int(min(float64(values), math.Ceil(float64(o.Width)/o.MinXStep)+2))
		}
		most, dashed = max(most, drawn), dashed || series[i].Dash > 0
		bytes += valueBytes*int64(drawn) + 4*int64(len(series[i].Name))
		if o.AreaMode == "stacked" {
			bytes += valueBytes * int64(values)
		}
		switch o.Format {
		case "svg":
			bytes += textBytes*int64(drawn) + dataBytes*int64(values)
		case "pdf":
			bytes += textBytes * int64(drawn)
		}
	}
	if dashed {
		bytes += dashBytes * canvas.MostDashes / 2
	}
	return bytes + wayBytes*int64(most)
}
