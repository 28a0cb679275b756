package eval

import (
	"iter"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// What the series of a request hold is charged to the account of its context, by dispatch for every
// function alike: before a function runs, as much again as its arguments hold; after it has run,
// what its result holds, while what it has dropped is given back. A function whose result may be
// larger than its arguments reserves that itself before it makes it.

const (
	// parseBytes is what parsing costs for each byte of a text.
	parseBytes = 128
	// regexpBytes is what a compiled regular expression costs for each byte of its pattern.
	regexpBytes = 256
	// fetchBytes is the memory of a remembered fetch without its series.
	fetchBytes = 300
)

// seriesLists returns the lists of series among arguments.
func seriesLists(args []any, kwargs map[string]any) [][]*series.Series {
	var lists [][]*series.Series
	for _, a := range args {
		lists = appendLists(lists, a)
	}
	for _, a := range kwargs {
		lists = appendLists(lists, a)
	}
	return lists
}

func appendLists(lists [][]*series.Series, v any) [][]*series.Series {
	switch v := v.(type) {
	case []*series.Series:
		return append(lists, v)
	case [][]*series.Series:
		return append(lists, v...)
	}
	return lists
}

// reserve takes memory that the function is about to allocate. Without it the function fails, and
// is to stop.
func (c *call) reserve(bytes int64) bool {
	if c.err == nil {
		if err := c.scope.account.Take(bytes); err != nil {
			c.fail(err)
		} else {
			c.reserved += bytes
		}
	}
	return c.err == nil
}

// reserveLike takes as much memory as lists hold, for what will be made of them. Functions that
// only name and choose series make nothing.
func (c *call) reserveLike(lists [][]*series.Series) bool {
	switch c.fn.Group {
	case "Alias", "Sorting", "Filter Series":
		return true
	}
	bytes, texts := int64(0), textBytes(c.args)
	for _, list := range lists {
		for _, s := range list {
			bytes += series.Bytes + 8*int64(len(s.Values)) + 2*int64(len(s.Name)) + texts
		}
	}
	return c.reserve(bytes)
}

// borrow takes memory for a while. With an error there is nothing to give back.
func (r *run) borrow(bytes int64) (giveBack func(), err error) {
	if err := r.account.Take(bytes); err != nil {
		return nil, err
	}
	return func() { r.account.Give(bytes) }, nil
}

// settle charges what a function's result holds and gives back what was reserved, and what it was
// given and has dropped.
func (c *call) settle(given [][]*series.Series, out any) error {
	c.scope.settled++
	change := -c.reserved
	for _, list := range appendLists(nil, out) {
		for _, s := range list {
			change += s.Settle(c.scope.settled)
		}
	}
	for _, lists := range [][][]*series.Series{given, c.evaluated} {
		for _, list := range lists {
			for _, s := range list {
				if s != nil {
					change -= s.Release(c.scope.settled)
				}
			}
		}
	}
	if change > 0 {
		return c.scope.account.Take(change)
	}
	c.scope.account.Give(-change)
	return nil
}

// over yields series until the call has failed or the request has ended, which makes it fail.
func (c *call) over(list []*series.Series) iter.Seq[*series.Series] {
	return func(yield func(*series.Series) bool) {
		for _, s := range list {
			if c.stopped() || !yield(s) {
				return
			}
		}
	}
}

// stopped reports whether the function is to stop: it has failed, or the request has ended. Others
// may have their turn before it returns.
func (c *call) stopped() bool {
	if c.err == nil {
		if err := c.scope.turn.Yield(c.scope.ctx); err != nil {
			c.fail(err)
		}
	}
	return c.err != nil
}

// tickWork is how much work is done between two looks at the request: a millisecond, or more where a value
// costs much.
const tickWork = 1 << 16

// tick counts work in visited values, and reports whether to continue.
func (c *call) tick(work int) bool {
	if c.work += work; c.work < tickWork {
		return c.err == nil
	}
	c.work = 0
	return !c.stopped()
}

// rename gives a series a new name, whose memory is taken first.
func (c *call) rename(s *series.Series, name string) {
	if c.reserve(int64(len(name))) {
		s.Rename(name)
	}
}

// replace replaces each value of a series by f's, nulls included.
func (c *call) replace(s *series.Series, f func(float64) float64) {
	values := make([]float64, len(s.Values))
	for i, v := range s.Values {
		if i%1024 == 0 && !c.tick(1024) {
			return
		}
		values[i] = f(v)
	}
	s.Values = values
}

// change replaces each value that is not null.
func (c *call) change(s *series.Series, f func(float64) float64) {
	c.replace(s, func(v float64) float64 {
		if python.IsNone(v) {
			return v
		}
		return f(v)
	})
}
