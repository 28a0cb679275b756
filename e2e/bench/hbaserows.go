package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// landed contains the figures of one run of sending to a server on HBase.
type landed struct {
	samples   int
	took      time.Duration // until the last acknowledgement
	cpu       float64       // seconds of the server alone, until it was quiet or ended
	hbase     float64       // seconds of HBase, until it was quiet
	wal       int64         // bytes
	contents  contents
	tookWhole time.Duration // until everything was in HBase; 0: unknown
	table     string
	disk      int64 // bytes of the table's files, with the first load in them
}

func (l landed) rate() float64 { return float64(l.samples) / l.took.Seconds() }

// wholeRate returns NaN where the time until everything was in HBase is not known.
func (l landed) wholeRate() float64 {
	if l.tookWhole == 0 {
		return math.NaN()
	}
	return float64(l.samples) / l.tookWhole.Seconds()
}

// hbaseRow compares tsdbridge on HBase, in both write modes, with a TSD on the same HBase.
func hbaseRow(ctx context.Context, r *report) error {
	h, err := startHadoop(ctx, r)
	if err != nil {
		return r.withoutHBase(ctx, err)
	}
	defer h.close()
	all := map[string][]landed{}
	for run := range r.runs {
		for _, w := range h.writers(r) {
			shape := load.Shape{Seed: 1, Series: hbaseSeries, Steps: r.scaled(w.steps), Interval: 15 * time.Second, End: end()}
			table := fmt.Sprintf("%s%d", w.name, run)
			one, err := w.run(ctx, table, shape)
			if err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				r.note("HBase, %s: %s", w.name, firstLine(err))
				continue
			}
			one.table = table
			all[w.name] = append(all[w.name], one)
			r.log("HBase, %s: %s, %d cells, %d points, WAL %d B", w.name, perSecond.write(one.rate()), one.contents.cells, one.contents.points, one.wal)
		}
	}
	if err := h.sizes(all); err != nil {
		return err
	}
	r.compareLanded(all)
	return nil
}

// sizes stops HBase, which then writes its memory into files, and returns the sizes of these files.
func (h *hadoop) sizes(all map[string][]landed) error {
	if err := h.Stop(); err != nil {
		return err
	}
	for _, runs := range all {
		for i := range runs {
			var err error
			if runs[i].disk, err = bytesIn(filepath.Join(h.dir, "data", "data", "default", runs[i].table)); err != nil {
				return err
			}
		}
	}
	return nil
}

// A hbaseWriter is one participant of the comparison on HBase.
type hbaseWriter struct {
	name  string
	steps int
	land  func(ctx context.Context, table string, shape load.Shape) (landed, error)
	*hadoop
}

// writers returns tsdbridge in both write modes, and the TSD with both of its protocols.
func (h *hadoop) writers(r *report) []hbaseWriter {
	ours := func(mode string) func(context.Context, string, load.Shape) (landed, error) {
		return func(ctx context.Context, table string, s load.Shape) (landed, error) {
			return h.landOurs(ctx, table, mode, s)
		}
	}
	tsd := func(f load.Format) func(context.Context, string, load.Shape) (landed, error) {
		return func(ctx context.Context, table string, s load.Shape) (landed, error) {
			return h.landTSD(ctx, r, table, f, s)
		}
	}
	return []hbaseWriter{
		{"buffered", 2000, ours("buffered"), h}, {"through", 200, ours("through"), h}, {"telnet", 200, tsd(load.Telnet), h}, {"put", 200, tsd(load.Put), h},
	}
}

func (w hbaseWriter) run(ctx context.Context, table string, shape load.Shape) (landed, error) {
	if err := w.create(ctx, table); err != nil {
		return landed{}, err
	}
	return w.land(ctx, table, shape)
}

// withoutHBase leaves the rows in the table, without figures.
func (r *report) withoutHBase(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.programs.missing["HBase"] = err
	nan := math.NaN()
	r.lines = append(r.lines,
		line{what: "HBase, buffered, samples/s", unit: perSecond, ours: nan, peer: tsdName, theirs: nan, bar: atLeast(10), why: "no HBase"},
		line{what: "HBase, through, samples/s", unit: perSecond, ours: nan, peer: tsdName, theirs: nan, bar: atLeast(1), why: "no HBase"})
	return nil
}

