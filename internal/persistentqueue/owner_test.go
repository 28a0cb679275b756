package persistentqueue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/log"
)

// aStore is an Owner whose moments are numbered. forked means that it is a copy of store 7 that went on by itself from
// moment 3 on.
type aStore struct {
	name, now      uint64
	forked, adopts bool
}

func (s *aStore) tag(number uint64) uint64 {
	if s.forked && number > 3 {
		return number + 1000
	}
	return number
}

func (s *aStore) Now() Moment {
	return Moment{Store: s.name, Start: s.tag(s.now), Number: s.now, Tag: s.tag(s.now)}
}
func (s *aStore) Adopts() bool { return s.adopts }

func (s *aStore) Differs(m Moment) string {
	switch {
	case m.Store != s.name:
		return "another store"
	case m.Number > s.now:
		return "the tables are older"
	case m.Tag != s.tag(m.Number):
		return "a copy that went on"
	}
	return ""
}

// spoolParts are the files of a spool that can be put back apart from each other.
var spoolParts = []string{"spool", "spool.mark", "sent.json"}

// moment copies a spool as a kill leaves it.
func (b *bench) moment() string {
	b.t.Helper()
	to := filepath.Join(b.t.TempDir(), "moment")
	if err := os.CopyFS(to, os.DirFS(b.o.Dir)); err != nil {
		b.t.Fatal(err)
	}
	return to
}

// ownedBench is a spool of a store, of which the first of two records was sent.
func ownedBench(t *testing.T, s *aStore, from int64) *bench {
	t.Helper()
	b := openBenchOf(t, s)
	for n := range int64(2) {
		b.Keep([][]byte{record(from+n, 0)}, (from+n)*second, 1)
	}
	_, first := b.waits()
	if _, err := b.Confirm(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMixes puts files of spools of other stores, of copies and of other times among those of a spool: nothing of another
// store is sent, and nothing that waits is left out.
func TestMixes(t *testing.T) {
	own := &aStore{name: 7, now: 2}
	b := ownedBench(t, own, 10) // 11 waits
	older := b.moment()
	b.reopen() // its next file
	own.now = 5
	b.Keep([][]byte{record(12, 0)}, 12*second, 1) // 11 and 12 wait
	newer := b.moment()
	sources := map[string]string{
		"other store": ownedBench(t, &aStore{name: 8, now: 2}, 20).moment(),
		"other spool": ownedBench(t, &aStore{name: 7, now: 2}, 30).moment(),
		"copy":        ownedBench(t, &aStore{name: 7, now: 5, forked: true}, 40).moment(),
		"no store":    ownedBench(t, nil, 50).moment(),
		"older":       older,
		"missing":     t.TempDir(),
	}
	for name, source := range sources {
		for mask := 1; mask < 1<<len(spoolParts); mask++ {
			b.o.Dir = filepath.Join(t.TempDir(), "mixed")
			what := name + ":"
			for i, part := range spoolParts {
				from := newer
				if mask>>i&1 == 1 {
					from, what = source, what+" "+part
				}
				copyPart(t, filepath.Join(from, part), filepath.Join(b.o.Dir, part))
			}
			checkMix(t, b, own, what)
		}
	}
	for _, moment := range []uint64{2, 3} { // the tables are older than the spool
		own.now = moment
		b.o.Dir = newer
		if s, err := Open(b.o); !errors.Is(err, ErrRefused) {
			t.Errorf("at %d: %v", moment, errors.Join(err, s.Close()))
		}
	}
}

func copyPart(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil && info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else if err == nil {
		var text []byte
		if text, err = os.ReadFile(from); err == nil {
			if err = os.MkdirAll(filepath.Dir(to), 0o750); err == nil {
				err = os.WriteFile(to, text, 0o600)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkMix wants a mixture to be refused by name, or to send what waits and nothing of others. What is in no file cannot
// be missed: an older spool has 11 alone. A spool of another destination of the store is whole.
func checkMix(t *testing.T, b *bench, own *aStore, what string) {
	t.Helper()
	checked := Check(b.o.Dir, own)
	s, err := Open(b.o)
	if (err != nil) != (checked != nil) {
		t.Errorf("%s: Open: %v\nCheck: %v", what, err, checked)
	}
	if err != nil {
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), b.o.Dir) {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	b.Queue = s
	came, _ := b.waits()
	switch got := fmt.Sprint(came); {
	case strings.HasPrefix(what, "missing: spool spool.mark") && got == "[]":
	case what == "older: spool spool.mark sent.json" && got == "[11]":
	case what == "older: spool spool.mark" && got == "[11]":
	case what == "other spool: spool spool.mark" && got == "[30 31]", what == "other spool: spool spool.mark sent.json" && got == "[31]":
	case got == "[11 12]" || got == "[10 11 12]":
	default:
		t.Errorf("%s: sends %s", what, got)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAdoption: a spool of an earlier version goes on where it was, once. Later, one that names no store is another's.
func TestAdoption(t *testing.T) {
	own := &aStore{name: 7, now: 2, adopts: true}
	b := openBenchOf(t, own)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	early := func(dir string) {
		l, err := log.Open(log.Options{Dir: filepath.Join(dir, "spool"), SegmentBytes: 1 << 20, MaxBytes: 4 << 20, MaxRecordBytes: 1 << 19})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), record(10, 0)); err != nil {
			t.Fatal(err)
		}
		end := l.End()
		_, err = l.Append(t.Context(), record(11, 0))
		text := fmt.Sprintf(`{"segment":%d,"offset":%d}`, end.Segment, end.Offset)
		if err := errors.Join(err, l.Close(), os.WriteFile(filepath.Join(dir, "sent.json"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	b.o.Dir = t.TempDir()
	early(b.o.Dir)
	if err := Adopt(b.o.Dir, own); err != nil {
		t.Fatal(err)
	}
	own.adopts = false
	b.open()
	if came, _ := b.waits(); len(came) != 1 || came[0] != 11 || b.Again() != "" {
		t.Errorf("%v wait, %s", came, b.Again())
	}
	b.Keep([][]byte{record(12, 0)}, 12*second, 1)
	b.reopen()
	if came, _ := b.waits(); len(came) != 2 || came[1] != 12 {
		t.Errorf("%v wait", came)
	}
	b.o.Dir = t.TempDir()
	early(b.o.Dir)
	if s, err := Open(b.o); !errors.Is(err, ErrRefused) {
		t.Error(err, s.Close())
	}
}

// TestStaleState: a state that is beyond the end of an older spool is replaced before more is kept, or records with the
// positions that it names would be left out after a kill.
func TestStaleState(t *testing.T) {
	b := ownedBench(t, &aStore{name: 7, now: 2}, 10)
	older := b.moment()
	if _, err := b.Confirm(t.Context(), b.log.End()); err != nil {
		t.Fatal(err)
	}
	for n := int64(20); n < 25; n++ {
		b.Keep([][]byte{record(n, 0)}, n*second, 1)
	}
	if _, err := b.Confirm(t.Context(), b.log.End()); err != nil {
		t.Fatal(err)
	}
	copyPart(t, filepath.Join(b.o.Dir, "sent.json"), filepath.Join(older, "sent.json"))
	b.o.Dir = older
	b.open()
	if b.Again() == "" {
		t.Error("what is sent again is not told")
	}
	for n := int64(30); n < 50; n++ {
		b.Keep([][]byte{record(n, 0)}, n*second, 1)
	}
	b.o.Dir = b.moment() // killed
	b.open()
	if came, _ := b.waits(); len(came) != 22 {
		t.Errorf("%v wait", came)
	}
}
