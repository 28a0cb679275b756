package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// registers measures the registration of many new series in a format.
type registers struct {
	format load.Format
	series int
	title  string
	// peers are the servers that take the format, in addition to tsdbridge.
	peers []string
	lines []registrationLine
}

// A registrationLine is a line of the table; %d in what is the number of series.
type registrationLine struct {
	what string
	unit unit
	of   func(registration) float64
	bar  bar
}

var (
	// newSeries registers a million series of remote write.
	newSeries = registers{
		format: load.RemoteWrite1, series: 1_000_000, title: "Registering %d series, remote_write 1.0", peers: []string{victoriaName, prometheusName},
		lines: []registrationLine{
			{"new series/s, %d series", perSecond, registration.rate, atLeastItself(250_000)},
			{"memory of a series, %d series", bytesPerSeries, registration.bytes, atMostItself(650)},
		},
	}
	// newNames registers a million dotted names of carbon, which tsdbridge also puts into its default
	// tree.
	newNames = registers{
		format: load.Carbon, series: 1_000_000, title: "Registering %d dotted names, carbon", peers: []string{victoriaName},
		lines: []registrationLine{
			{"carbon new names/s, %d names", perSecond, registration.rate, atLeastItself(100_000)},
			{"carbon new names, CPU, %d names", cpuPerMillion, registration.cpuPerMillion, atMostItself(20)},
		},
	}
)

// registration is the cost of registering many new series.
type registration struct {
	series   int
	took     time.Duration // to send the first sample of each series
	cpu      float64       // seconds, until the server was quiet
	rss      float64       // bytes, right after further samples of all series
	rested   float64       // bytes, when the server has returned what it does not need
	further  float64       // samples/s of these
	stored   int
	expected int
}

// measure sends one sample of each of many series to empty servers, and then a few more of each.
func (w registers) measure(ctx context.Context, r *report) error {
	if err := pause(ctx, untilHourIsOpen(time.Now())); err != nil {
		return err
	}
	corpora := firstAndFurther(r.scaled(w.series), w.format)
	all := map[string][]registration{}
	programs := r.registering(w)
	for range r.runs {
		for _, p := range programs {
			one, err := register(ctx, p, corpora)
			if err != nil {
				if p.name == oursName || ctx.Err() != nil {
					return err
				}
				r.note("%s, new series: %s", w.format, firstLine(err))
				continue
			}
			all[p.name] = append(all[p.name], one)
			r.log("%s, new series: %s: %s, %.0f B a series", w.format, p.name, perSecond.write(one.rate()), one.bytes())
		}
	}
	r.compareRegistrations(w, all)
	r.registrationDetails(w, programs, all)
	return nil
}

// further is how many samples of each series follow the first one.
const further = 3

// untilHourIsOpen returns how long to wait until all samples are of the current hour and the hour
// does not end before they are stored. A series with samples of two hours has two rows in memory,
// some 110 to 160 B more, until the row of the earlier hour has been written to the table.
func untilHourIsOpen(now time.Time) time.Duration {
	const (
		begin = 3 * time.Minute // the samples are of two minutes
		last  = 2 * time.Minute
	)
	switch since := now.Sub(now.Truncate(time.Hour)); {
	case since < begin:
		return begin - since
	case since > time.Hour-last:
		return time.Hour + begin - since
	}
	return 0
}

// firstAndFurther returns the first sample of each of many series, and three more of each.
func firstAndFurther(series int, format load.Format) []*load.Corpus {
	first, then := registrationShapes(series, end())
	return []*load.Corpus{load.Encode(first, format, connections, 2000), load.Encode(then, format, connections, 2000)}
}

// registrationShapes returns the first samples of series and the further ones, until end.
func registrationShapes(series int, end time.Time) (first, then load.Shape) {
	const step = 15 * time.Second
	first = load.Shape{Seed: 1, Series: series, Steps: 1, Interval: step, End: end.Add(-further * step)}
	then = load.Shape{Seed: 1, Series: series, Steps: further, Interval: step, End: end}
	return first, then
}

