package graphitefiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/whisper"
	"github.com/tsdbridge/tsdbridge/storage"
)

// An ArchiveChoice is which archives of files are imported.
type ArchiveChoice struct {
	all, finest bool
	steps       []int64 // else: seconds
}

// Words for an ArchiveChoice.
const (
	AllArchives   = "all"
	FinestArchive = "finest"
)

// ParseArchiveChoice reads "all", "finest" or a list of steps such as "1m,1h".
func ParseArchiveChoice(text string) (c ArchiveChoice, err error) {
	switch text {
	case AllArchives:
		return ArchiveChoice{all: true}, nil
	case FinestArchive:
		return ArchiveChoice{finest: true}, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		step, err := conf.ParsePrecision(strings.TrimSpace(one))
		if err != nil {
			return c, fmt.Errorf("want %s, %s or a list of steps such as 1m,1h: %w", AllArchives, FinestArchive, err)
		}
		c.steps = append(c.steps, step)
	}
	return c, nil
}

// has reports whether an archive, by its place in a file, is imported.
func (c *ArchiveChoice) has(level int, step int64) bool {
	return c.all || c.finest && level == 0 || slices.Contains(c.steps, step)
}

// Import imports files of Graphite's databases.
type Import struct {
	Archives ArchiveChoice
	Dir      string // of the files, for Ceres
	// Tagged are the names of series with tags whose files are named by hashes alone.
	Tagged map[whisper.Hash]string
	// Store stores a part, as an Importer does.
	Store func(ctx context.Context, p *Part) error

	held heldSlots
}

// heldSlots bounds the points in memory of files that are imported at once: compressed files may have many in a few bytes.
type heldSlots struct {
	once sync.Once
	free *semaphore.Weighted
}

// mostHeldSlots is that of the largest file, whose points take 700 MiB.
const mostHeldSlots = whisper.MaxBytes / 12

// take waits for the memory that the points of some archives need. The caller calls back when they are no longer needed.
func (h *heldSlots) take(ctx context.Context, archives []conf.Archive) (back func(), err error) {
	h.once.Do(func() { h.free = semaphore.NewWeighted(mostHeldSlots) })
	n := int64(0)
	for _, a := range archives {
		n += a.Points
	}
	n = min(n, mostHeldSlots)
	return func() { h.free.Release(n) }, h.free.Acquire(ctx, n)
}

// mostPartPoints bounds the points of a part.
const mostPartPoints = 1 << 18

var errNoTaggedName = errors.New("it is named by a hash, and no name with this hash is known (--tagged-names)")

// Whisper implements pipeline.FileStore for files of whisper.
func (f *Import) Whisper(ctx context.Context, path string, data []byte) (points int64, err error) {
	name, hash, named := whisper.NameOf(path)
	if !named {
		if name = f.Tagged[hash]; name == "" {
			return 0, pipeline.SkipError{Err: errNoTaggedName}
		}
	}
	file, err := whisper.Parse(data)
	if err != nil {
		return 0, pipeline.SkipError{Err: err}
	}
	back, err := f.held.take(ctx, file.Archives)
	if err != nil {
		return 0, err
	}
	defer back()
	points, leftOut, err := f.archives(ctx, name, &file.Header, file.Points)
	if err == nil && leftOut > 0 {
		err = pipeline.SkipError{Err: fmt.Errorf("%w: %d slots or blocks hold what does not belong there and are left out", whisper.ErrDamaged, leftOut), Points: points}
	}
	return points, err
}

// archives stores the points of the chosen archives of a series.
func (f *Import) archives(ctx context.Context, name string, h *whisper.Header, of func(level int) whisper.Points) (points int64, leftOut int, err error) {
	kept, runs, leftOut, err := f.runs(h, of)
	if err != nil {
		return 0, 0, pipeline.SkipError{Err: err}
	}
	points, err = f.parts(ctx, name, kept.String(), runs)
	return points, leftOut, err
}

// runs returns the points of the chosen archives of a series, and what is to be kept of its header.
func (f *Import) runs(h *whisper.Header, of func(level int) whisper.Points) (kept *source.Kept, runs []Run, leftOut int, err error) {
	kept = &source.Kept{Archives: h.Archives}
	if kept.Aggregation, err = conf.NewAggregation(h.Method, fmt.Sprint(float32(h.XFF))); err != nil {
		return nil, nil, 0, err
	}
	finest := int64(-1) // newest slot
	for level, a := range h.Archives {
		p := of(level)
		leftOut += p.LeftOut
		if n := len(p.Times); n > 0 {
			// The newest point is in the finest archive, if carbon did not write into the past.
			switch newest := p.Times[n-1]; {
			case level == 0:
				finest, kept.Until = newest, newest+a.Step
			case newest > finest:
				kept.Until = max(kept.Until, newest+a.Step)
			}
		}
		if !f.Archives.has(level, a.Step) {
			continue
		}
		run := Run{Times: p.Times, Values: p.Values}
		if level > 0 {
			run.Step = uint32(a.Step)
			kept.Steps = append(kept.Steps, a.Step)
		}
		runs = append(runs, run)
	}
	return kept, runs, leftOut, nil
}

// parts stores runs in parts.
func (f *Import) parts(ctx context.Context, name, kept string, runs []Run) (points int64, err error) {
	part, n := &Part{Name: name, Kept: kept}, 0
	flush := func() error {
		err := f.Store(ctx, part)
		if storage.IsRefusal(err) {
			return pipeline.SkipError{Err: err, Points: points}
		}
		if err == nil {
			points += int64(n)
		}
		part, n = &Part{Name: name, Kept: kept}, 0
		return err
	}
	for _, run := range runs {
		for len(run.Times) > 0 {
			some := min(len(run.Times), mostPartPoints-n)
			part.Runs = append(part.Runs, Run{Step: run.Step, Times: run.Times[:some], Values: run.Values[:some]})
			run.Times, run.Values = run.Times[some:], run.Values[some:]
			if n += some; n == mostPartPoints {
				if err := flush(); err != nil {
					return points, err
				}
			}
		}
	}
	if n > 0 || points == 0 { // a file without points has a series and archives all the same
		err = flush()
	}
	return points, err
}
