package api

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// TestPlainPoints: the fast way writes what the slow one does, whatever the times are.
func TestPlainPoints(t *testing.T) {
	values := []float64{1, 1, math.NaN(), 2.5, math.Inf(1), 0, math.Copysign(0, -1), math.NaN(), math.NaN(), 7}
	for _, start := range []int64{-1 << 40, -7200, -60, -5, -1, 0, 1, 9, 1 << 33} {
		for _, step := range []int64{0, 1, 5, 60} {
			for _, noNulls := range []bool{false, true} {
				s := &series.Series{Start: start, End: start + step*int64(len(values)), Step: step, Values: values}
				d := &renderRequest{noNulls: noNulls}
				var want, got pyjson.Writer
				want.Open('[')
				for at, v := range s.Points() {
					if noNulls && math.IsNaN(v) {
						continue
					}
					want.Open('[')
					want.Float(v)
					want.Int(at)
					want.Shut(']')
				}
				want.Shut(']')
				if d.points(&got, s); !bytes.Equal(got.Buf, want.Buf) {
					t.Errorf("from %d by %d: %s, want %s", start, step, got.Buf, want.Buf)
				}
			}
		}
	}
}

// TestBefore1970 asks for times before 1970 and around it, in each format.
func TestBefore1970(t *testing.T) {
	w := newWeb(t)
	w.Add(t, strings.NewReader("early 5 0\nearly 6 60\n"))
	for _, span := range []string{
		"from=19700101&until=19700102&tz=Europe/Berlin", "from=19691230&until=19691231", "from=00:00_19691231&until=00:05_19700101",
	} {
		for _, target := range []string{"constantLine(1)", "timeFunction('t')", "threshold(3)", "sinFunction('s',2)", "early", "group(early,constantLine(2))"} {
			for _, format := range []string{"json", "json&pretty=1", "json&noNullPoints=1", "json&maxDataPoints=7", "rickshaw", "dygraph"} {
				answer := w.get("/render?" + span + "&format=" + format + "&target=" + target)
				if answer.Code == http.StatusBadRequest && format == "dygraph" {
					continue // Series with other numbers of points.
				}
				if answer.Code != http.StatusOK || !json.Valid(answer.Body.Bytes()) {
					t.Errorf("%s %s %s: %d %.200s", span, target, format, answer.Code, answer.Body)
				}
			}
			for _, format := range []string{"csv", "raw", "pickle", "msgpack", "png", "svg", "pdf"} {
				if answer := w.get("/render?" + span + "&format=" + format + "&target=" + target); answer.Code != http.StatusOK {
					t.Errorf("%s %s %s: %d %.200s", span, target, format, answer.Code, answer.Body)
				}
			}
		}
	}
	got := w.get("/render?target=constantLine(1)&from=19700101&until=19700102&tz=Europe/Berlin&format=json").Body.String()
	if want := `"datapoints": [[1.0, -3600], [1.0, `; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