// registering returns tsdbridge and the installed peers that take a format.
func (r *report) registering(w registers) []program {
	var all []program
	for _, p := range []program{r.programs.ours, r.programs.victoria, r.programs.prometheus} {
		if p.name == oursName || p.name != "" && slices.Contains(w.peers, p.name) {
			all = append(all, p)
		}
	}
	return all
}

func (s registration) rate() float64  { return float64(s.series) / s.took.Seconds() }
func (s registration) bytes() float64 { return s.rested / float64(s.series) }

func (s registration) cpuPerMillion() float64 { return s.cpu / float64(s.series) * 1e6 }

// register sends the corpora to a fresh server.
func register(ctx context.Context, p program, corpora []*load.Corpus) (r registration, err error) {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	s, err := p.start(ctx, dir)
	if err != nil {
		return r, err
	}
	defer s.proc.kill()
	before := s.usage().cpu
	r.series = corpora[0].Samples
	if r.took, err = s.take(ctx, corpora[0]); err != nil {
		return r, err
	}
	r.cpu = s.usage().cpu - before
	took, err := s.take(ctx, corpora[1])
	if err != nil {
		return r, err
	}
	r.further, r.rss = float64(corpora[1].Samples)/took.Seconds(), s.usage().rss
	if err := pause(ctx, restTime); err != nil {
		return r, err
	}
	r.rested = s.usage().rss
	for _, c := range corpora {
		n, err := s.storedAll(ctx, c)
		if err != nil {
			return r, err
		}
		r.stored += n
		r.expected += c.Samples
	}
	return r, nil
}

// restTime is how long a server has to return memory that it does not need. tsdbridge returns memory
// once in 10 s: right after the samples a series may take 770 B, and 600 B some seconds later.
const restTime = 15 * time.Second

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// take sends a corpus, waits until the server is quiet, and returns how long the sending took.
func (s *server) take(ctx context.Context, c *load.Corpus) (time.Duration, error) {
	begin := time.Now()
	if err := load.NewSender(c, s.target(c.Format)).Run(ctx); err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	took := time.Since(begin)
	return took, s.quiet(ctx)
}

func (r *report) compareRegistrations(w registers, all map[string][]registration) {
	mine := all[oursName]
	wrong := ""
	for _, one := range mine {
		if one.stored != one.expected {
			wrong = fmt.Sprintf("%d of %d samples", one.stored, one.expected)
		}
	}
	peer := victoriaName
	if len(all[peer]) == 0 {
		peer = ""
	}
	of := func(name string, f func(registration) float64) float64 {
		var figures []float64
		for _, one := range all[name] {
			figures = append(figures, f(one))
		}
		if len(figures) == 0 {
			return math.NaN()
		}
		return median(figures)
	}
	for _, l := range w.lines {
		r.lines = append(r.lines, line{
			what: fmt.Sprintf(l.what, mine[0].series), unit: l.unit, ours: of(oursName, l.of), peer: peer, theirs: of(peer, l.of), bar: l.bar,
			wrongCount: wrong,
		})
	}
}

func (r *report) registrationDetails(w registers, programs []program, all map[string][]registration) {
	g := grid{
		title: fmt.Sprintf(w.title, all[oursName][0].series),
		rows:  [][]string{{"server", "new series/s", "CPU-s per M new", "RSS MiB right after / at rest", "further samples/s", "found"}},
	}
	for _, p := range programs {
		for _, one := range all[p.name] {
			g.rows = append(g.rows, []string{
				p.name, perSecond.write(one.rate()), fmt.Sprintf("%.1f", one.cpuPerMillion()), fmt.Sprintf("%.0f / %.0f", one.rss/(1<<20), one.rested/(1<<20)),
				perSecond.write(one.further), fmt.Sprintf("%d of %d", one.stored, one.expected),
			})
		}
	}
	r.details = append(r.details, g)
}
