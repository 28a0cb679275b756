package mark

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(p, m.b[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if need := int(at) + len(p); need > len(m.b) {
		m.b = append(m.b, make([]byte, need-len(m.b))...)
	}
	return copy(m.b[at:], p), nil
}

func (m *memory) SyncData() error { return nil }
func (m *memory) Close() error    { return nil }

// TestMark puts facts of all lengths; each is read, and after damage to the newest the one before
// it.
func TestMark(t *testing.T) {
	file := &memory{}
	if _, found, err := Read(file); found || err != nil {
		t.Fatalf("empty file: %v %v", found, err)
	}
	last := ""
	for n := range 600 {
		m, err := Keep(file) // opened again each time: numbers continue
		if err != nil {
			t.Fatal(err)
		}
		fact := strings.Repeat("x", n)
		if err := m.PutSynced([]byte(fact)); (err != nil) != (n > MaxFact) {
			t.Fatalf("fact of %d bytes: %v", n, err)
		}
		if n > MaxFact {
			continue
		}
		if got, found, err := Read(file); string(got) != fact || !found || err != nil {
			t.Fatalf("fact of %d bytes: read %d %v %v", n, len(got), found, err)
		}
		torn := &memory{append([]byte(nil), file.b...)}
		torn.b[(1+n%2)*place+header/2] ^= 1
		got, found, err := Read(torn)
		if n > 0 && (string(got) != last || !found || err != nil) {
			t.Fatalf("torn write of %d bytes: %d %v %v, want the one before", n, len(got), found, err)
		}
		if n == 0 && !errors.Is(err, ErrDamaged) {
			t.Fatalf("damaged file: %v, want ErrDamaged", err)
		}
		last = fact
	}
}

// FuzzRead: whatever a file contains, reading fails with ErrDamaged or not at all.
func FuzzRead(f *testing.F) {
	file := &memory{}
	m, _ := Keep(file)
	for _, fact := range []string{"a", "bc"} {
		if err := m.Put([]byte(fact)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(file.b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if fact, _, err := Read(&memory{b}); err != nil && !errors.Is(err, ErrDamaged) || len(fact) > MaxFact {
			t.Errorf("%d bytes, %v", len(fact), err)
		}
	})
}
