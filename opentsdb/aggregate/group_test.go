package aggregate

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// slot is a point in a model.
type slot struct {
	set    bool
	time   int64
	isLong bool
	long   int64
	value  float64
}

// model is a group as a TSD computes it: each member has a current and a next point, and at each
// step those with the earliest next point move on. It returns what Group.Result must return.
func model(g *Group) (out Span) {
	n := len(g.members)
	current, next, at := make([]slot, n), make([]slot, n), make([]int, n)
	take := func(i int) slot {
		m := &g.members[i]
		if at[i] == m.Len() {
			return slot{}
		}
		s := slot{true, m.Times[at[i]], m.isLong(at[i]), 0, m.Values[at[i]]}
		if s.isLong {
			s.long = m.Longs[at[i]]
		}
		at[i]++
		return s
	}
	for i := range n {
		next[i] = take(i)
		if g.Rate {
			if s := take(i); s.set {
				current[i], next[i] = next[i], s
			} else {
				next[i] = slot{}
			}
		}
	}
	for {
		t := int64(math.MaxInt64)
		for i := range n {
			if next[i].set && next[i].time <= g.End {
				t = min(t, next[i].time)
			}
		}
		if t == math.MaxInt64 {
			return out
		}
		integers := !g.Rate
		for i := range n {
			switch {
			case next[i].set && next[i].time == t:
				current[i], next[i] = next[i], take(i)
			case !next[i].set:
				current[i] = slot{} // it ended before
			}
			for _, s := range []slot{current[i], next[i]} {
				integers = integers && (!s.set || s.isLong)
			}
		}
		var doubles []float64
		var longs []int64
		for i := range n {
			if c := current[i]; c.set {
				doubles, longs = append(doubles, modelDouble(g, c, next[i], t)), append(longs, modelLong(g, c, next[i], t))
			}
		}
		if integers {
			out.AddLong(t, g.Aggregator.Longs(longs))
		} else {
			out.Add(t, g.Aggregator.Doubles(doubles))
		}
	}
}

func modelDouble(g *Group, c, n slot, t int64) float64 {
	if g.Rate || c.time == t {
		return c.value
	}
	switch g.Aggregator.Interpolation {
	case Zero:
		return 0
	case Greatest:
		return math.MaxFloat64
	case Least:
		return -math.MaxFloat64
	case Previous:
		return c.value
	}
	return c.value + float64(float64(t-c.time)*(n.value-c.value)/float64(n.time-c.time))
}

func modelLong(g *Group, c, n slot, t int64) int64 {
	if c.time == t {
		return c.long
	}
	switch g.Aggregator.Interpolation {
	case Zero:
		return 0
	case Greatest:
		return math.MaxInt64
	case Least:
		return math.MinInt64
	case Previous:
		return c.long
	}
	if !n.set || n.time == c.time {
		return c.long
	}
	return c.long + (t-c.time)*(n.long-c.long)/(n.time-c.time)
}

// TestGroup compares groups of random members with the model, in every bit.
func TestGroup(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		names := Names()
		a, _ := Get(names[round%len(names)])
		p := Plan{Range: Range{Start: 0, End: 1 << 40, ScanStart: 0, ScanEnd: 60}, Aggregator: a}
		if r.IntN(3) == 0 {
			o := DefaultRateOptions()
			o.Counter, o.DropResets, o.ResetValue = r.IntN(2) == 0, r.IntN(4) == 0, int64(r.IntN(3))*100
			p.Rate = &o
		}
		g := p.Group()
		members := 1 + r.IntN(5)
		if a.Name == None {
			members = 1
		}
		for range members {
			m, err := p.Member(randomSpan(r), nil)
			if err != nil {
				t.Fatal(err)
			}
			g.Add(m)
		}
		want := model(g)
		got, err := g.Result(func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if !equalSpans(want, got) {
			t.Fatalf("round %d: %s, rate %v of %+v: %+v, want %+v", round, a.Name, g.Rate, g.members, got, want)
		}
	}
}