// measure measures one run. of returns the usage of the server; finish ends its work and returns
// the CPU seconds of that which of does not include.
func (h *hadoop) measure(ctx context.Context, c *load.Corpus, to load.Target, of func() usage, finish func() (float64, error)) (l landed, err error) {
	for _, who := range []func() usage{of, h.usage} {
		if err := quiet(ctx, who); err != nil {
			return l, err
		}
	}
	wal, err := h.walBytes()
	if err != nil {
		return l, err
	}
	before, hbaseBefore := of().cpu, h.usage().cpu
	sender := load.NewSender(c, to)
	begin := time.Now()
	if err := sender.Run(ctx); err != nil {
		return l, err
	}
	l.took, l.samples = time.Since(begin), sender.Acked()
	life, err := finish()
	if err != nil {
		return l, err
	}
	l.tookWhole, l.cpu = time.Since(begin), life-before
	if err := quiet(ctx, h.usage); err != nil {
		return l, err
	}
	l.hbase = h.usage().cpu - hbaseBefore
	after, err := h.walBytes()
	l.wal = after - wal
	return l, err
}

// landOurs sends remote write to the adapter and stops it. In mode buffered the stop flushes its
// memory.
func (h *hadoop) landOurs(ctx context.Context, table, mode string, shape load.Shape) (l landed, err error) {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return l, err
	}
	defer os.RemoveAll(dir)
	s, err := h.adapter(table, mode).start(ctx, dir)
	if err != nil {
		return l, err
	}
	defer s.proc.kill()
	// The names are known before, as they are to a TSD that has run for a while, and the JVM is
	// warm.
	if err := h.warm(ctx, table, shape, load.RemoteWrite1, s.target(load.RemoteWrite1)); err != nil {
		return l, err
	}
	corpus := load.Encode(shape, load.RemoteWrite1, connections, 2000)
	l, err = h.measure(ctx, corpus, s.target(load.RemoteWrite1), s.usage, s.proc.stop)
	if err != nil {
		return l, err
	}
	l.contents, err = h.contents(ctx, table, shape)
	return l, err
}

// warmSteps is how many steps are sent before the measurement, hours before its data: a JVM is slow
// during its first half million points.
const warmSteps = 60

const hbaseSeries = 10_000

// warm returns when everything that it sent is in the table, so that it does not affect the
// measurement.
func (h *hadoop) warm(ctx context.Context, table string, shape load.Shape, f load.Format, to load.Target) error {
	shape.End, shape.Steps = shape.Start().Truncate(time.Hour).Add(-3*time.Hour), warmSteps
	if err := load.NewSender(load.Encode(shape, f, connections, 2000), to).Run(ctx); err != nil {
		return err
	}
	const waitTimeout = 2 * time.Minute
	return until(ctx, waitTimeout, func(ctx context.Context) error {
		got, err := h.contents(ctx, table, shape)
		if err == nil && got.points != shape.Samples() {
			err = fmt.Errorf("%d of %d points of the first load are in the table", got.points, shape.Samples())
		}
		return err
	})
}

// landTSD sends telnet or HTTP puts to a TSD and waits until both are quiet.
func (h *hadoop) landTSD(ctx context.Context, r *report, table string, f load.Format, shape load.Shape) (l landed, err error) {
	tsd, err := h.tsd(ctx, r, table)
	if err != nil {
		return l, err
	}
	of := func() usage { return usageOf(tsd.PID()) }
	to := load.Target{Addr: tsd.Addr(), URL: tsd.URL() + "/api/put"}
	if err := h.warm(ctx, table, shape, f, to); err != nil {
		return l, errors.Join(err, tsd.Stop())
	}
	corpus := load.Encode(shape, f, connections, 2000)
	l, err = h.measure(ctx, corpus, to, of, func() (float64, error) {
		err := quiet(ctx, of)
		return of().cpu, err
	})
	if err == nil {
		l.contents, err = h.contents(ctx, table, shape)
	}
	l.tookWhole = 0 // a TSD does not report it
	return l, errors.Join(err, tsd.Stop())
}

