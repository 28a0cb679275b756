package kv

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSkipMissesNothing walks random tables by Skip and compares with a check of every key. Keys
// consist of a few different bytes, so that they share prefixes, end in ff and are neighbours.
func TestSkipMissesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	skipped := 0
	for range 3000 {
		keys := randomKeys(rng, rng.IntN(60), 5)
		m := randomMatch(rng, keys)
		var want, got [][]byte
		for _, key := range keys {
			if m.Matches(key) {
				want = append(want, key)
			}
		}
		for i := 0; i < len(keys); {
			if m.Matches(keys[i]) {
				got = append(got, keys[i])
				i++
				continue
			}
			next, end := m.Skip(nil, keys[i])
			if end {
				skipped += len(keys) - i
				break
			}
			to, _ := slices.BinarySearchFunc(keys, next, bytes.Compare)
			if len(next) == 0 {
				to = i + 1
			}
			if to <= i {
				t.Fatalf("%+v.Skip(%x) = %x, which is not after it", m, keys[i], next)
			}
			skipped += to - i - 1
			i = to
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("%+v: by Skip %x, want %x of %x", m, got, want, keys)
		}
	}
	if skipped < 1000 {
		t.Errorf("skipped %d keys in all: Skip does nothing", skipped)
	}
}

func randomKeys(rng *rand.Rand, n, pieces int) [][]byte {
	var keys [][]byte
	for range n {
		keys = append(keys, randomBytes(rng, 1+rng.IntN(1+2*pieces)))
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = []byte{0x00, 0x01, 0x02, 0xff}[rng.IntN(4)]
	}
	return b
}

func randomMatch(rng *rand.Rand, keys [][]byte) *Match {
	m := &Match{Prefix: rng.IntN(3), Key: 1, Value: 1 + rng.IntN(2)}
	for range rng.IntN(3) {
		tag := Tag{Key: randomBytes(rng, m.Key)}
		for range rng.IntN(3) {
			tag.Values = append(tag.Values, randomBytes(rng, m.Value))
		}
		slices.SortFunc(tag.Values, bytes.Compare)
		m.Tags = append(m.Tags, tag)
	}
	slices.SortFunc(m.Tags, func(a, b Tag) int { return bytes.Compare(a.Key, b.Key) })
	m.Tags = slices.CompactFunc(m.Tags, func(a, b Tag) bool { return bytes.Equal(a.Key, b.Key) })
	if rng.IntN(2) == 0 {
		m.Suffixes = [][]byte{}
		for range rng.IntN(4) {
			if key := append([]byte{}, keysAt(rng, keys)...); len(key) >= m.Prefix {
				m.Suffixes = append(m.Suffixes, key[m.Prefix:])
			}
		}
		slices.SortFunc(m.Suffixes, bytes.Compare)
	}
	return m
}

func keysAt(rng *rand.Rand, keys [][]byte) []byte {
	if len(keys) == 0 {
		return nil
	}
	return keys[rng.IntN(len(keys))]
}
