package load

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

var small = Shape{Seed: 7, Series: 2*SeriesPerHost + 3, Steps: 3, Interval: 15 * time.Second, End: time.Unix(1_700_000_000, 0), Tail: 250, TailSteps: 2}

// A point is a received sample: the text of its series and its numbers.
type point struct {
	Series string
	Time   int64
	Value  float64
}

// want returns every sample of small, lane by lane, by the name that a format gives to series.
func want(name func(*Series) string, lanes int) [][]point {
	var all [][]point
	for _, l := range small.Lanes(lanes) {
		var points []point
		l.Each(func(s Sample) { points = append(points, point{name(s.Series), s.Time, s.Value}) })
		all = append(all, points)
	}
	return all
}

// Encoded requests are read back by independent decoders, in order, and are cut to the requested
// size.
func TestEncode(t *testing.T) {
	tags := func(s *Series) string { return s.Name() + s.tags(" ", "=") }
	for _, test := range []struct {
		format Format
		name   func(*Series) string
		decode func(t *testing.T, body []byte) []point
	}{
		{RemoteWrite1, promName, decodeRemoteWrite1},
		{RemoteWrite2, promName, decodeRemoteWrite2},
		{Carbon, (*Series).Path, decodeCarbon},
		{CarbonTagged, tags, decodeCarbon},
		{Telnet, tags, decodeTelnet},
		{Put, tags, decodePut},
	} {
		t.Run(string(test.format), func(t *testing.T) {
			const lanes, batch = 3, 200
			c := Encode(small, test.format, lanes, batch)
			if c.Samples != small.Samples() {
				t.Errorf("%d samples, want %d", c.Samples, small.Samples())
			}
			for i, points := range want(test.name, lanes) {
				var got []point
				for n, r := range c.Lanes[i] {
					decoded := test.decode(t, r.Body)
					if len(decoded) != r.Samples || r.Samples != batch && n < len(c.Lanes[i])-1 {
						t.Fatalf("request %d has %d samples and states %d", n, len(decoded), r.Samples)
					}
					got = append(got, decoded...)
				}
				// whole seconds
				if test.format != RemoteWrite1 && test.format != RemoteWrite2 && test.format != Put {
					for j := range points {
						points[j].Time = points[j].Time / 1000 * 1000
					}
				}
				if d := cmp.Diff(points, got); d != "" {
					t.Fatalf("lane %d: what was meant (-) and what arrived (+):\n%s", i, d)
				}
			}
		})
	}
}

func promName(s *Series) string {
	b := labels.NewScratchBuilder(len(s.Labels))
	for _, l := range s.Labels {
		b.Add(l.Name, l.Value)
	}
	return b.Labels().String()
}

func decodeRemoteWrite1(t *testing.T, body []byte) (all []point) {
	t.Helper()
	var req prompb.WriteRequest
	raw, err := snappy.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	if err := req.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	b := labels.NewScratchBuilder(0)
	for _, ts := range req.Timeseries {
		all = append(all, point{ts.ToLabels(&b, nil).String(), ts.Samples[0].Timestamp, ts.Samples[0].Value})
	}
	return all
}

func decodeRemoteWrite2(t *testing.T, body []byte) (all []point) {
	t.Helper()
	var req writev2.Request
	raw, err := snappy.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	if err := req.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	b := labels.NewScratchBuilder(0)
	for _, ts := range req.Timeseries {
		l, err := ts.ToLabels(&b, req.Symbols)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, point{l.String(), ts.Samples[0].Timestamp, ts.Samples[0].Value})
	}
	return all
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func decodeCarbon(t *testing.T, body []byte) (all []point) {
	t.Helper()
	for line := range strings.Lines(string(body)) {
		f := strings.Fields(line)
		all = append(all, point{strings.ReplaceAll(f[0], ";", " "), int64(number(t, f[2])) * 1000, number(t, f[1])})
	}
	return all
}

func decodeTelnet(t *testing.T, body []byte) (all []point) {
	t.Helper()
	for line := range strings.Lines(string(body)) {
		f := strings.Fields(line)
		if f[0] != "put" {
			t.Fatalf("line %q", line)
		}
		all = append(all, point{strings.Join(append([]string{f[1]}, f[4:]...), " "), int64(number(t, f[2])) * 1000, number(t, f[3])})
	}
	return all
}

func decodePut(t *testing.T, body []byte) (all []point) {
	t.Helper()
	var puts []struct {
		Metric    string
		Timestamp int64
		Value     float64
		Tags      map[string]string
	}
	if err := json.Unmarshal(body, &puts); err != nil {
		t.Fatal(err)
	}
	for _, p := range puts {
		text := p.Metric
		for _, name := range []string{"cpu", "dc", "device", "env", "fstype", "grp", "instance", "job", "mode", "mountpoint", "pod"} {
			if v, ok := p.Tags[name]; ok {
				text += " " + name + "=" + v
			}
		}
		all = append(all, point{text, p.Timestamp, p.Value})
	}
	return all
}

// The mixture of kinds of series is that of the published measurements of the peers.
func TestHostTemplates(t *testing.T) {
	kinds := map[kind]int{}
	for _, template := range templates {
		kinds[template.kind]++
	}
	if d := cmp.Diff(map[kind]int{constant: 225, counter: 90, hundredths: 80, slow: 55, pages: 40, load: 10}, kinds); d != "" {
		t.Error(d)
	}
}

// Every series has a name of its own, in labels and in paths, and a host's samples stay within
// their step.
func TestSeriesAreDistinct(t *testing.T) {
	labels, paths, cpu := map[string]bool{}, map[string]bool{}, 0
	last := map[string]int64{}
	l := small.Lanes(1)[0]
	l.Each(func(s Sample) {
		name := promName(s.Series)
		labels[name], paths[s.Series.Path()] = true, true
		if at, ok := last[name]; ok && s.Time-at != small.Interval.Milliseconds() {
			t.Fatalf("%s: samples at %d and %d", name, at, s.Time)
		}
		last[name] = s.Time
		if s.Time < small.Start().UnixMilli() || s.Time >= small.End.UnixMilli() || math.IsNaN(s.Value) {
			t.Fatalf("sample %v", s)
		}
		if s.Step == 0 && s.Series.Name() == "node_cpu_seconds_total" {
			cpu++
		}
	})
	if n := small.Series + small.Tail; len(labels) != n || len(paths) != n {
		t.Errorf("%d sets of labels and %d paths of %d series", len(labels), len(paths), n)
	}
	if cpu != 2*CPUSeries+3 {
		t.Errorf("%d series of node_cpu_seconds_total", cpu)
	}
}
