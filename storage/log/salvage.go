package log

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Salvage reads a log that Open or Replay refuses, or any other that no process has open, and
// changes nothing: fn gets every record that can be read, in order, until fn fails. It returns
// descriptions of what is missing or broken; none means that a start reads everything.
func Salvage(ctx context.Context, opts Options, fn func(record []byte) error) (problems []string, err error) {
	opts = opts.withDefaults()
	s := salvage{opts: opts, fn: fn}
	if s.wanted, err = readMark(opts.FS, opts.MarkPath); errors.Is(err, ErrCorrupt) {
		s.problem("%v", err)
	} else if err != nil {
		return nil, err
	}
	numbers := s.numbers()
	if !s.wanted.empty() && (len(numbers) == 0 || numbers[0] > s.wanted.first) {
		s.problem("%s and what follows is missing", s.path(s.wanted.first))
	}
	for i, number := range numbers {
		if err := s.segment(ctx, number, i == len(numbers)-1); err != nil {
			return s.problems, err
		}
	}
	if n := len(numbers); n > 0 && !s.wanted.empty() && numbers[n-1] < s.wanted.end.Segment {
		s.problem("%s is missing", s.path(s.wanted.end.Segment))
	}
	if want := opts.AtLeast; want != (Position{}) && s.before.Compare(want) < 0 && len(s.problems) == 0 {
		s.problem("%s: acknowledged records up to %v are missing, according to the store's own mark", s.path(want.Segment), want)
	}
	return s.problems, nil
}

type salvage struct {
	opts     Options
	fn       func(record []byte) error
	wanted   extent
	before   Position // end of the last segment that was read
	problems []string
}

func (s *salvage) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

func (s *salvage) path(number uint64) string {
	return filepath.Join(s.opts.Dir, fileName(number, suffixLog))
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
	name := s.path(number)
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
	switch _, before, err := parseSegmentHeader(head); {
	case err != nil:
		s.problem("%s at byte 0: %v", name, err)
	case s.before != (Position{}) && before.Segment > s.before.Segment:
		s.problem("%s is missing", s.path(before.Segment))
	case s.before != (Position{}) && before.Segment == s.before.Segment && s.before.Offset < before.Offset:
		s.problem("%s at byte %d: records up to byte %d are missing", s.path(before.Segment), s.before.Offset, before.Offset)
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
