package changes

import (
	"math"
	"slices"
)

// A mark tells that points from a time on changed at a moment.
type mark struct {
	moment uint64
	time   int64
}

// marks are in the order of their moments, and of their times: a mark hides those before it that
// have its time or a later one.
type marks []mark

// most is how many marks are kept. Beyond it two become one that tells more than both.
const most = 32

// note adds a mark and reports whether that changed anything.
func (m *marks) note(moment uint64, time int64) bool {
	list := *m
	if n := len(list); n > 0 && list[n-1].moment == moment && list[n-1].time <= time {
		return false
	}
	for n := len(list); n > 0 && list[n-1].time >= time; n-- {
		list = list[:n-1]
	}
	list = append(list, mark{moment, time})
	if len(list) > most {
		list[1].time = list[0].time
		list = slices.Delete(list, 0, 1)
	}
	*m = list
	return true
}

// since returns the first time that changed at a moment or later; math.MaxInt64: none.
func (m marks) since(moment uint64) int64 {
	for _, at := range m {
		if at.moment >= moment {
			return at.time
		}
	}
	return math.MaxInt64
}

// forget removes the marks before a moment.
func (m *marks) forget(moment uint64) {
	*m = slices.DeleteFunc(*m, func(at mark) bool { return at.moment < moment })
}
