package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// An Owner is whose log it is: a store, and the moment in its life at which the log was begun. Every
// segment and the mark have it. So files of two stores, and of two logs that one store had one after
// the other, are not taken for one log. The zero Owner is nobody's: a version before owners made it.
type Owner struct {
	Store  uint64 // its name
	Number uint64 // of the moment; later logs of a store have greater ones
	Tag    uint64 // drawn at random: copies of a store that both went on have different ones
}

// String is "store/moment".
func (o Owner) String() string {
	if o == (Owner{}) {
		return "no store"
	}
	return fmt.Sprintf("store %016x, log %d-%016x", o.Store, o.Number, o.Tag)
}

func (o Owner) appendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, o.Store), o.Number), o.Tag)
}

const ownerBytes = 24

func parseOwner(b []byte) Owner {
	return Owner{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
}

// differs describes a file that is another's than the store's that is being opened; empty: it is
// the store's.
func (o Owner) differs(of Owner) string {
	switch {
	case of == o:
		return ""
	case of == (Owner{}):
		return "it does not say whose it is, as files of earlier versions do, or of another store"
	case of.Store != o.Store:
		return fmt.Sprintf("it is that of another store (%v; this one is %v)", of, o)
	case of.Number < o.Number:
		return fmt.Sprintf("it is of another time than the tables: of an older log than theirs, or they are those of a backup (%v; the tables go with %v)", of, o)
	case of.Number > o.Number:
		return fmt.Sprintf("the tables are older than it (%v; the tables go with %v)", of, o)
	}
	return fmt.Sprintf("it is that of a copy of this store that went on by itself (%v; this one is %v)", of, o)
}

// differs is Owner.differs of the log's owner, which may have no log.
func (c *contents) differs(of Owner) string {
	if c.opts.Differs != nil && of != c.opts.Owner {
		return c.opts.Differs(of)
	}
	if o := c.opts.Owner; !c.opts.Begun && of != o && of.Store == o.Store && c.opts.MarkPath != "" {
		return fmt.Sprintf("it is not the log of these tables, which have none: they are older than it, or younger, or those of a backup (%v)", of)
	}
	return c.opts.Owner.differs(of)
}

// ErrMixed is ErrCorrupt of files that belong to another store, or to another time of this one.
var ErrMixed = errors.New("files of different stores or times")

func mixed(file, what string) error {
	return fmt.Errorf("%w: %w: %s: %s", ErrCorrupt, ErrMixed, file, what)
}

// checkOwner compares the owners of the mark and of all segments with the log's. Nothing has been
// changed yet.
func (c *contents) checkOwner(segments []*segment) error {
	if c.opts.MarkPath == "" && c.opts.Owner == (Owner{}) {
		return nil
	}
	if err := c.findOwner(segments); err != nil {
		return err
	}
	if err := c.checkMarkOwner(); err != nil {
		return err
	}
	return c.checkSegmentOwners(segments)
}

func (c *contents) checkSegmentOwners(segments []*segment) error {
	for _, s := range segments {
		if s.owner == (Owner{}) && (c.opts.Adopts || c.opts.MarkPath == "" || s.number < c.wanted.from) {
			continue
		}
		if what := c.differs(s.owner); what != "" {
			return mixed(c.opts.path(s.number, suffixLog), what)
		}
	}
	return nil
}

// findOwner finds the owner of a log for which the caller knows none: that of its mark, or a new
// one.
func (c *contents) findOwner(segments []*segment) error {
	if c.opts.Owner != (Owner{}) {
		return nil
	}
	c.opts.Adopts = true
	if c.opts.Owner = c.wanted.owner; c.opts.Owner != (Owner{}) {
		return nil
	}
	for _, s := range segments {
		switch {
		case s.owner == (Owner{}):
		case c.wanted.found: // the log was ended in order, and its files were not all removed
			c.opts.Owner = s.owner
			return nil
		default:
			return c.noMark()
		}
	}
	c.opts.Owner = Owner{rand.Uint64() | 1, 1, rand.Uint64()}
	return nil
}

// checkMarkOwner wants the mark of a log that was begun to be there, and to be the log's.
func (c *contents) checkMarkOwner() error {
	of := c.wanted.owner
	switch {
	case c.opts.MarkPath == "" || of == c.opts.Owner:
		return nil
	case c.opts.Adopts && (of == (Owner{}) || of.Store == c.opts.Owner.Store):
		return nil
	case !c.opts.Begun && c.wanted.empty():
		return nil // what it was of has been ended; segments are looked at
	case !c.wanted.found:
		return c.noMark()
	}
	return mixed(c.opts.MarkPath, c.differs(of))
}

// errNoMark is the mixture of a log with a mark that is gone.
var errNoMark = errors.New("the mark of the log is missing, so whether acknowledged records are missing too cannot be told")

func (c *contents) noMark() error {
	return fmt.Errorf("%w: %w: %s: %w", ErrCorrupt, ErrMixed, c.opts.MarkPath, errNoMark)
}

// checkCut wants the tables to have what was cut off.
func (c *contents) checkCut() error {
	if !c.opts.Begun || len(c.segments) == 0 {
		return nil
	}
	first := c.segments[0]
	if gone := first.before.Segment; gone > 0 && gone >= c.opts.Cut {
		return mixed(c.opts.path(first.number, suffixLog), fmt.Sprintf(
			"the tables are older than the log: what stood in segments up to %016x is gone, and they have what stood before %016x", gone, c.opts.Cut))
	}
	return nil
}
