package index

import "slices"

// A Condition restricts one tag by UIDs. A series passes when one of its tags has a key of Keys and
// satisfies the value rule, when Absent and it has none of Keys, or when it has a key of Or. The
// value rule: Values nil allows all, else Values[tagv] must be true.
type Condition struct {
	Keys   []string        // tagk UIDs
	Values map[string]bool // tagv UIDs
	Absent bool
	Or     []string // tagk UIDs
}

// Candidates returns, ascending, the series of the metrics (nil: of all) that can satisfy the
// conditions: a superset of what passes, found by postings alone. Every candidate still has to be
// checked with Pass.
func (x *Index) Candidates(metrics []string, conditions []Condition) []ID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	sets := make([]set, 0, len(conditions)+1)
	if metrics != nil {
		s := newSet(x.metricPostings(metrics))
		s.metrics = true
		sets = append(sets, s)
	}
	for i := range conditions {
		if c := &conditions[i]; !c.Absent && c.Values != nil {
			sets = append(sets, newSet(x.postings(c)))
		}
	}
	// "Has the key at all" narrows little and unites much: only when nothing else narrows.
	for i := range conditions {
		if c := &conditions[i]; len(sets) == 0 && !c.Absent {
			sets = append(sets, newSet(x.postings(c)))
		}
	}
	if len(sets) == 0 {
		return idsBut(x.tsuids.Len(), x.removed)
	}
	slices.SortFunc(sets, func(a, b set) int { return a.size - b.size })
	result := union(sets[0].lists)
	for _, s := range sets[1:] {
		switch {
		case len(s.lists) == 1:
			result = intersect(result, s.lists[0])
		// Otherwise Pass, which does not check metrics, is cheaper than uniting.
		case s.metrics || s.size <= passCost*len(result):
			result = intersect(result, union(s.lists))
		}
	}
	return slices.Clone(result)
}

// passCost is what it costs to check a series with Pass, in numbers of united lists.
const passCost = 4

// set is the series of some lists.
type set struct {
	lists [][]ID
	size  int // of all lists together
	// metrics means that no later check covers whether a series is among them.
	metrics bool
}

func newSet(lists [][]ID) set {
	s := set{lists: lists}
	for _, list := range lists {
		s.size += len(list)
	}
	return s
}

// idsBut returns the first n IDs without those that were removed.
func idsBut(n int, removed map[ID]struct{}) []ID {
	ids := make([]ID, 0, n-len(removed))
	for id := range ID(n) {
		if _, removed := removed[id]; !removed {
			ids = append(ids, id)
		}
	}
	return ids
}

func (v *inverted) metricPostings(metrics []string) [][]ID {
	lists := make([][]ID, 0, len(metrics))
	for _, metric := range metrics {
		if len(metric) == v.layout.MetricWidth {
			lists = append(lists, v.metrics.get(numberOf(metric)))
		}
	}
	return lists
}

// postings collects the lists of the series that have an allowed pair or a key of Or.
func (v *inverted) postings(c *Condition) (lists [][]ID) {
	rule := v.valuesOf(c)
	for _, key := range c.Keys {
		values := v.values(key)
		switch {
		case values == nil:
		case !rule.any && len(rule.values) <= len(values.places):
			for value := range rule.values {
				if list := values.get(value); list != nil {
					lists = append(lists, list)
				}
			}
		default:
			for value, at := range values.places {
				if rule.allows(value) {
					lists = append(lists, values.at(at))
				}
			}
		}
	}
	for _, key := range c.Or {
		if values := v.values(key); values != nil {
			for _, at := range values.places {
				lists = append(lists, values.at(at))
			}
		}
	}
	return lists
}

// valueRule is the rule of a condition's values on numbers.
type valueRule struct {
	any    bool
	values map[uidNumber]struct{}
}

func (r *valueRule) allows(value uidNumber) bool {
	if r.any {
		return true
	}
	_, ok := r.values[value]
	return ok
}

func (v *inverted) valuesOf(c *Condition) valueRule {
	r := valueRule{any: c.Values == nil}
	if r.any {
		return r
	}
	r.values = make(map[uidNumber]struct{}, len(c.Values))
	for value, allowed := range c.Values {
		if allowed && len(value) == v.layout.TagvWidth {
			r.values[numberOf(value)] = struct{}{}
		}
	}
	return r
}

// Pass keeps the series that satisfy all conditions, in place.
func (x *Index) Pass(ids []ID, conditions []Condition) []ID {
	if len(conditions) == 0 || len(ids) == 0 {
		return ids
	}
	checks := x.checks(conditions)
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.DeleteFunc(ids, func(id ID) bool { return !x.passes(x.tsuids.Bytes(uint32(id)), checks) })
}

