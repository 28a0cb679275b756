package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// A row measures some lines of the table.
type row struct {
	name    string
	measure func(ctx context.Context, r *report) error
}

var rows = []row{
	{"rw1", writes{format: load.RemoteWrite1, steps: 2000, batch: 2000, against: []versus{
		{victoriaName, perSecond, atLeast(1.4)},
		{victoriaName, cpuPerMillion, atMost(0.6)},
		{prometheusName, perSecond, atLeast(5)},
		{victoriaName, bytesPerSample, atMostItself(0.8)},
	}}.measure},
	{"rw2", writes{format: load.RemoteWrite2, steps: 2000, batch: 2000, against: []versus{{prometheusName, perSecond, atLeast(3)}}}.measure},
	{"carbon", writes{format: load.Carbon, steps: 500, batch: 2000, against: []versus{{victoriaName, perSecond, atLeast(1)}}}.measure},
	{"carbon-tagged", writes{format: load.CarbonTagged, steps: 500, batch: 2000, against: []versus{{victoriaName, perSecond, atLeast(1)}}}.measure},
	{"telnet", writes{format: load.Telnet, steps: 500, batch: 2000, against: []versus{{victoriaName, perSecond, atLeast(1)}}}.measure},
	{"put2000", writes{format: load.Put, steps: 500, batch: 2000, against: []versus{{victoriaName, perSecond, atLeast(1)}}}.measure},
	{"otlp", otlpWrites(load.Shape{Series: 10_000, Explicit: 1000, Exponential: 1000}, "all kinds", 300).measure},
	{"otlp-numbers", otlpWrites(load.Shape{Series: 10_000}, "gauges and sums", 500).measure},
	{"otlp-explicit", otlpWrites(load.Shape{Explicit: 2000}, "explicit histograms", 1000).measure},
	{"otlp-exponential", otlpWrites(load.Shape{Exponential: 2000}, "exponential histograms", 1000).measure},
	{"register", newSeries.measure},
	{"names", newNames.measure},
	{"start", startRow},
	{"kill", embeddedDrill},
	{"hbase", hbaseRow},
	{"tag-hbase", hbaseTag},
	{"wide-hbase", hbaseWide},
	{"tsd-hbase", tsdOnHBase},
	{"tsd-embedded", tsdOnEmbedded},
	{"kill-hbase", hbaseDrill},
	{"reads", prometheusReads.run},
	{"dashboards", dashboards().run},
	{"refresh", refreshed},
	{"graphite", graphiteReads.run},
	{"small1", smallWrites{batch: 1}.measure},
	{"small10", smallWrites{batch: 10}.measure},
	{"small50", smallWrites{batch: 50}.measure},
	{"small100", smallWrites{batch: 100}.measure},
	{"put50", writes{format: load.Put, steps: 200, batch: 50, against: []versus{{victoriaName, perSecond, atLeast(1)}}}.measure},
}

func rowNames() []string {
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}

// versus compares one figure with a peer's.
type versus struct {
	peer string
	unit unit
	bar  bar
}

// connections is how many connections each ingesting run uses.
const connections = 4

// writes sends a format to tsdbridge and to the peers of its comparisons.
type writes struct {
	format       load.Format
	shape        load.Shape // of series; the default is 10 000 series
	what         string     // what distinguishes the row from others of the format
	steps, batch int
	against      []versus
}

// otlpWrites sends data points of OpenTelemetry. A histogram is one of them.
func otlpWrites(shape load.Shape, what string, steps int) writes {
	return writes{format: load.OTLP, shape: shape, what: what, steps: steps, batch: 2000, against: []versus{
		{victoriaName, perSecond, atLeast(1)},
		{victoriaName, cpuPerMillion, atMost(1)},
	}}
}

// end returns the time when the data of a benchmark ends: a moment ago, because servers refuse
// samples that are too old or too new.
func end() time.Time { return endAt(time.Now()) }

func endAt(now time.Time) time.Time { return now.Truncate(15 * time.Second).Add(-time.Minute) }

func (w writes) measure(ctx context.Context, r *report) error {
	shape := w.shape
	if shape == (load.Shape{}) {
		shape.Series = 10_000
	}
	shape.Seed, shape.Steps, shape.Interval, shape.End = 1, r.scaled(w.steps), 15*time.Second, end()
	corpus := load.Encode(shape, w.format, connections, w.batch)
	all := map[string]*ingests{}
	for range r.runs {
		for _, p := range r.writersOf(w) {
			one, err := ingest(ctx, p, corpus)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if all[p.name] == nil {
				all[p.name] = &ingests{program: p}
			}
			all[p.name].add(one, err)
			if err != nil {
				r.log("%s: %s: %v", w.format, p.name, err)
			} else {
				r.log("%s: %s: %s, %s", w.format, p.name, perSecond.write(one.rate()), cpuPerMillion.write(one.cpuPerMillion()))
			}
		}
	}
	r.compare(w, all)
	r.ingestDetails(w, corpus, all)
	return nil
}

