package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// A question is sent to every server that has the data. All answers should be alike.
type question struct {
	name string
	bar  map[string]bar // by peer; nil: at most the best peer's time
	// slack is what is granted to an answer of less than five milliseconds, in milliseconds.
	slack float64
	// prepare makes the request; it is the same every time.
	prepare func(d dataset) (request, error)
}

// A request asks a server once and returns the answer.
type request func(ctx context.Context, s *server) ([]byte, error)

// extent is the size of an answer. Answers of the same extent count as equal: the values are not
// compared.
type extent struct{ series, points int }

func (e extent) String() string { return fmt.Sprintf("%d × %d", e.series, e.points) }

// dataset is the data of the servers.
type dataset struct {
	load.Shape
	groups int // values of the label grp
}

// last returns the borders of the last so many hours or minutes.
func (d dataset) last(span time.Duration) (from, to time.Time) {
	return d.End.Add(-span), d.End
}

// reads asks the questions of one kind.
type reads struct {
	format    load.Format
	shape     load.Shape
	title     string
	questions []question
	measure   func(answer []byte) (extent, error)
	median    float64 // the bar of the median ratio of all questions; 0: none
}

// A round lasts roundTime, within these limits of requests: enough for a median, few where an
// answer takes long.
const (
	roundTime   = 3 * time.Second
	mostARound  = 200
	leastARound = 5
)

func (q reads) run(ctx context.Context, r *report) error {
	shape := q.shape
	shape.End, shape.Tail = end(), r.scaled(shape.Tail)
	d := dataset{Shape: shape, groups: shape.Tail / 100}
	servers, err := q.fill(ctx, r, d)
	defer func() {
		for _, s := range servers {
			s.proc.kill()
			os.RemoveAll(s.dir)
		}
	}()
	if err != nil {
		return err
	}
	g := grid{
		title: fmt.Sprintf("%s: p50 ms of one client, %d series × %d and %d × %d", q.title, shape.Series, shape.Steps, shape.Tail, shape.TailSteps),
		rows:  [][]string{{"question"}},
	}
	for _, s := range servers {
		g.rows[0] = append(g.rows[0], s.name, "CPU", "series × points")
	}
	first := len(r.lines)
	for _, one := range q.questions {
		answers, err := q.ask(ctx, r, one, d, servers)
		if err != nil {
			return err
		}
		g.rows = append(g.rows, answersRow(one, servers, answers))
		r.lines = append(r.lines, one.compare(r, servers, answers))
	}
	r.details = append(r.details, g)
	if q.median > 0 {
		r.lines = append(r.lines, medianRatio(q.title, r.lines[first:], q.median))
	}
	return nil
}

// fill starts the servers and writes the data into them.
func (q reads) fill(ctx context.Context, r *report, d dataset) ([]*server, error) {
	corpus := load.Encode(d.Shape, q.format, connections, 2000)
	var servers []*server
	peers := append([]program{r.programs.ours, r.programs.victoria}, r.programs.otherVictorias...)
	for _, p := range append(peers, r.programs.prometheus) {
		if p.name == "" || q.format != load.RemoteWrite1 && p.name == prometheusName {
			continue
		}
		dir, err := os.MkdirTemp("", "tsdbridge-bench")
		if err != nil {
			return servers, err
		}
		s, err := p.start(ctx, dir)
		if err != nil {
			return servers, err
		}
		servers = append(servers, s)
		if err := s.fill(ctx, r, corpus); err != nil {
			return servers, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return servers, nil
}

func (s *server) fill(ctx context.Context, r *report, c *load.Corpus) error {
	if err := load.NewSender(c, s.target(c.Format)).Run(ctx); err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	n, err := s.storedAll(ctx, c)
	if err == nil && n != c.Samples {
		r.note("%s holds %d of %d samples while it is asked", s.name, n, c.Samples)
	}
	return err
}

// answered is how a server answered a question.
type answered struct {
	p50    float64 // milliseconds
	cpu    float64 // milliseconds of CPU an answer
	extent extent
	err    error
}

// ask sends a question to all servers in turns and takes the median of their times.
func (q reads) ask(ctx context.Context, r *report, one question, d dataset, servers []*server) (map[*server]*answered, error) {
	req, err := one.prepare(d)
	if err != nil {
		return nil, err
	}
	times := map[*server][]float64{}
	cpu := map[*server]float64{}
	answers := map[*server]*answered{}
	for _, s := range servers {
		answers[s] = &answered{p50: math.NaN()}
	}
	for range r.runs {
		for _, s := range servers {
			if answers[s].err == nil {
				before := usageOf(s.proc.pid()).cpu
				got, err := q.round(ctx, s, req, answers[s])
				times[s], answers[s].err = append(times[s], got...), err
				cpu[s] += 1000 * (usageOf(s.proc.pid()).cpu - before) / float64(len(got)+1)
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	for _, s := range servers {
		if answers[s].err == nil {
			answers[s].p50, answers[s].cpu = median(times[s]), cpu[s]/float64(r.runs)
		}
		r.log("%s: %s: %.2f ms, %v, %v", one.name, s.name, answers[s].p50, answers[s].extent, answers[s].err)
	}
	return answers, nil
}

// round sends a question to one server repeatedly. The first answer is checked and not timed.
func (q reads) round(ctx context.Context, s *server, req request, a *answered) ([]float64, error) {
	answer, err := req(ctx, s)
	if err != nil {
		return nil, err
	}
	if a.extent, err = q.measure(answer); err != nil {
		return nil, err
	}
	var times []float64
	for begin := time.Now(); len(times) < leastARound || len(times) < mostARound && time.Since(begin) < roundTime; {
		one := time.Now()
		if _, err := req(ctx, s); err != nil {
			return nil, err
		}
		times = append(times, ms(time.Since(one)))
	}
	return times, nil
}

func answersRow(q question, servers []*server, answers map[*server]*answered) []string {
	row := []string{q.name}
	for _, s := range servers {
		a := answers[s]
		if a.err != nil {
			row = append(row, "-", "-", "none")
			continue
		}
		row = append(row, fmt.Sprintf("%.2f", a.p50), fmt.Sprintf("%.2f", a.cpu), a.extent.String())
	}
	return row
}

// compare compares our time with that of the best peer, or of the peer that the question names.
func (q question) compare(r *report, servers []*server, answers map[*server]*answered) line {
	l := line{what: q.name, unit: milliseconds, ours: math.NaN(), theirs: math.NaN(), bar: atMost(1), why: "no peer answers this"}
	l.bar.slack = q.slack
	var mine *answered
	for _, s := range servers {
		a := answers[s]
		switch {
		case s.name == oursName:
			mine, l.ours = a, a.p50
		case a.err != nil:
			r.note("%s: %s: %s", q.name, s.name, firstLine(a.err))
		case q.bar != nil && q.bar[s.name].limit == 0:
		case math.IsNaN(l.theirs) || a.p50 < l.theirs:
			l.peer, l.theirs, l.why = s.name, a.p50, ""
			if q.bar != nil {
				l.bar = q.bar[s.name]
			}
		}
		if a.err == nil && mine != nil && mine.err == nil && a.extent != mine.extent {
			r.note("%s: ours has %v series × points, %s %v", q.name, mine.extent, s.name, a.extent)
		}
	}
	if mine.err != nil {
		l.why = firstLine(mine.err)
	}
	return l
}
