package log

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Replay calls fn with every record from a position on (the zero Position: all), in order, and ends
// with fn's first error. A record is valid until fn returns. Replay is called between Open and the
// first Append or Truncate.
//
// A position before the oldest record that is left is ErrCorrupt: something was removed without
// Truncate. A position after the end means that the files were removed or are older than what the
// caller knows; then there is nothing to replay, and later records get positions after it.
func (l *Log) Replay(ctx context.Context, from Position, fn func(at Position, record []byte) error) error {
	l.skipTo(from)
	segments, err := l.segmentsFrom(from)
	if err != nil {
		return err
	}
	for _, s := range segments {
		if err := l.replaySegment(ctx, s, from, fn); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// segmentsFrom returns what can be read of the segments now that have records after a position, which must not be
// before the first that is left.
func (d *files) segmentsFrom(from Position) (segments []segment, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, s := range d.segments {
		if i == 0 && from != (Position{}) && from.Compare(s.before) < 0 {
			return nil, corrupt(d.opts.path(s.before.Segment, suffixLog), s.before.Offset, fmt.Sprintf("records from %v on are missing", from))
		}
		if s.endPosition().Compare(from) > 0 {
			segments = append(segments, segment{number: s.number, before: s.before, end: s.end})
		}
	}
	return segments, nil
}

// skipTo makes all later positions larger than one that the caller has seen.
func (l *Log) skipTo(from Position) {
	<-l.commits.turn
	defer func() { l.commits.turn <- struct{}{} }()
	l.mu.Lock()
	defer l.mu.Unlock()
	if from.Compare(l.end) <= 0 {
		return
	}
	l.opts.Logger.Warn("log ends before the mark: its files were removed or are old; points that were only in it are lost, see docs/durability.md", "end", l.end, "mark", from)
	l.end = from
	l.next = max(l.next, from.Segment+1)
}

func (d *files) replaySegment(ctx context.Context, s segment, from Position, fn func(Position, []byte) error) error {
	name := d.opts.path(s.number, suffixLog)
	f, err := d.opts.FS.Open(name)
	if err != nil {
		return diskError("open", name, err)
	}
	defer f.Close()
	r := newReader(f, s.number, s.end)
	for {
		offset, record, err := r.next()
		switch {
		case errors.Is(err, io.EOF) && r.offset == s.end:
			return nil
		case errors.Is(err, errBroken):
			return corrupt(name, r.offset, "broken record")
		case err != nil:
			return diskError("read", name, err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		at := Position{s.number, offset}
		if at.Compare(from) < 0 {
			continue
		}
		if err := fn(at, record); err != nil {
			return err
		}
	}
}
