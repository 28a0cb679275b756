package graphite

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// An archive is a resolution of a whisper file: slots of step seconds, as many as points.
type archive struct{ step, points int64 }

// retention is how far back an archive reaches, in seconds.
func (a archive) retention() int64 { return a.step * a.points }

// parseRetentions reads the retentions of storage-schemas.conf, `10s:6h,1m:7d` or `60:1440`, and gives the archives as a whisper file has them: the
// finest first. What whisper would refuse (whisper.validateArchiveList) is refused.
func parseRetentions(text string) ([]archive, error) {
	var archives []archive
	for definition := range strings.SplitSeq(text, ",") {
		a, err := parseArchive(strings.TrimSpace(definition))
		if err != nil {
			return nil, err
		}
		archives = append(archives, a)
	}
	slices.SortStableFunc(archives, func(a, b archive) int { return int(a.step - b.step) })
	for i := 1; i < len(archives); i++ {
		if err := checkArchives(archives[i-1], archives[i]); err != nil {
			return nil, err
		}
	}
	return archives, nil
}

// parseArchive is carbon.util.parseRetentionDef: precision and either a number of points or a span of time.
func parseArchive(text string) (archive, error) {
	precision, span, ok := strings.Cut(text, ":")
	if !ok {
		return archive{}, fmt.Errorf("retention %q is not of the form 10s:6h", text)
	}
	var a archive
	var plain bool
	var err error
	if a.step, _, err = parseSpan(precision); err != nil {
		return archive{}, fmt.Errorf("retention %q: precision: %w", text, err)
	}
	if a.points, plain, err = parseSpan(span); err != nil {
		return archive{}, fmt.Errorf("retention %q: %w", text, err)
	}
	if !plain && a.step > 0 {
		a.points /= a.step
	}
	switch {
	case a.step == 0:
		return archive{}, fmt.Errorf("retention %q: precision is 0", text)
	case a.points == 0:
		return archive{}, fmt.Errorf("retention %q holds no point", text)
	case a.step > math.MaxUint32 || a.points > math.MaxUint32/a.step:
		return archive{}, fmt.Errorf("retention %q reaches back further than time does", text)
	}
	return a, nil
}

// maxSpan keeps products of spans and units within 64 bits.
const maxSpan = math.MaxInt64 / (366 * 86400)

// parseSpan reads digits and a unit. plain says that there was no unit.
func parseSpan(text string) (n int64, plain bool, err error) {
	unit := strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(unit)]
	if digits == "" {
		return 0, false, fmt.Errorf("%q does not begin with a number", text)
	}
	for _, d := range digits {
		if n = n*10 + int64(d-'0'); n > maxSpan {
			return 0, false, fmt.Errorf("%q is too long", text)
		}
	}
	seconds, ok := map[string]int64{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}[unit]
	if !ok {
		return 0, false, fmt.Errorf("%q: the unit %q is none of s, m, h, d, w and y", text, unit)
	}
	return n * seconds, unit == "", nil
}

func checkArchives(fine, coarse archive) error {
	switch {
	case fine.step == coarse.step:
		return fmt.Errorf("two archives have the precision %d s", fine.step)
	case coarse.step%fine.step != 0:
		return fmt.Errorf("the precision %d s does not divide the coarser %d s", fine.step, coarse.step)
	case coarse.retention() <= fine.retention():
		return fmt.Errorf("the archive of %d s covers %d s, which is not more than the %d s of the finer one of %d s",
			coarse.step, coarse.retention(), fine.retention(), fine.step)
	case fine.points < coarse.step/fine.step:
		return fmt.Errorf("the archive of %d s has %d points, and one of the archive of %d s is made of %d", fine.step, fine.points, coarse.step, coarse.step/fine.step)
	}
	return nil
}
