package conf

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// An Archive is one resolution of a whisper file: Points slots of Step seconds each.
type Archive struct{ Step, Points int64 }

// Retention returns how far back an archive reaches, in seconds.
func (a Archive) Retention() int64 { return a.Step * a.Points }

// ParseRetentions reads the retentions of storage-schemas.conf, such as `10s:6h,1m:7d` or
// `60:1440`, and returns the archives as a whisper file has them, the finest first. It refuses what
// whisper refuses (whisper.validateArchiveList).
func ParseRetentions(text string) ([]Archive, error) {
	var archives []Archive
	for definition := range strings.SplitSeq(text, ",") {
		a, err := parseArchive(strings.TrimSpace(definition))
		if err != nil {
			return nil, err
		}
		archives = append(archives, a)
	}
	slices.SortStableFunc(archives, func(a, b Archive) int { return int(a.Step - b.Step) })
	if err := CheckArchives(archives); err != nil {
		return nil, err
	}
	return archives, nil
}

// CheckArchives returns what whisper refuses about archives, which begin with the finest
// (whisper.validateArchiveList), and archives that reach back further than time does.
func CheckArchives(archives []Archive) error {
	for i, a := range archives {
		if a.Step > math.MaxUint32 || a.Points > math.MaxUint32/a.Step {
			return fmt.Errorf("the archive of %d s reaches back further than time does", a.Step)
		}
		if i == 0 {
			continue
		}
		if err := checkArchives(archives[i-1], a); err != nil {
			return err
		}
	}
	return nil
}

// FormatRetentions writes archives as ParseRetentions reads them: 10:8640,60:43200.
func FormatRetentions(archives []Archive) string {
	var b strings.Builder
	for i, a := range archives {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d:%d", a.Step, a.Points)
	}
	return b.String()
}

// ParsePrecision reads the step of an archive, such as 10s, 1m or 60, in seconds.
func ParsePrecision(text string) (int64, error) {
	step, _, err := parseSpan(text)
	if err == nil && (step == 0 || step > math.MaxUint32) {
		err = fmt.Errorf("%q is no precision", text)
	}
	return step, err
}

// parseArchive is carbon.util.parseRetentionDef: a precision, and either a number of points or a
// span of time.
func parseArchive(text string) (Archive, error) {
	precision, span, ok := strings.Cut(text, ":")
	if !ok {
		return Archive{}, fmt.Errorf("retention %q is not of the form 10s:6h", text)
	}
	var a Archive
	var plain bool
	var err error
	if a.Step, _, err = parseSpan(precision); err != nil {
		return Archive{}, fmt.Errorf("retention %q: precision: %w", text, err)
	}
	if a.Points, plain, err = parseSpan(span); err != nil {
		return Archive{}, fmt.Errorf("retention %q: %w", text, err)
	}
	if !plain && a.Step > 0 {
		a.Points /= a.Step
	}
	switch {
	case a.Step == 0:
		return Archive{}, fmt.Errorf("retention %q: precision is 0", text)
	case a.Points == 0:
		return Archive{}, fmt.Errorf("retention %q holds no point", text)
	case a.Step > math.MaxUint32 || a.Points > math.MaxUint32/a.Step:
		return Archive{}, fmt.Errorf("retention %q reaches back further than time does", text)
	}
	return a, nil
}

// maxSpan keeps products of spans and units within 64 bits.
const maxSpan = math.MaxInt64 / (366 * 86400)

// parseSpan reads digits and a unit. plain reports that there was no unit.
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

func checkArchives(fine, coarse Archive) error {
	switch {
	case fine.Step == coarse.Step:
		return fmt.Errorf("two archives have the precision %d s", fine.Step)
	case coarse.Step%fine.Step != 0:
		return fmt.Errorf("the precision %d s does not divide the coarser %d s", fine.Step, coarse.Step)
	case coarse.Retention() <= fine.Retention():
		return fmt.Errorf("the archive of %d s covers %d s, which is not more than the %d s of the finer one of %d s",
			coarse.Step, coarse.Retention(), fine.Retention(), fine.Step)
	case fine.Points < coarse.Step/fine.Step:
		return fmt.Errorf("the archive of %d s has %d points, and one of the archive of %d s is made of %d", fine.Step, fine.Points, coarse.Step, coarse.Step/fine.Step)
	}
	return nil
}