// check is a condition on numbers.
type check struct {
	keys, or []uidNumber
	values   valueRule
	absent   bool
}

func (v *inverted) checks(conditions []Condition) []check {
	checks := make([]check, len(conditions))
	for i := range conditions {
		c := &conditions[i]
		checks[i] = check{keys: v.keyNumbers(c.Keys), or: v.keyNumbers(c.Or), values: v.valuesOf(c), absent: c.Absent}
	}
	return checks
}

// keyNumbers are tagk UIDs as numbers; no series has one of another width.
func (v *inverted) keyNumbers(keys []string) []uidNumber {
	numbers := make([]uidNumber, 0, len(keys))
	for _, key := range keys {
		if len(key) == v.layout.TagkWidth {
			numbers = append(numbers, numberOf(key))
		}
	}
	return numbers
}

func (v *inverted) passes(tsuid []byte, checks []check) bool {
	for i := range checks {
		if !v.satisfies(tsuid, &checks[i]) {
			return false
		}
	}
	return true
}

func (v *inverted) satisfies(tsuid []byte, c *check) bool {
	absent := true
	pair, keyWidth := v.layout.PairWidth(), v.layout.TagkWidth
	for tags := tsuid[v.layout.MetricWidth:]; len(tags) >= pair; tags = tags[pair:] {
		key := numberOf(tags[:keyWidth])
		if slices.Contains(c.or, key) {
			return true
		}
		if slices.Contains(c.keys, key) {
			absent = false
			if c.values.allows(numberOf(tags[keyWidth:pair])) {
				return true
			}
		}
	}
	return absent && c.absent
}

// ValuesOf returns the distinct values (tagv UIDs) that the series have under any of the keys.
func (x *Index) ValuesOf(ids []ID, keys []string) map[string]bool {
	numbers, found := x.keyNumbers(keys), map[uidNumber]struct{}{}
	x.mu.RLock()
	defer x.mu.RUnlock()
	pair, keyWidth := x.layout.PairWidth(), x.layout.TagkWidth
	last := uidNumber(0) // neighbours often share their values; no UID is 0
	for _, id := range ids {
		for tags := x.tsuids.Bytes(uint32(id))[x.layout.MetricWidth:]; len(tags) >= pair; tags = tags[pair:] {
			if !slices.Contains(numbers, numberOf(tags[:keyWidth])) {
				continue
			}
			if value := numberOf(tags[keyWidth:pair]); value != last || value == 0 {
				found[value] = struct{}{}
				last = value
			}
		}
	}
	values := make(map[string]bool, len(found))
	for _, uid := range uidsOf(found, x.layout.TagvWidth) {
		values[uid] = true
	}
	return values
}

// PossibleValues returns values (tagv UIDs) of the keys, all those that the series have among them:
// where a key has few values they are all of them, which needs no look at the series.
func (x *Index) PossibleValues(ids []ID, keys []string) []string {
	n := 0
	x.mu.RLock()
	for _, key := range keys {
		if values := x.values(key); values != nil {
			n += len(values.places)
		}
	}
	x.mu.RUnlock()
	found := map[string]bool{}
	if n <= len(ids)/valueCost {
		for _, key := range keys {
			for _, value := range x.TagValues(key, nil) {
				found[value] = true
			}
		}
	} else {
		found = x.ValuesOf(ids, keys)
	}
	values := make([]string, 0, len(found))
	for value := range found {
		values = append(values, value)
	}
	slices.Sort(values)
	return values
}

// valueCost is how many series are looked at in the time that a value takes: its name is looked up
// and matched.
const valueCost = 8

// union merges ascending lists into one without repetitions. With one list it returns that list
// itself.
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

// intersect returns the common elements of two ascending lists.
func intersect(a, b []ID) []ID {
	if len(a) > len(b) {
		a, b = b, a
	}
	common := make([]ID, 0, len(a))
	for _, id := range a {
		i, ok := gallop(b, id)
		if ok {
			common = append(common, id)
		}
		b = b[i:]
	}
	return common
}

// gallop is slices.BinarySearch for elements that mostly are near the beginning.
func gallop(list []ID, id ID) (int, bool) {
	step := 1
	for step < len(list) && list[step] < id {
		step *= 2
	}
	from := step / 2
	i, ok := slices.BinarySearch(list[from:min(step+1, len(list))], id)
	return from + i, ok
}
