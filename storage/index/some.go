package index

// A Some is a set of series by their IDs.
type Some struct {
	bits []uint64
	size int
}

// NewSome returns the series of the first n IDs that pass, those of removed series included.
func NewSome(n int, passes func(ID) bool) *Some {
	s := &Some{bits: make([]uint64, (n+63)/64)}
	for id := range n {
		if passes(ID(id)) {
			s.bits[id/64] |= 1 << (id % 64)
			s.size++
		}
	}
	return s
}

// Size returns how many series these are.
func (s *Some) Size() int { return s.size }

// Each calls see for each series, ascending, while it returns true.
func (s *Some) Each(see func(ID) bool) {
	for at, word := range s.bits {
		for bit := 0; word != 0; bit, word = bit+1, word>>1 {
			if word&1 != 0 && !see(ID(at*64+bit)) {
				return
			}
		}
	}
}

// count returns how many of a list are in the set.
func (s *Some) count(ids []ID) int {
	n := 0
	for _, id := range ids {
		if at := int(id) / 64; at < len(s.bits) && s.bits[at]&(1<<(id%64)) != 0 {
			n++
		}
	}
	return n
}

// countAt is count of the series at a place.
func (s *Some) countAt(p *postings, at place) int {
	if at&placeList != 0 {
		return s.count(p.lists[at&^placeList])
	}
	if i := int(at) / 64; i < len(s.bits) && s.bits[i]&(1<<(at%64)) != 0 {
		return 1
	}
	return 0
}

// Shares is how many series of a set have each metric, tag key and tag, each list descending.
type Shares struct{ ByMetric, ByKey, ByTag []Count }

// fewSeries is how many series are counted one by one: a series takes about as long as some lists.
const fewSeries = 1 << 16

// SharesOf counts; each list has at most limit entries. Of many series it goes over all lists of series, while no series
// can be added.
func (x *Index) SharesOf(s *Some, limit int) Shares {
	if s.size <= fewSeries {
		return x.sharesOfFew(s, limit)
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.sharesOfMany(s, limit)
}

// sharesOfFew counts series one by one.
func (x *Index) sharesOfFew(s *Some, limit int) Shares {
	l := x.layout
	metrics, keys, tags := map[uidNumber]int{}, map[uidNumber]int{}, map[[2]uidNumber]int{}
	s.Each(func(id ID) bool {
		x.mu.RLock()
		tsuid := x.tsuids.Bytes(uint32(id))
		_, removed := x.removed[id]
		x.mu.RUnlock()
		if removed {
			return true
		}
		metrics[numberOf(tsuid[:l.MetricWidth])]++
		for pairs := tsuid[l.MetricWidth:]; len(pairs) >= l.PairWidth(); pairs = pairs[l.PairWidth():] {
			key := numberOf(pairs[:l.TagkWidth])
			keys[key]++
			tags[[2]uidNumber{key, numberOf(pairs[l.TagkWidth:l.PairWidth()])}]++
		}
		return true
	})
	ofMetrics, ofKeys, ofTags := top{limit: limit}, top{limit: limit}, top{limit: limit}
	for metric, n := range metrics {
		ofMetrics.add(uidCount{key: metric, count: n})
	}
	for key, n := range keys {
		ofKeys.add(uidCount{key: key, count: n})
	}
	for tag, n := range tags {
		ofTags.add(uidCount{key: tag[0], value: tag[1], count: n})
	}
	return Shares{ofMetrics.counts(l.MetricWidth, 0), ofKeys.counts(l.TagkWidth, 0), ofTags.counts(l.TagkWidth, l.TagvWidth)}
}

// sharesOfMany counts by lists. It needs mu.
func (v *inverted) sharesOfMany(s *Some, limit int) Shares {
	metrics, keys, tags := top{limit: limit}, top{limit: limit}, top{limit: limit}
	add := func(to *top, c uidCount) {
		if c.count > 0 {
			to.add(c)
		}
	}
	for metric, at := range v.metrics.places {
		add(&metrics, uidCount{key: metric, count: s.countAt(&v.metrics, at)})
	}
	for key, values := range v.tags {
		all := 0
		for value, at := range values.places {
			n := s.countAt(values, at)
			add(&tags, uidCount{key: key, value: value, count: n})
			all += n
		}
		add(&keys, uidCount{key: key, count: all})
	}
	l := v.layout
	return Shares{metrics.counts(l.MetricWidth, 0), keys.counts(l.TagkWidth, 0), tags.counts(l.TagkWidth, l.TagvWidth)}
}