// TestLongGroup compares groups of downsampled members with the model, in every bit: most have the same times, and
// some lack a few. They are made in the room of many.
func TestLongGroup(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var room Room
	for round := range 400 {
		names := Names()
		a, _ := Get(names[round%len(names)])
		d, err := ParseDownsampling([]string{"10s-avg", "10s-sum", "20s-max", "0all-min"}[r.IntN(4)])
		if err != nil {
			t.Fatal(err)
		}
		const points = 300
		p := Plan{Range: NewRange(3600_000, 3600_000+points*10_000, d), Aggregator: a, Downsampling: d}
		if r.IntN(4) == 0 {
			o := DefaultRateOptions()
			p.Rate = &o
		}
		g, alone := p.Group(), p.Group()
		g.Reserve(r.IntN(5))
		for range 1 + r.IntN(8) {
			var s Span
			gaps := r.IntN(3) / 2 * r.IntN(40)
			for i := range int64(points) {
				if gaps == 0 || r.IntN(100) >= gaps {
					s.Add(3600_000+i*10_000+r.Int64N(9000), r.NormFloat64())
				}
			}
			if s.Len() == 0 {
				continue
			}
			for _, to := range []struct {
				*Group
				*Room
			}{{g, &room}, {alone, nil}} {
				m, err := p.Member(s, to.Room)
				if err != nil {
					t.Fatal(err)
				}
				to.Add(m)
			}
			if a.Name == None {
				break
			}
		}
		if len(g.members) == 0 {
			continue
		}
		want := model(g)
		for _, of := range []*Group{g, alone} {
			got, err := of.Result(func() error { return nil })
			if err != nil || !equalSpans(want, got) {
				t.Fatalf("round %d: %s of %d members, rate %v: %v, %+v, want %+v", round, a.Name, len(g.members), g.Rate, err, got, want)
			}
		}
	}
}

// TestGroupEnds ends a computation that would take long when its pause says so.
func TestGroupEnds(t *testing.T) {
	a, _ := Get("sum")
	p := Plan{Range: Range{ScanEnd: 1 << 40}, Aggregator: a}
	g := p.Group()
	for m := range int64(2000) {
		var s Span
		for i := range int64(2000) {
			s.Add(1+m+2000*i, 1)
		}
		g.Add(s)
	}
	pauses := 0
	_, err := p.Result(g, func() error {
		if pauses++; pauses > 3 {
			return errors.New("enough")
		}
		return nil
	})
	if err == nil || pauses != 4 {
		t.Errorf("%v after %d pauses", err, pauses)
	}
}

func randomSpan(r *rand.Rand) (s Span) {
	floats := r.IntN(4)
	for time := int64(1 + r.IntN(10)); time < 70 && r.IntN(20) > 0; time += int64(1 + r.IntN(12)) {
		switch v := r.Int64N(200) - 100; {
		case r.IntN(30) == 0:
			s.Add(time, math.NaN())
		case r.IntN(4) < floats:
			s.Add(time, float64(v)/7)
		default:
			s.AddLong(time, v)
		}
	}
	return s
}

func equalSpans(a, b Span) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Times {
		bits := func(v float64) uint64 {
			if v != v {
				return 0
			}
			return math.Float64bits(v)
		}
		if a.Times[i] != b.Times[i] || bits(a.Values[i]) != bits(b.Values[i]) || a.isLong(i) != b.isLong(i) || a.isLong(i) && a.Longs[i] != b.Longs[i] {
			return false
		}
	}
	return true
}

// BenchmarkGroup sums many members of equal times, and few of different ones.
func BenchmarkGroup(b *testing.B) {
	for _, c := range []struct {
		name            string
		members, points int
		apart           int64
	}{{"equal", 10_000, 120, 0}, {"apart", 100, 1000, 7}} {
		b.Run(c.name, func(b *testing.B) {
			a, _ := Get("sum")
			p := Plan{Range: Range{ScanEnd: 1 << 40}, Aggregator: a}
			g := p.Group()
			for m := range c.members {
				var s Span
				for i := range c.points {
					s.Add(1+int64(m)*c.apart+60_000*int64(i), 1)
				}
				g.Add(s)
			}
			for b.Loop() {
				if _, err := g.Result(func() error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
