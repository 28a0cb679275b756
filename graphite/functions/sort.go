package functions

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// sortFamily returns the functions that order series.
func sortFamily() []call.Function {
	one := []call.Param{seriesParam("seriesList")}
	reverse := with("reverse", call.TypeBoolean, false)
	return []call.Function{{
		Name: "sortBy", Group: "Sorting", Signature: "seriesList, func='average', reverse=False", Doc: "Sorts series by an aggregate.",
		Params: []call.Param{seriesParam("seriesList"), with("func", call.TypeAggFunc, "average"), reverse},
		Call:   func(c *call.Call) ([]*series.Series, error) { return sortedList(c, c.Text("func"), c.Truth("reverse")) },
	}, {
		Name: "sortByMaxima", Group: "Sorting", Signature: "seriesList", Params: one, Doc: "Sorts series by their greatest value, downwards.",
		Call: func(c *call.Call) ([]*series.Series, error) { return sortedList(c, "max", true) },
	}, {
		Name: "sortByMinima", Group: "Sorting", Signature: "seriesList", Params: one, Call: sortByMinima,
		Doc: "Sorts series by their least value; those without a value above 0 are left out.",
	}, {
		Name: "sortByName", Group: "Sorting", Signature: "seriesList, natural=False, reverse=False", Call: sortByName,
		Doc: "Sorts series by name.", Params: []call.Param{seriesParam("seriesList"), with("natural", call.TypeBoolean, false), reverse},
	}, {
		Name: "sortByTotal", Group: "Sorting", Signature: "seriesList", Params: one, Doc: "Sorts series by their sum, downwards.",
		Call: func(c *call.Call) ([]*series.Series, error) { return sortedList(c, "sum", true) },
	}}
}

func sortByMinima(c *call.Call) ([]*series.Series, error) {
	list := slices.DeleteFunc(c.Series("seriesList"), func(s *series.Series) bool {
		high := series.Present(series.Maximum)(s.Values)
		return python.IsNone(high) || high <= 0
	})
	return sortedBy(list, series.Present(series.Minimum), false), nil
}

func sortByName(c *call.Call) ([]*series.Series, error) {
	list, natural, reverse := c.Series("seriesList"), c.Truth("natural"), c.Truth("reverse")
	slices.SortStableFunc(list, func(a, b *series.Series) int {
		x, y := a.Name, b.Name
		if natural {
			x, y = padded(x), padded(y)
		}
		if reverse {
			x, y = y, x
		}
		return strings.Compare(x, y)
	})
	return list, nil
}

// pythonSort is Python's list.sort, stable in both directions. Sums of infinities are not
// comparable, and where they end up depends on the steps of the algorithm; so they are the same as
// there, for as few items as it takes one run.
func pythonSort[T any](items []T, less func(a, b T) bool, down bool) {
	if down {
		slices.Reverse(items)
		defer slices.Reverse(items)
	}
	if len(items) >= 64 {
		slices.SortStableFunc(items, func(a, b T) int {
			switch {
			case less(a, b):
				return -1
			case less(b, a):
				return 1
			}
			return 0
		})
		return
	}
	for i := firstRun(items, less); i < len(items); i++ {
		pivot, low, high := items[i], 0, i
		for low < high {
			if mid := low + (high-low)/2; less(pivot, items[mid]) {
				high = mid
			} else {
				low = mid + 1
			}
		}
		copy(items[low+1:i+1], items[low:i])
		items[low] = pivot
	}
}

// firstRun returns the length of what is sorted already; what is sorted downwards is turned round.
func firstRun[T any](items []T, less func(a, b T) bool) int {
	if len(items) < 2 {
		return len(items)
	}
	n, falling := 2, less(items[1], items[0])
	for n < len(items) && less(items[n], items[n-1]) == falling {
		n++
	}
	if falling {
		slices.Reverse(items[:n])
	}
	return n
}

// padded fills each number up to ten digits, without the zeros it had.
func padded(name string) string {
	var b strings.Builder
	for name != "" {
		digits := python.Prefix(name, python.IsDigit)
		if digits == "" {
			b.WriteByte(name[0])
			name = name[1:]
			continue
		}
		name = name[len(digits):]
		digits = strings.TrimLeft(digits, "0")
		b.WriteString(strings.Repeat("0", max(0, 10-len(digits))) + digits)
	}
	return b.String()
}
