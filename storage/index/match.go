package index

import "slices"

// A Condition restricts one tag by UIDs. A series passes when one of its tags has a key of Keys and satisfies the value rule,
// when Absent and it has none of Keys, or when it has a key of Or. The value rule: Values nil allows all,
// else Values[tagv] must be true.
type Condition struct {
	Keys   []string        // tagk UIDs
	Values map[string]bool // tagv UIDs
	Absent bool
	Or     []string // tagk UIDs
}

// Candidates returns, ascending, the series of the metrics (nil: of all) that can satisfy the conditions: a superset of what
// passes, found by postings alone. Every candidate still has to be checked with Pass.
func (x *Index) Candidates(metrics []string, conditions []Condition) []ID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	lists := make([][]ID, 0, len(conditions)+1)
	if metrics != nil {
		postings := make([][]ID, 0, len(metrics))
		for _, metric := range metrics {
			postings = append(postings, x.metrics[metric])
		}
		lists = append(lists, union(postings))
	}
	for i := range conditions {
		if c := &conditions[i]; !c.Absent && c.Values != nil {
			lists = append(lists, union(x.postings(c)))
		}
	}
	// "Has the key at all" narrows little and unites much: only when nothing else narrows.
	for i := range conditions {
		if c := &conditions[i]; len(lists) == 0 && !c.Absent {
			lists = append(lists, union(x.postings(c)))
		}
	}
	if len(lists) == 0 {
		return x.all()
	}
	slices.SortFunc(lists, func(a, b []ID) int { return len(a) - len(b) })
	result := lists[0]
	for _, list := range lists[1:] {
		if len(result) == 0 {
			break
		}
		result = intersect(result, list)
	}
	return slices.Clone(result)
}

func (x *Index) all() []ID {
	ids := make([]ID, len(x.tsuids))
	for i := range ids {
		ids[i] = ID(i)
	}
	return ids
}

// postings collects the lists of the series that have an allowed pair or a key of Or.
func (x *Index) postings(c *Condition) (lists [][]ID) {
	for _, key := range c.Keys {
		values := x.tags[key]
		if c.Values == nil || len(values) < len(c.Values) {
			for value, list := range values {
				if c.Values == nil || c.Values[value] {
					lists = append(lists, list)
				}
			}
			continue
		}
		for value, allowed := range c.Values {
			if list := values[value]; allowed && list != nil {
				lists = append(lists, list)
			}
		}
	}
	for _, key := range c.Or {
		for _, list := range x.tags[key] {
			lists = append(lists, list)
		}
	}
	return lists
}

// Pass keeps the series that satisfy all conditions, in place.
func (x *Index) Pass(ids []ID, conditions []Condition) []ID {
	if len(conditions) == 0 {
		return ids
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.DeleteFunc(ids, func(id ID) bool { return !x.passes(x.tsuids[id], conditions) })
}

func (x *Index) passes(tsuid string, conditions []Condition) bool {
	for i := range conditions {
		if !x.satisfies(tsuid, &conditions[i]) {
			return false
		}
	}
	return true
}

func (x *Index) satisfies(tsuid string, c *Condition) bool {
	absent := true
	pair, keyWidth := x.layout.PairWidth(), x.layout.TagkWidth
	for tags := tsuid[x.layout.MetricWidth:]; len(tags) >= pair; tags = tags[pair:] {
		key, value := tags[:keyWidth], tags[keyWidth:pair]
		if slices.Contains(c.Or, key) {
			return true
		}
		if slices.Contains(c.Keys, key) {
			absent = false
			if c.Values == nil || c.Values[value] {
				return true
			}
		}
	}
	return absent && c.Absent
}

// ValuesOf returns the distinct values (tagv UIDs) that the series have under any of the keys.
func (x *Index) ValuesOf(ids []ID, keys []string) map[string]bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	values := map[string]bool{}
	pair, keyWidth := x.layout.PairWidth(), x.layout.TagkWidth
	for _, id := range ids {
		for tags := x.tsuids[id][x.layout.MetricWidth:]; len(tags) >= pair; tags = tags[pair:] {
			if slices.Contains(keys, tags[:keyWidth]) {
				values[tags[keyWidth:pair]] = true
			}
		}
	}
	return values
}

// union merges ascending lists into one without repetitions. With one list it returns that list itself.
func union(lists [][]ID) []ID {
	switch len(lists) {
	case 0:
		return nil
	case 1:
		return lists[0]
	}
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	merged := make([]ID, 0, n)
	for _, list := range lists {
		merged = append(merged, list...)
	}
	slices.Sort(merged)
	return slices.Compact(merged)
}

// intersect returns the common elements of two ascending lists; a is the shorter one.
func intersect(a, b []ID) []ID {
	common := make([]ID, 0, len(a))
	for _, id := range a {
		i, ok := slices.BinarySearch(b, id)
		if ok {
			common = append(common, id)
		}
		b = b[i:]
	}
	return common
}
