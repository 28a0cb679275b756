package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A reread reads what was imported once more, to compare it. All samples that a source has of one series and time should be in one
// unit.
type reread struct {
	units int
	by    string // what units are, for people
	asks  bool   // the source is a server, which is asked again while it fails
	// read gives what a unit has of the series that are wanted, and perhaps others.
	read func(ctx context.Context, unit int, wanted func(labels.Labels) bool, give func(*columns.Batch) error) error
}

// giving is the storing of what is only read.
func giving(give func(*columns.Batch) error) *storing {
	return &storing{
		again: func(_ context.Context, try func() error) error { return try() },
		store: func(_ context.Context, b *columns.Batch) error { return give(b) },
		tell:  func(string) {},
	}
}

// verifies reports whether the source and the store are compared after the import.
func (i *ImportOptions) verifies() bool { return i.Verify != "" && i.Verify != VerifyNone }

// readable returns why files cannot be imported, or cannot be compared afterwards, before anything is opened.
func (i *ImportOptions) readable(files []string) error {
	for _, name := range files {
		if name == pipeline.Stdin {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return err
		}
	}
	if i.verifies() && slices.Contains(files, pipeline.Stdin) {
		return &command.ExitError{Code: command.ExitUsage, Err: errors.New("--verify: the standard input cannot be read twice")}
	}
	return nil
}

// compare compares the source with what is stored, if that is wanted, after an import that ended with an error or left something out.
// It tells the adapter that imports how all of it ended.
func (i *ImportOptions) compare(ctx context.Context, console command.Console, done pipeline.Progress, left error, t columnsTarget, again *reread) error {
	var differ error
	if failure(left) == nil && i.verifies() {
		differ = i.verify(ctx, console, done, t.read, again)
	}
	i.reporter.End(ctx, i.reported(done), cmp.Or(failure(left), differ))
	switch {
	case differ == nil:
		return left
	case left == nil || failure(differ) != nil:
		return differ
	}
	return incomplete(left.Error(), differ.Error())
}

// verify compares all of the source, or a sample of its series.
func (i *ImportOptions) verify(ctx context.Context, console command.Console, done pipeline.Progress, stored admin.Samples, again *reread) error {
	line := &command.StatusLine{Console: console}
	c := &comparedImport{reread: again, seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}, scopes: map[string]*scope{}}
	c.sample = i.Verify == VerifySample
	show, differing := differs(line), map[string]struct{}{} // a series may differ in several units
	o := tablecopy.VerifyOptions{From: importedSide{c}, To: storedSide{c, stored}, Parallel: i.Parallel, Sample: 1}
	o.Asking = pipeline.Asking{Patience: i.Patience, Failed: waiting(line), Now: time.Now}
	o.Differs = func(d tablecopy.Difference) {
		differing[d.Series] = struct{}{}
		show(d)
	}
	o.Progress = i.comparing(ctx, line, done, again)
	v, err := tablecopy.Verify(ctx, o)
	line.Close()
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted while comparing; the same command compares again")
		}
		return fmt.Errorf("compare with the store: %w", err)
	}
	v.Differ = int64(len(differing))
	fmt.Fprintf(console.Out, "compared: %d series, %d samples, exemplars and start times; %s\n", len(c.seen), v.Points, found(v))
	if v.Differ == 0 {
		return nil
	}
	return incomplete(fmt.Sprintf("%d series differ", v.Differ))
}

// comparing returns what is done with the progress of a comparison.
func (i *ImportOptions) comparing(ctx context.Context, line *command.StatusLine, done pipeline.Progress, again *reread) func(tablecopy.Verified) {
	told := i.reported(done)
	every, last := max(i.Every, time.Second), time.Now()
	return func(v tablecopy.Verified) {
		if time.Since(last) < every {
			return
		}
		last = time.Now()
		told.At = fmt.Sprintf("comparing: %d of %d %s", v.Ranges, again.units, again.by)
		if line.Console.Terminal || i.Every > 0 {
			line.Print(told.At)
		}
		i.reporter.Report(ctx, told)
	}
}

