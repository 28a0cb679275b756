package call

import "github.com/tsdbridge/tsdbridge/graphite/series"

// What the series of a request hold is charged to the account of its context, by dispatch for every
// function alike: before a function runs, as much again as its arguments hold; after it has run,
// what its result holds, while what it has dropped is given back. A function whose result may be
// larger than its arguments reserves that itself before it makes it.

const (
	// parseBytes is what parsing costs for each byte of a text.
	parseBytes = 128
	// regexpBytes is what a compiled regular expression costs for each byte of its pattern.
	regexpBytes = 256
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

// reserveLike takes as much memory as lists hold, for what will be made of them. Functions that
// only name and choose series make nothing.
func (c *Call) reserveLike(lists [][]*series.Series) bool {
	switch c.fn.Group {
	case "Alias", "Sorting", "Filter Series":
		return true
	}
	bytes, texts := int64(0), textBytes(c.Args)
	for _, list := range lists {
		for _, s := range list {
			bytes += series.Bytes + 8*int64(len(s.Values)) + 2*int64(len(s.Name)) + texts
		}
	}
	return c.Reserve(bytes)
}

// settle charges what a function's result holds and gives back what was reserved, and what it was
// given and has dropped.
func (c *Call) settle(given [][]*series.Series, out any) error {
	c.settled++
	change := -c.reserved
	for _, list := range appendLists(nil, out) {
		for _, s := range list {
			change += s.Settle(c.settled)
		}
	}
	for _, lists := range [][][]*series.Series{given, c.evaluated} {
		for _, list := range lists {
			for _, s := range list {
				if s != nil {
					change -= s.Release(c.settled)
				}
			}
		}
	}
	if change > 0 {
		return c.Account.Take(change)
	}
	c.Account.Give(-change)
	return nil
}

// Rename gives a series a new name, whose memory is taken first.
func (c *Call) Rename(s *series.Series, name string) {
	if c.Reserve(int64(len(name))) {
		s.Rename(name)
	}
}
