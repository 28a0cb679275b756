package register

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// What a name costs is what it is charged. A series of a usual name is one unit of the limits. The
// branches of trees that it makes and tags beyond the usual ones are further parts of units, by the
// memory that they take.

// The memory of what a name has, in bytes.
const (
	unitBytes   = 700 // a series of a usual name
	branchBytes = 80
	tagBytes    = 16
)

// usualBranches is how many branches a series may make that are not counted by the rate of branches.
const usualBranches = 8

// A charge is what some series take of the limits.
type charge struct {
	units    int // of the number of series
	branches int // beyond the usual ones of each series
}

// chargeOf returns what one or more series with so many tags beyond the usual ones take, that make so
// many branches, of which some are beyond the usual ones.
func chargeOf(series, tags, branches, surplus int) charge {
	return charge{series + (tags*tagBytes+branches*branchBytes)/unitBytes, surplus}
}

// extraTags returns how many tags a series has beyond the usual ones.
func extraTags(s *storage.Series) int { return max(0, len(s.Tags)-index.UsualTags) }

// depth returns how many elements the path of a metric has.
func depth(metric string) int { return strings.Count(metric, ".") + 1 }

// least is what series take at least, most what they may take.
func (r *resolution) least() charge {
	tags := 0
	for i := range r.series {
		tags += extraTags(&r.series[i])
	}
	return chargeOf(len(r.series), tags, 0, 0)
}

func (r *resolution) most() charge {
	tags, branches, surplus := 0, 0, 0
	for i := range r.series {
		tags += extraTags(&r.series[i])
	}
	if b := r.registrar.brancher; b != nil {
		branches, surplus = b.MostBranches(r.series, usualBranches)
	}
	return chargeOf(len(r.series), tags, branches, surplus)
}

// prices returns what each of the series at some places takes.
func (r *resolution) prices(places []int) []charge {
	all := make([]storage.Series, len(places))
	for n, i := range places {
		all[n] = r.series[i]
	}
	branches := make([]int, len(all))
	if b := r.registrar.brancher; b != nil {
		branches = b.NewBranches(all)
	}
	out := make([]charge, len(all))
	for n := range all {
		out[n] = chargeOf(1, extraTags(&all[n]), branches[n], max(0, branches[n]-usualBranches))
	}
	return out
}

// tooDeep reports whether a series has more elements than a new one may have.
func (r *resolution) tooDeep(i, most int) bool { return most > 0 && depth(r.series[i].Metric) > most }

// anyTooDeep reports whether one of the series is.
func (r *resolution) anyTooDeep(most int) bool {
	for i := range r.series {
		if r.tooDeep(i, most) {
			return true
		}
	}
	return false
}

// heldUnits is what all known series take of the limits.
func (reg *Registrar) heldUnits() int {
	branches := 0
	if reg.brancher != nil {
		branches, _ = reg.brancher.Branches()
	}
	return chargeOf(reg.index.Size(), reg.index.TagsBeyond(), branches, 0).units
}

// madeBranches is how many branches were made since the start.
func (reg *Registrar) madeBranches() int64 {
	if reg.brancher == nil {
		return 0
	}
	_, made := reg.brancher.Branches()
	return made
}
