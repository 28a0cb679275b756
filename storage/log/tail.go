package log

import (
	"context"
	"errors"
	"io"
)

// Tail calls fn with the records from a position on (the zero Position: all) that are on the disk, in
// order, each with the position after it, which is where the next Tail goes on. It ends with fn's first
// error. A record is valid until fn returns. Other goroutines may Append meanwhile; what they append may
// be among the records. Truncate may be called by fn, for records that were read.
//
// A position whose records were removed or are broken is ErrCorrupt. A position after the end has no
// records, and never will have before the end passes it.
func (d *files) Tail(ctx context.Context, from Position, fn func(record []byte, next Position) error) error {
	segments, err := d.segmentsFrom(from)
	if err != nil {
		return err
	}
	for _, s := range segments {
		if s.empty() {
			continue
		}
		if err := d.tailSegment(ctx, s, from, fn); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (d *files) tailSegment(ctx context.Context, s segment, from Position, fn func(record []byte, next Position) error) error {
	name := d.opts.path(s.number, suffixLog)
	f, err := d.opts.FS.Open(name)
	if err != nil {
		return diskError("open", name, err)
	}
	defer f.Close()
	r := newReader(f, s.number, s.end)
	if from.Segment == s.number {
		err = r.skipTo(from.Offset)
	}
	for err == nil {
		if err = ctx.Err(); err != nil {
			return err
		}
		var record []byte
		if _, record, err = r.next(); err == nil {
			if err := fn(record, Position{s.number, r.offset}); err != nil {
				return err
			}
		}
	}
	switch {
	case errors.Is(err, io.EOF) && r.offset == s.end:
		return nil
	case errors.Is(err, errBroken):
		return corrupt(name, r.offset, "broken record")
	}
	return diskError("read", name, err)
}

// skipTo has the reader go on at the offset of a record.
func (r *reader) skipTo(offset int64) error {
	r.offset = offset
	h, _, err := r.at(offset)
	r.group = offset - int64(h.back)
	return err
}

// After returns how many bytes of records, with what is around them, there are from a position on.
func (d *files) After(from Position) (bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.segments {
		switch {
		case s.number == from.Segment:
			bytes += max(0, s.end-max(from.Offset, segmentHeader))
		case s.number > from.Segment:
			bytes += s.end - segmentHeader
		}
	}
	return bytes
}
