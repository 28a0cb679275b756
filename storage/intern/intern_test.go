package intern_test

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/intern"
)

// A set numbers strings as a map does, whatever their length and their hashes.
func TestSetIsAMap(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		bits := []uint64{0, 1, 1<<63 | 7, ^uint64(0)}[seed%4] // how many bits of the hashes differ
		s := intern.New(maphash.MakeSeed())
		want, list := map[string]uint32{}, []string{}
		for range 5000 {
			key := randomKey(r)
			hash := s.Hash([]byte(key))
			if bits != ^uint64(0) {
				hash &= bits
			}
			number, ok := s.Find([]byte(key), hash)
			if known, has := want[key]; ok != has || ok && number != known {
				t.Fatalf("seed %d: Find(%.40q) = %d, %v; want %d, %v", seed, key, number, ok, known, has)
			}
			if !ok {
				if number = s.Add([]byte(key), hash); int(number) != len(list) {
					t.Fatalf("seed %d: Add is number %d, want %d", seed, number, len(list))
				}
				want[key], list = number, append(list, key)
			}
		}
		if s.Len() != len(list) {
			t.Fatalf("seed %d: %d strings, want %d", seed, s.Len(), len(list))
		}
		for i, key := range list {
			if got := s.String(uint32(i)); got != key || string(s.Bytes(uint32(i))) != key {
				t.Fatalf("seed %d: string %d is %.40q, want %.40q", seed, i, got, key)
			}
		}
	}
}

func randomKey(r *rand.Rand) string {
	switch r.IntN(50) {
	case 0:
		return strings.Repeat("x", r.IntN(2000))
	case 1:
		if r.IntN(100) == 0 {
			return strings.Repeat("y", 200_000+r.IntN(200_000)) // beyond a block
		}
	}
	return fmt.Sprint("key-", r.IntN(2000))
}

// A string that was returned never changes.
func TestStringsNeverChange(t *testing.T) {
	s := intern.New(maphash.MakeSeed())
	var held []string
	for i := range 50_000 {
		key := []byte(fmt.Sprint("a string of some length, number ", i))
		held = append(held, s.String(s.Add(key, s.Hash(key))))
		clear(key)
	}
	for i, h := range held {
		if h != fmt.Sprint("a string of some length, number ", i) {
			t.Fatalf("string %d became %q", i, h)
		}
	}
}

// Small sets need little memory, and large ones little more than their bytes.
func TestSize(t *testing.T) {
	s := intern.New(maphash.MakeSeed())
	if s.Size() != 0 {
		t.Errorf("an empty set has %d bytes", s.Size())
	}
	key := []byte("one")
	s.Add(key, s.Hash(key))
	if s.Size() > 32<<10 {
		t.Errorf("a set of one string has %d bytes", s.Size())
	}
	const n, length = 200_000, 45
	for i := range n {
		key := fmt.Appendf(nil, "%0*d", length, i)
		s.Add(key, s.Hash(key))
	}
	if each := float64(s.Size()) / n; each > length+30 {
		t.Errorf("strings of %d bytes take %.1f each", length, each)
	}
}

func BenchmarkSet(b *testing.B) {
	const n = 1_000_000
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "%045d", uint64(i)*0x9E3779B97F4A7C15)
	}
	full := intern.New(maphash.MakeSeed())
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		s := intern.New(maphash.MakeSeed())
		for i := range b.N {
			if i%n == 0 {
				s = intern.New(maphash.MakeSeed())
			}
			key := keys[i%n]
			hash := s.Hash(key)
			if _, ok := s.Find(key, hash); !ok {
				s.Add(key, hash)
			}
		}
	})
	for _, key := range keys {
		full.Add(key, full.Hash(key))
	}
	b.Run("find", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			key := keys[i*7919%n]
			if _, ok := full.Find(key, full.Hash(key)); !ok {
				b.Fatal("not found")
			}
		}
	})
}