// A comparedImport is both sides of a comparison: the source of an import, and what is stored.
type comparedImport struct {
	*reread
	seed   maphash.Seed
	sample bool // not all series are compared

	mu     sync.Mutex          // guards what follows
	seen   map[uint64]struct{} // series that are compared, by the hashes of their labels
	scopes map[string]*scope   // what units have
}

// What a sample of series has: each of so many of them, at random, and at least so many.
const (
	sampleOneOf = 20
	sampleLeast = 1000
)

// wants reports whether a series is compared.
func (c *comparedImport) wants(ls labels.Labels) bool {
	hash := ls.Hash()
	chosen := !c.sample || maphash.Comparable(c.seed, hash)%sampleOneOf == 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.seen[hash]; !ok {
		if !chosen && len(c.seen) >= sampleLeast {
			return false
		}
		c.seen[hash] = struct{}{}
	}
	return true
}

// isCompared reports whether a series of the store is one that the source has.
func (c *comparedImport) isCompared(ls labels.Labels) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.seen[ls.Hash()]
	return ok
}

// An importedSide is the source of an import, as a comparison reads it.
type importedSide struct{ *comparedImport }

// Parts implements tablecopy.Source.
func (importedSide) Parts(context.Context) ([]string, error) {
	return []string{tablecopy.PartPoints}, nil
}

// Ranges implements tablecopy.Source. A range is a unit, whose number is its name.
func (s importedSide) Ranges(_ context.Context, after pipeline.Range) (all []pipeline.Range, err error) {
	if after.Name != "" {
		return nil, nil
	}
	for n := range s.units {
		all = append(all, pipeline.Range{Part: tablecopy.PartPoints, Name: strconv.Itoa(n)})
	}
	return all, nil
}

// Read implements tablecopy.Source. It notes where the store has to be looked for what it gives.
func (s importedSide) Read(ctx context.Context, r pipeline.Range, give func(*tablecopy.Block) error) error {
	unit, err := strconv.Atoi(r.Name)
	if err != nil {
		return err
	}
	look := &scope{from: math.MaxInt64, to: math.MinInt64, names: map[string]struct{}{}}
	err = s.read(ctx, unit, s.wants, func(b *columns.Batch) error {
		for _, ls := range b.Labels {
			if s.wants(ls) {
				look.add(ls)
			}
		}
		look.widen(&b.Points)
		return give(blockOf(b, s.wants))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes[r.Name] = look
	if err != nil && !s.asks {
		return pipeline.FinalError{Err: err} // a file stays as it is
	}
	return err
}

// A storedSide is the store, as a comparison reads it.
type storedSide struct {
	*comparedImport
	stored admin.Samples
}

// Parts implements tablecopy.Source.
func (storedSide) Parts(context.Context) ([]string, error) {
	return []string{tablecopy.PartPoints}, nil
}

// Ranges implements tablecopy.Source. The source tells the ranges.
func (storedSide) Ranges(context.Context, pipeline.Range) ([]pipeline.Range, error) { return nil, nil }

// Read implements tablecopy.Source.
func (s storedSide) Read(ctx context.Context, r pipeline.Range, give func(*tablecopy.Block) error) error {
	s.mu.Lock()
	look := s.scopes[r.Name]
	s.mu.Unlock()
	for _, selector := range look.selectors() {
		q := admin.SamplesQuery{Match: []string{selector}, From: look.from, To: look.to, Exemplars: look.exemplars}
		if err := s.stored.Read(ctx, q, func(b *columns.Batch) error { return give(blockOf(b, s.isCompared)) }); err != nil {
			return admin.FinalExport(err)
		}
	}
	return nil
}

// A scope is where the series of a unit are.
type scope struct {
	from, to  int64
	names     map[string]struct{} // of metrics
	common    labels.Labels       // that all series have
	any       bool                // there was a series
	exemplars bool
}

// mostCommon bounds the value of a label that is looked for.
const mostCommon = 1 << 10

// add adds a series.
func (s *scope) add(ls labels.Labels) {
	s.names[ls.Get(model.MetricNameLabel)] = struct{}{}
	if !s.any {
		s.any = true
		b := labels.NewBuilder(ls).Del(model.MetricNameLabel)
		ls.Range(func(l labels.Label) {
			if len(l.Value) > mostCommon {
				b.Del(l.Name)
			}
		})
		s.common = b.Labels()
		return
	}
	var other []string
	s.common.Range(func(l labels.Label) {
		if ls.Get(l.Name) != l.Value {
			other = append(other, l.Name)
		}
	})
	if len(other) > 0 {
		s.common = labels.NewBuilder(s.common).Del(other...).Labels()
	}
}

// widen adds the times of points.
func (s *scope) widen(b *storage.Batch) {
	for _, t := range b.Times {
		s.from, s.to = min(s.from, t), max(s.to, t)
	}
	for i := range b.Objects {
		o := &b.Objects[i]
		s.from, s.to, s.exemplars = min(s.from, o.Time), max(s.to, o.Time), s.exemplars || o.Kind == storage.KindExemplar
	}
}

// selectorBytes bounds the names of metrics in one selector.
const selectorBytes = 16 << 10

// selectors returns selectors of PromQL, which together select all series.
func (s *scope) selectors() (all []string) {
	var others strings.Builder
	s.common.Range(func(l labels.Label) {
		others.WriteString("," + labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value).String())
	})
	var names []string
	size := 0
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if name == "" {
			continue // it is never stored
		}
		if len(names) > 0 && size+len(name) > selectorBytes {
			all = append(all, "{"+nameMatcher(names)+others.String()+"}")
			names, size = nil, 0
		}
		names, size = append(names, regexp.QuoteMeta(name)), size+len(name)
	}
	if len(names) > 0 {
		all = append(all, "{"+nameMatcher(names)+others.String()+"}")
	}
	return all
}

