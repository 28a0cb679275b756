package persistentqueue

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/log"
)

// A Moment is a time in the life of a store, at which a queue took records. A queue speaks of the series
// of its store: another one, or one of another time, has other series under the same numbers.
type Moment struct {
	Store       uint64 // its name
	Start       uint64 // names the process, or what it has done since
	Number, Tag uint64 // of the generation of its tables
}

const momentBytes = 32

func (m Moment) bytes() []byte {
	b := make([]byte, 0, momentBytes)
	for _, n := range []uint64{m.Store, m.Start, m.Number, m.Tag} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// parseMoment returns the zero Moment for anything else.
func parseMoment(b []byte) (m Moment) {
	if len(b) != momentBytes {
		return m
	}
	for i, to := range []*uint64{&m.Store, &m.Start, &m.Number, &m.Tag} {
		*to = binary.BigEndian.Uint64(b[8*i:])
	}
	return m
}

// An Owner is the store that queues belong to.
type Owner interface {
	// Now returns the present moment. It does not wait.
	Now() Moment
	// Differs tells why what was written at a moment is not the store's; empty: it is.
	Differs(Moment) string
	// Adopts accepts queues of versions that named no stores.
	Adopts() bool
}

// ErrRefused means that a queue was damaged, or is not that of the store. Nothing of it is sent.
var ErrRefused = errors.New("the spool is refused")

// refusedError is an ErrRefused with what to do.
func refusedError(dir string, err any) error {
	return fmt.Errorf(`%w: %v. Put back the store's own, or remove %s: what waits there is then not sent ("tsdbridge store check --fix" puts it aside)`, ErrRefused, err, dir)
}

func logDir(dir string) string   { return filepath.Join(dir, "spool") }
func markPath(dir string) string { return filepath.Join(dir, "spool.mark") }

// identity is whose a queue is.
type identity struct {
	owner   Owner // nil: the tables are other processes' too, and have no name
	log     log.Owner
	adopted bool // it named no store until now
}

// identify finds out whether a queue is the owner's, or gives a new one its identity. It changes nothing.
func identify(dir string, owner Owner) (identity, error) {
	id := identity{owner: owner}
	marked, err := log.ReadMarker(log.OS{}, markPath(dir))
	if err != nil {
		return id, err
	}
	noted := parseMoment(marked.Note)
	switch {
	case !marked.Found || marked.Owner == (log.Owner{}):
		id.adopted = true
		id.log = log.Owner{Store: rand.Uint64() | 1, Number: 1, Tag: rand.Uint64()}
		if owner == nil {
			return id, nil
		}
		id.log.Store = owner.Now().Store
		if !owner.Adopts() && hasSegments(dir) {
			err = fmt.Errorf("%s is missing or empty, so whose the spool is cannot be told", markPath(dir))
		}
	case owner == nil && noted != (Moment{}):
		err = fmt.Errorf("%s: it is that of an embedded store (%016x)", markPath(dir), noted.Store)
	case owner == nil:
		id.log = marked.Owner
	default:
		id.log = marked.Owner
		if what := owner.Differs(noted); what != "" {
			err = fmt.Errorf("%s: %s", markPath(dir), what)
		}
	}
	return id, err
}

func hasSegments(dir string) bool {
	names, err := os.ReadDir(logDir(dir))
	if err != nil {
		return false
	}
	for _, name := range names {
		if strings.HasSuffix(name.Name(), ".log") {
			return true
		}
	}
	return false
}

// logOptions adds to those of the log whose it is.
func (id identity) logOptions(dir string, o log.Options) log.Options {
	o.Dir, o.MarkPath, o.Owner, o.Begun, o.Adopts, o.Cut = logDir(dir), markPath(dir), id.log, !id.adopted, id.adopted, math.MaxUint64
	if id.owner != nil {
		o.Note = func() []byte { return id.owner.Now().bytes() }
	}
	o.Differs = func(of log.Owner) string {
		if of == (log.Owner{}) {
			return "it does not say whose it is, and the rest of the spool does"
		}
		return fmt.Sprintf("it is that of another spool (%016x of store %016x; this one is %016x of store %016x)", of.Tag, of.Store, id.log.Tag, id.log.Store)
	}
	return o
}

// sent is the document of the state: up to where the server has the records.
type sent struct {
	Segment uint64 `json:"segment"`
	Offset  int64  `json:"offset"`
	// Spool names the queue whose positions these are, Moment is that of the owner when the server had the
	// records, both in hexadecimal. Earlier versions wrote neither.
	Spool  string `json:"spool,omitempty"`
	Moment string `json:"moment,omitempty"`
}

// stateAt returns the document of a position.
func (id identity) stateAt(at log.Position) sent {
	doc := sent{Segment: at.Segment, Offset: at.Offset, Spool: fmt.Sprintf("%016x%016x", id.log.Store, id.log.Tag)}
	if id.owner != nil {
		doc.Moment = hex.EncodeToString(id.owner.Now().bytes())
	}
	return doc
}

// holds tells why a state says nothing about the queue; empty: it does.
func (id identity) holds(doc sent) string {
	if doc.Spool == "" && id.adopted {
		return ""
	}
	if want := id.stateAt(log.Position{}).Spool; doc.Spool != want {
		return fmt.Sprintf("it is that of another spool (%q; this one is %q)", doc.Spool, want)
	}
	if id.owner == nil {
		return ""
	}
	moment, _ := hex.DecodeString(doc.Moment)
	return id.owner.Differs(parseMoment(moment))
}

// Check tells what Open would refuse of a queue that no process has open. It changes nothing.
func Check(dir string, owner Owner) error {
	id, err := identify(dir, owner)
	if err == nil {
		err = log.Check(id.logOptions(dir, log.Options{}))
	}
	return err
}

// Dirs returns the directories of the queues below one.
func Dirs(dir string) (list []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		if info, err := os.Stat(logDir(name)); err == nil && info.IsDir() {
			list = append(list, name)
		}
	}
	return list, err
}

// Adopt has a queue name its owner. It is for those of earlier versions.
func Adopt(dir string, owner Owner) error {
	s, err := Open(Options{
		Dir: dir, Owner: owner, HasSpace: func() bool { return false }, CameAt: func([]byte) (int64, error) { return 0, nil }, Now: time.Now,
	})
	if err != nil {
		return err
	}
	return s.Close()
}
