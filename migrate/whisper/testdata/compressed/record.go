//go:build ignore

// Command record writes compressed whisper files (*.wsp) and what go-whisper reads of them (points.jsonl) into a
// directory. In an empty directory outside of this module:
//
//	go mod init record
//	go get github.com/go-graphite/go-whisper@v0.0.0-20230526115116-e3110f57c01c
//	go run path/to/record.go path/to/the/directory/of/record.go
//
// A line of points.jsonl is what go-whisper reads of a file: of its finest archive as it is, of the coarser ones after
// more points have come, which flush what the file has in its buffers.
package main

import (
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"time"

	whisper "github.com/go-graphite/go-whisper"
)

const begin = 1741046400 // 2025-03-04 00:00:00 UTC

type file struct {
	name       string
	retentions string
	method     whisper.AggregationMethod
	xff        float32
	points     int // of the finest step
	perBlock   int
	gap        float64 // share of points that are missing
	late       float64 // share of points that come a little late
	values     string
	pointSize  float32 // bytes that are expected; 0: 2
	classic    bool    // compressed of a file that was not
}

var files = []file{
	{"average", "10s:20m,1m:2h,10m:1d", whisper.Average, 0.5, 2000, 40, 0.2, 0, "mixed", 0, false},
	{"average_any", "10s:20m,1m:2h,10m:1d", whisper.Average, 0, 700, 60, 0.6, 0.3, "mixed", 0, false},
	{"average_all", "10s:20m,1m:2h,10m:1d", whisper.Average, 1, 1201, 60, 0.01, 0, "integers", 0, false},
	{"sum", "10s:1h,1m:4h,10m:2d", whisper.Sum, 0.3, 500, 7200, 0.3, 0.2, "random", 0, false},
	{"max", "10s:20m,1m:2h,10m:1d", whisper.Max, 0, 1500, 60, 0.1, 0.1, "random", 0, false},
	{"min", "10s:20m,1m:2h,10m:1d", whisper.Min, 0.7, 90, 60, 0.5, 0, "mixed", 0, false},
	{"last", "60s:1h,5m:12h,1h:3d", whisper.Last, 0.1, 1000, 100, 0.3, 0.1, "mixed", 0, false},
	{"first", "60s:1h,5m:12h,1h:3d", whisper.First, 0.1, 800, 100, 0.3, 0.1, "mixed", 8, false},
	{"constant", "10s:20m,1m:2h", whisper.Average, 0.5, 3000, 60, 0, 0, "constant", 0, false},
	{"gaps", "1s:6h", whisper.Average, 0.5, 21000, 2000, 0.9985, 0, "random", 0, false},
	{"one", "7s:1h", whisper.Average, 0.5, 400, 50, 0.1, 0, "integers", 0, false},
	{"single", "10s:20m,1m:2h,10m:1d", whisper.Average, 0.5, 1, 60, 0, 0, "random", 0, false},
	{"empty", "10s:20m,1m:2h,10m:1d", whisper.Average, 0.5, 0, 60, 0, 0, "random", 0, false},
	{"classic", "10s:20m,1m:2h,10m:1d", whisper.Average, 0.5, 900, 7200, 0.2, 0, "mixed", 0, true},
}

type line struct {
	File     string        `json:"file"`
	Method   string        `json:"method"`
	XFF      float32       `json:"xff"`
	Archives [][2]int      `json:"archives"` // step, slots
	End      int           `json:"end"`      // of the last slot of the finest archive
	Points   [][][2]uint64 `json:"points"`   // by archive: times, and the bits of values
}

func main() {
	out, err := os.Create(filepath.Join(os.Args[1], "points.jsonl"))
	check(err)
	defer out.Close()
	for i, f := range files {
		check(json.NewEncoder(out).Encode(f.record(os.Args[1], rand.New(rand.NewSource(int64(i))))))
	}
}

func (f file) value(rng *rand.Rand) float64 {
	switch f.values {
	case "constant":
		return 42.5
	case "integers":
		return float64(rng.Intn(300))
	case "mixed":
		return []float64{rng.NormFloat64() * 50, float64(rng.Intn(200) - 100), 0, 0, 1e300, math.Copysign(0, -1), 3, 3, math.MaxFloat64, math.SmallestNonzeroFloat64}[rng.Intn(10)]
	}
	return math.Float64frombits(rng.Uint64()&^(1<<62) | 1<<60)
}

func (f file) record(dir string, rng *rand.Rand) line {
	path := filepath.Join(dir, f.name+".wsp")
	os.Remove(path)
	rets, err := whisper.ParseRetentionDefs(f.retentions)
	check(err)
	options := &whisper.Options{Compressed: !f.classic, PointsPerBlock: f.perBlock, PointSize: f.pointSize}
	if f.classic {
		path += ".classic"
		os.Remove(path)
	}
	w, err := whisper.CreateWithOptions(path, rets, f.method, f.xff, options)
	check(err)
	step, coarsest := rets[0].SecondsPerPoint(), rets[len(rets)-1].SecondsPerPoint()
	now := begin
	whisper.Now = func() time.Time { return time.Unix(int64(now), 0) }
	var batch []*whisper.TimeSeriesPoint
	flush := func() {
		check(w.UpdateMany(batch))
		batch = nil
		if w.Extended {
			check(w.Close())
			w, err = whisper.OpenWithOptions(path, options)
			check(err)
		}
	}
	end := 0
	for range f.points {
		now += step
		if rng.Float64() < f.gap {
			continue
		}
		p := &whisper.TimeSeriesPoint{Time: now - rng.Intn(step), Value: f.value(rng)}
		if rng.Float64() < f.late && len(rets) > 1 { // it stays within what is buffered
			p.Time -= rng.Intn(rets[1].SecondsPerPoint())
		}
		if slot := p.Time - p.Time%step; slot+step > end {
			end = slot + step
		}
		if batch = append(batch, p); rng.Intn(4) == 0 {
			flush()
		}
	}
	flush()
	l := line{File: f.name, Method: f.method.String(), XFF: f.xff, End: end}
	if f.classic {
		was := path
		path = filepath.Join(dir, f.name+".wsp")
		os.Remove(path)
		check(w.CompressTo(path))
		check(w.Close())
		check(os.Remove(was))
		w, err = whisper.OpenWithOptions(path, &whisper.Options{Compressed: true})
		check(err)
	}
	for _, r := range rets {
		l.Archives = append(l.Archives, [2]int{r.SecondsPerPoint(), r.NumberOfPoints()})
	}
	l.Points = append(l.Points, read(w, now-rets[0].MaxRetention(), now, end))
	file, err := os.ReadFile(path) // as it is
	check(err)
	now = (now/coarsest + 1) * coarsest // in slots of their own
	for range 4 * coarsest / step {     // enough for every xFilesFactor
		now += step
		batch = append(batch, &whisper.TimeSeriesPoint{Time: now, Value: 1})
		flush()
	}
	for _, r := range rets[1:] {
		l.Points = append(l.Points, read(w, now-r.MaxRetention(), now, end))
	}
	check(w.Close())
	check(os.WriteFile(path, file, 0o644))
	return l
}

// read returns the points of the archive that reaches back to from, of slots that begin before end.
func read(w *whisper.Whisper, from, until, end int) [][2]uint64 {
	points := [][2]uint64{}
	s, err := w.Fetch(from, until)
	check(err)
	for i, v := range s.Values() {
		if t := s.FromTime() + i*s.Step(); t < end && !math.IsNaN(v) {
			points = append(points, [2]uint64{uint64(t), math.Float64bits(v)})
		}
	}
	return points
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
