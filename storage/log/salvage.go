package log

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Salvage reads a log that Open or Replay refuses, or any other that no process has open, and
// changes nothing: fn gets every record that can be read, in order, until fn fails.
func Salvage(ctx context.Context, opts Options, fn func(record []byte) error) (found Found, err error) {
	opts = opts.withDefaults()
	s := salvage{opts: opts, fn: fn}
	if s.wanted, err = readMark(opts.FS, opts.MarkPath); errors.Is(err, ErrCorrupt) {
		s.problem("%v", err)
	} else if err != nil {
		return Found{}, err
	}
	numbers := s.numbers()
	s.checkOwners(numbers)
	if !s.wanted.empty() && (len(numbers) == 0 || numbers[0] > s.wanted.first) {
		s.problem("%s and what follows is missing", s.opts.path(s.wanted.first, suffixLog))
	}
	for i, number := range numbers {
		if err := s.segment(ctx, number, i == len(numbers)-1); err != nil {
			return s.found, err
		}
	}
	if n := len(numbers); n > 0 && !s.wanted.empty() && numbers[n-1] < s.wanted.end.Segment {
		s.problem("%s is missing", s.opts.path(s.wanted.end.Segment, suffixLog))
	}
	if want := opts.AtLeast; want != (Position{}) && s.before.Compare(want) < 0 && len(s.found.Problems) == 0 {
		s.problem("%s: acknowledged records up to %v are missing, according to the store's own mark", s.opts.path(want.Segment, suffixLog), want)
	}
	return s.found, nil
}

// Found is what Salvage finds wrong.
type Found struct {
	Problems []string // descriptions of what is missing, broken or another's; none: a start reads everything
	Owner    Owner    // of the last segment
	Mixed    bool     // segments have other owners than the log should have
}

// checkOwners compares the owners of the mark and of the segments with the log's, as Open does.
func (s *salvage) checkOwners(numbers []uint64) {
	c := contents{opts: s.opts, wanted: s.wanted}
	var segments []*segment
	for _, number := range numbers {
		if segment, err := c.inspect(number); err == nil { // what is broken is reported with the records
			segments, s.found.Owner = append(segments, segment), segment.owner
		}
	}
	if s.opts.Owner == (Owner{}) {
		return
	}
	if err := c.checkMarkOwner(); err != nil {
		s.problem("%v", err)
	}
	if err := c.checkSegmentOwners(segments); err != nil {
		s.found.Mixed = true
		s.problem("%v", err)
		return
	}
	c.segments = segments
	if err := c.checkCut(); err != nil {
		s.problem("%v", err)
	}
}

type salvage struct {
	opts   Options
	fn     func(record []byte) error
	wanted extent
	before Position // end of the last segment that was read
	found  Found
}

func (s *salvage) problem(format string, args ...any) {
	s.found.Problems = append(s.found.Problems, fmt.Sprintf(format, args...))
}

// numbers are those of the segments that are there, ascending.
func (s *salvage) numbers() (list []uint64) {
	names, err := s.opts.FS.List(s.opts.Dir)
	if err != nil {
		return nil // there is no directory; the mark reports whether that is a problem
	}
	for _, name := range names {
		if number, suffix, ok := parseFileName(name); ok && suffix == suffixLog {
			list = append(list, number)
		}
	}
	slices.Sort(list)
	return list
}

// segment reads one segment.
func (s *salvage) segment(ctx context.Context, number uint64, last bool) error {
	name := s.opts.path(number, suffixLog)
	f, err := s.opts.FS.Open(name)
	if err != nil {
		return diskError("open", name, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return diskError("read", name, err)
	}
	head := make([]byte, min(size, segmentHeader))
	if _, err := f.ReadAt(head, 0); err != nil {
		return diskError("read", name, err)
	}
	header, err := parseSegmentHeader(head)
	if err != nil {
		header = &segment{}
	}
	switch before := header.before; {
	case err != nil:
		s.problem("%s at byte 0: %v", name, err)
	case s.before != (Position{}) && before.Segment > s.before.Segment:
		s.problem("%s is missing", s.opts.path(before.Segment, suffixLog))
	case s.before != (Position{}) && before.Segment == s.before.Segment && s.before.Offset < before.Offset:
		s.problem("%s at byte %d: records up to byte %d are missing", s.opts.path(before.Segment, suffixLog), s.before.Offset, before.Offset)
	}
	if size < segmentHeader {
		return nil
	}
	end, err := s.records(ctx, name, newReader(f, number, size))
	s.before = Position{number, end}
	if want := s.wanted.end; last && number == want.Segment && end < want.Offset {
		s.problem("%s at byte %d: acknowledged records up to byte %d are missing or broken", name, end, want.Offset)
	}
	return err
}

// records reads those of a segment, over damage, and returns where the last ends.
func (s *salvage) records(ctx context.Context, name string, r *reader) (end int64, err error) {
	for r.offset < r.limit && ctx.Err() == nil {
		_, record, err := r.next()
		if err == nil {
			if s.fn != nil {
				if err := s.fn(record); err != nil {
					return r.offset, err
				}
			}
			continue
		}
		if !errors.Is(err, errBroken) {
			return r.offset, diskError("read", name, err)
		}
		later, err := r.witness(r.offset)
		if err != nil || later == 0 {
			return r.offset, err
		}
		s.problem("%s at byte %d: broken up to byte %d", name, r.offset, later)
		h, _, err := r.at(later)
		if err != nil {
			return r.offset, err
		}
		r.offset, r.group = later, later-int64(h.back)
	}
	return r.offset, ctx.Err()
}