// nameMatcher returns a matcher of one of some names, which are regular expressions.
func nameMatcher(names []string) string {
	return labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, strings.Join(names, "|")).String()
}

// blockOf returns what a batch has of some series, as a comparison takes it.
func blockOf(b *columns.Batch, wants func(labels.Labels) bool) *tablecopy.Block {
	names := make([]*storage.Series, len(b.Labels)) // nil: it is not wanted
	for n, ls := range b.Labels {
		if wants(ls) {
			names[n] = seriesOf(ls)
		}
	}
	block, p := &tablecopy.Block{}, &b.Points
	for from := 0; from < len(p.Refs); {
		to := from + 1
		for to < len(p.Refs) && p.Refs[to] == p.Refs[from] {
			to++
		}
		if name := names[p.Refs[from]]; name != nil {
			block.Series = append(block.Series, tablecopy.Series{Name: *name, Times: p.Times[from:to], Values: p.Values[from:to]})
		}
		from = to
	}
	for i := range p.Objects {
		if name := names[p.Objects[i].Ref]; name != nil {
			one := p.Objects[i]
			if one.Kind == storage.KindHistogram {
				one.Data = withoutReset(one.Data)
			}
			block.Series = append(block.Series, tablecopy.Series{Name: *name, Objects: []storage.Object{one}})
		}
	}
	return block
}

// seriesOf returns labels as the name of a series, for people.
func seriesOf(ls labels.Labels) *storage.Series {
	s := &storage.Series{Metric: ls.Get(model.MetricNameLabel)}
	ls.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			s.Tags = append(s.Tags, storage.Tag{Key: l.Name, Value: l.Value})
		}
	})
	return s
}

// withoutReset returns the data of a histogram without what only the samples before it tell: whether it is a reset. A reader of the
// store finds it out by itself.
func withoutReset(data []byte) []byte {
	h, fh, err := histogramcodec.DecodeHistogram(data)
	switch {
	case err != nil:
		return data
	case fh != nil:
		if fh.CounterResetHint != histogram.GaugeType || value.IsStaleNaN(fh.Sum) {
			fh.CounterResetHint = histogram.UnknownCounterReset
		}
		return histogramcodec.EncodeFloatHistogram(fh)
	}
	if h.CounterResetHint != histogram.GaugeType || value.IsStaleNaN(h.Sum) {
		h.CounterResetHint = histogram.UnknownCounterReset
	}
	return histogramcodec.EncodeHistogram(h)
}