func (r *report) compareLanded(all map[string][]landed) {
	figure := func(name string, f func(landed) float64) float64 {
		var figures []float64
		for _, one := range all[name] {
			figures = append(figures, f(one))
		}
		return median(figures)
	}
	wrong := func(name string) string {
		for _, one := range all[name] {
			if one.contents.points != one.samples {
				return fmt.Sprintf("%s: %d points in the table of %d", name, one.contents.points, one.samples)
			}
		}
		return ""
	}
	perSample := func(n func(landed) float64) func(landed) float64 {
		return func(l landed) float64 { return n(l) / float64(l.samples) }
	}
	cellsOf := perSample(func(l landed) float64 { return float64(l.contents.cells) })
	walOf := perSample(func(l landed) float64 { return float64(l.wal) })
	best := "telnet"
	if figure("put", landed.rate) > figure(best, landed.rate) {
		best = "put"
	}
	diskOf := func(l landed) float64 { return float64(l.disk) / float64(l.samples+warmSteps*hbaseSeries) }
	if bad := wrong(best); bad != "" {
		r.note("HBase: the TSD's %s (while it compacts a row, its points may stand there twice)", bad)
	}
	for _, l := range []struct {
		mode, what string
		unit       unit
		of         func(landed) float64
		bar        bar
	}{
		{"buffered", "samples/s", perSecond, landed.rate, atLeast(10)},
		{"buffered", "cells", cells, cellsOf, atMostItself(1.0 / 12)},
		{"buffered", "its WAL", bytesPerSample, walOf, atMostItself(14)},
		{"buffered", "disk as standard cells", bytesPerSample, diskOf, atMostItself(2.3)},
		{"through", "samples/s", perSecond, landed.rate, atLeast(1)},
	} {
		r.lines = append(r.lines, line{
			what: "HBase, " + l.mode + ", " + l.what, unit: l.unit, ours: figure(l.mode, l.of), peer: tsdName + " " + best, theirs: figure(best, l.of),
			bar: l.bar, wrongCount: wrong(l.mode),
		})
	}
	g := grid{
		title: "HBase: 10000 series; we by remote_write 1.0, buffered and through, the TSD by telnet and HTTP put, 4 connections",
		rows:  [][]string{{"server", "samples/s", "until all is in HBase", "CPU-s/M of the server", "of HBase", "WAL B/sample", "cells/sample", "B/sample on disk", "points in the table"}},
	}
	for _, name := range []string{"buffered", "through", "telnet", "put"} {
		for _, one := range all[name] {
			million := float64(one.samples) / 1e6
			g.rows = append(g.rows, []string{
				name, perSecond.write(one.rate()), perSecond.write(one.wholeRate()), fmt.Sprintf("%.2f", one.cpu/million),
				fmt.Sprintf("%.2f", one.hbase/million), fmt.Sprintf("%.1f", walOf(one)), fmt.Sprintf("%.4f", cellsOf(one)), fmt.Sprintf("%.2f", diskOf(one)),
				fmt.Sprintf("%d of %d", one.contents.points, one.samples),
			})
		}
	}
	r.details = append(r.details, g)
}

// hbaseDrill is the kill drill of an adapter that writes through to HBase.
func hbaseDrill(ctx context.Context, r *report) error {
	h, err := startHadoop(ctx, r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.programs.missing["HBase"] = err
		r.lines = append(r.lines, line{what: "kill -9 under load, HBase, through", unit: lost, ours: math.NaN(), bar: atMostItself(0), why: "no HBase"})
		return nil
	}
	defer h.close()
	if err := h.create(ctx, "drill"); err != nil {
		return err
	}
	d := newDrill(r.kills, r.scaled(1_000_000))
	d.log = r.log
	if err := d.run(ctx, h.adapter("drill", "through")); err != nil {
		return err
	}
	r.lines = append(r.lines, d.lines("HBase, through", false)...)
	return nil
}