// writersOf returns tsdbridge and the installed peers that a row compares it with.
func (r *report) writersOf(w writes) []program {
	names := map[string]bool{oursName: true}
	for _, v := range w.against {
		names[v.peer] = true
	}
	var all []program
	for _, p := range []program{r.programs.ours, r.programs.victoria, r.programs.prometheus} {
		if names[p.name] {
			all = append(all, p)
		}
	}
	return all
}

// ingests contains the runs of one server.
type ingests struct {
	program
	runs []ingested
	errs []error
}

func (all *ingests) add(one ingested, err error) {
	if err != nil {
		all.errs = append(all.errs, err)
		return
	}
	all.runs = append(all.runs, one)
}

// figure returns the median of a unit; without one, NaN and the reason.
func (all *ingests) figure(u unit) float64 {
	var figures []float64
	for _, one := range all.runs {
		switch u {
		case perSecond:
			figures = append(figures, one.rate())
		case cpuPerMillion:
			figures = append(figures, one.cpuPerMillion())
		case bytesPerSample:
			figures = append(figures, one.bytesPerSample())
		default:
			figures = append(figures, math.NaN())
		}
	}
	return median(figures)
}

// wrong describes the first run that did not store what was sent.
func (all *ingests) wrong() string {
	for _, one := range all.runs {
		if one.stored != one.samples {
			return fmt.Sprintf("%s has %d of %d samples", all.name, one.stored, one.samples)
		}
	}
	return ""
}

func (r *report) compare(w writes, all map[string]*ingests) {
	for _, v := range w.against {
		l := line{what: w.name() + ", " + what(v.unit), unit: v.unit, ours: math.NaN(), peer: v.peer, theirs: math.NaN(), bar: v.bar}
		mine, theirs := all[oursName], all[v.peer]
		l.ours, l.wrongCount = mine.figure(v.unit), mine.wrong()
		switch {
		case len(mine.errs) > 0:
			l.why = firstLine(mine.errs[0])
		case theirs == nil:
			l.why = v.peer + " is missing"
		case len(theirs.errs) > 0:
			l.why = firstLine(theirs.errs[0])
		default:
			l.theirs = theirs.figure(v.unit)
			if bad := theirs.wrong(); bad != "" {
				r.note("%s: %s", w.name(), bad)
			}
		}
		r.lines = append(r.lines, l)
	}
}

// name returns the name of the row: the format and what distinguishes the row from others.
func (w writes) name() string {
	switch {
	case w.format == load.Put:
		return fmt.Sprintf("%s, %d a request", w.format, w.batch)
	case w.what != "":
		return fmt.Sprintf("%s, %s", w.format, w.what)
	}
	return string(w.format)
}

func what(u unit) string {
	switch u {
	case perSecond:
		return "samples/s"
	case cpuPerMillion:
		return "CPU"
	case bytesPerSample:
		return "disk after compaction"
	default:
		return string(u)
	}
}

func (r *report) ingestDetails(w writes, c *load.Corpus, all map[string]*ingests) {
	g := grid{
		title: fmt.Sprintf("%s: %d series, %d samples of %.1f B on the wire, %d connections", w.name(), c.Shape.Series+c.Shape.Explicit+c.Shape.Exponential, c.Samples,
			float64(c.Bytes)/float64(c.Samples), connections),
		rows: [][]string{{"server", "samples/s of each run", "CPU-s/M", "of the generator", "RSS / peak MiB", "B/sample", "p50 / p99 ms", "found"}},
	}
	for _, p := range r.writersOf(w) {
		for i, one := range all[p.name].runs {
			name := p.name
			if i > 0 {
				name = ""
			}
			disk := fmt.Sprintf("%.2f", one.bytesPerSample())
			if one.settled != nil {
				disk += " not compacted"
			}
			g.rows = append(g.rows, []string{
				name, perSecond.write(one.rate()), fmt.Sprintf("%.3f", one.cpuPerMillion()),
				fmt.Sprintf("%.3f", one.generator/float64(one.samples)*1e6), fmt.Sprintf("%.0f / %.0f", one.rss/(1<<20), one.peak/(1<<20)),
				disk, fmt.Sprintf("%.2f / %.1f", ms(one.p50), ms(one.p99)), fmt.Sprintf("%d of %d", one.stored, one.samples),
			})
		}
		for _, err := range all[p.name].errs {
			r.note("%s: %v", w.name(), err)
		}
	}
	r.details = append(r.details, g)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
