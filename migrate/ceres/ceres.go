// Package ceres reads the files of ceres, the other database that carbon can write: a directory for each series, with a
// file of its properties (.ceres-node) and slices, which are files of values at even steps. It opens none of them.
//
// Formats: ceres.py of github.com/graphite-project/ceres, and CeresDatabase in carbon's database.py.
package ceres

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/migrate/whisper"
)

// NodeFile is the name of the file with the properties of a series.
const NodeFile = ".ceres-node"

// ErrDamaged means that a file is not what ceres writes.
var ErrDamaged = errors.New("it is damaged")

// Limits of what is read.
const (
	MaxSlices  = 10_000
	maxStep    = 10 * 365 * 86400 // seconds
	valueBytes = 8
)

// NameOf returns the name of the series of a node's file by its path with slashes.
func NameOf(path string) (name string, ok bool) {
	dir, ok := strings.CutSuffix(path, "/"+NodeFile)
	return strings.ReplaceAll(dir, "/", "."), ok && dir != ""
}

// A Slice is a file of values. Values are those at Start, Start+Step, …; NaN where there is none.
type Slice struct {
	Start, Step int64 // seconds
	Values      []float64
}

var sliceName = regexp.MustCompile(`^(\d{1,10})@(\d{1,10})\.slice$`)

// ParseSliceName returns the start and the step of a slice by the name of its file. A slice begins at a multiple of its step.
func ParseSliceName(name string) (start, step int64, ok bool) {
	m := sliceName.FindStringSubmatch(name)
	if m == nil {
		return 0, 0, false
	}
	start, _ = strconv.ParseInt(m[1], 10, 64) // the expression lets only numbers pass
	step, _ = strconv.ParseInt(m[2], 10, 64)
	return start, step, start <= math.MaxUint32 && step > 0 && step <= maxStep && start%step == 0
}

// ParseSlice reads a slice. A value that was cut off at the end is left out, as ceres does.
func ParseSlice(start, step int64, data []byte) (Slice, error) {
	n := int64(len(data) / valueBytes)
	if start+n*step > math.MaxUint32 {
		return Slice{}, fmt.Errorf("%w: %d values of %d s from %d on end after 2106", ErrDamaged, n, step, start)
	}
	s := Slice{start, step, make([]float64, n)}
	for i := range s.Values {
		s.Values[i] = math.Float64frombits(binary.BigEndian.Uint64(data[valueBytes*i:]))
	}
	return s, nil
}

// A Node is a series.
type Node struct {
	whisper.Header // of a whisper file that keeps the same

	slices []Slice // by their starts
}

// properties are those in NodeFile.
type properties struct {
	TimeStep          int64      `json:"timeStep"`
	Retentions        [][2]int64 `json:"retentions"` // pairs of step and number of points
	XFilesFactor      *float64   `json:"xFilesFactor"`
	AggregationMethod string     `json:"aggregationMethod"`
}

// ParseNode reads the properties of a series, and puts its slices together. Archives are its retentions, or one that
// reaches back to 1970 if it has none.
func ParseNode(data []byte, all []Slice) (*Node, error) {
	var p properties
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if p.TimeStep <= 0 || p.TimeStep > maxStep {
		return nil, fmt.Errorf("%w: timeStep %d", ErrDamaged, p.TimeStep)
	}
	n := &Node{slices: slices.SortedStableFunc(slices.Values(all), func(a, b Slice) int { return cmp.Compare(a.Start, b.Start) })}
	n.Method, n.XFF = "average", 0.5
	if p.AggregationMethod != "" {
		n.Method = p.AggregationMethod
	}
	if p.XFilesFactor != nil {
		n.XFF = float64(float32(*p.XFilesFactor))
	}
	for _, r := range p.Retentions {
		if r[0] <= 0 || r[1] <= 0 {
			return nil, fmt.Errorf("%w: a retention of %d points of %d s", ErrDamaged, r[1], r[0])
		}
		n.Archives = append(n.Archives, conf.Archive{Step: r[0], Points: r[1]})
	}
	if n.Archives == nil { // ceres keeps such a series for ever
		n.Archives = []conf.Archive{{Step: p.TimeStep, Points: math.MaxUint32 / p.TimeStep}}
	}
	if err := conf.CheckArchives(n.Archives); err != nil {
		return nil, fmt.Errorf("%w: retentions: %w", ErrDamaged, err)
	}
	return n, nil
}

// Points returns the points of an archive. A slice holds until the next one begins, whatever their steps.
func (n *Node) Points(level int) (p whisper.Points) {
	for i, s := range n.slices {
		if s.Step != n.Archives[level].Step {
			continue
		}
		until := int64(math.MaxInt64)
		if i+1 < len(n.slices) {
			until = n.slices[i+1].Start
		}
		for at, v := range s.Values {
			if t := s.Start + int64(at)*s.Step; t < until && !math.IsNaN(v) {
				p.Times, p.Values = append(p.Times, t), append(p.Values, v)
			}
		}
	}
	return p
}

// Strange returns how many slices have a step that no archive has.
func (n *Node) Strange() (count int) {
	for _, s := range n.slices {
		if !slices.ContainsFunc(n.Archives, func(a conf.Archive) bool { return a.Step == s.Step }) {
			count++
		}
	}
	return count
}
