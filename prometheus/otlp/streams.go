package otlp

import (
	"hash/maphash"

	"github.com/tsdbridge/tsdbridge/storage"
)

// streams tell deltas that are sent again from those of other streams of the request that have the same
// labels and times: two scopes may have a metric of one name. The zero value is empty.
type streams struct {
	seed maphash.Seed
	all  map[instant]map[uint64]struct{} // hashes of keys; nil: nobody has asked yet
}

// An instant is a time of a series, in nanoseconds.
type instant struct {
	ref   storage.Ref
	nanos int64
}

// beside reports whether deltas of the request with the labels and the time of a point were added, and
// none of its own stream.
func (s *streams) beside(j *job, p *point) bool {
	if s.all == nil {
		s.seed, s.all = maphash.MakeSeed(), map[instant]map[uint64]struct{}{}
		for i := range j.points {
			if q := &j.points[i]; q.added {
				s.added(j, q)
			}
		}
	}
	others := s.all[j.instant(p)]
	_, own := others[s.stream(j, p)]
	return len(others) > 0 && !own
}

// added notes that a delta was added.
func (s *streams) added(j *job, p *point) {
	if s.all == nil {
		return
	}
	at := j.instant(p)
	if s.all[at] == nil {
		s.all[at] = map[uint64]struct{}{}
	}
	s.all[at][s.stream(j, p)] = struct{}{}
}

// stream returns a hash of what names the stream of a point: its metric with scope and resource, and its
// attributes.
func (s *streams) stream(j *job, p *point) uint64 {
	return maphash.Bytes(s.seed, j.keys[p.key.from:p.key.to])
}

func (j *known) instant(p *point) instant {
	return instant{j.refs[p.refs.from+j.leader(p)], p.nanos}
}
