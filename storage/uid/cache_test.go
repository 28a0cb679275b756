package uid

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A cache returns only what was put into it, keeps the two directions apart, and is bounded.
func TestCacheIsAMap(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		const limit = 100
		c := newCache(limit)
		forward, reverse := map[string]string{}, map[string]string{}
		for range 3000 {
			name, uid := fmt.Sprint("name-", r.IntN(200)), number(1+r.IntN(200)).uid(3)
			switch r.IntN(5) {
			case 0:
				c.putForward(name, uid, 0)
				forward[name] = uid
			case 1:
				c.putReverse(uid, name, 0)
				reverse[uid] = name
			case 2:
				c.putBoth(name, uid, 0)
				forward[name], reverse[uid] = uid, name
			case 3:
				if got, ok := c.forward(name, 3); ok && got != forward[name] {
					t.Fatalf("seed %d: %s is %x, want %x", seed, name, got, forward[name])
				}
			case 4:
				if got, ok := c.reverse(uid); ok && got != reverse[uid] {
					t.Fatalf("seed %d: %x is %s, want %s", seed, uid, got, reverse[uid])
				}
			}
			if n := c.len(); n > 2*limit+4 {
				t.Fatalf("seed %d: %d entries in both directions, the limit is %d in each", seed, n, limit)
			}
		}
	}
}

// What was put last is there.
func TestCacheKeepsTheLast(t *testing.T) {
	c := newCache(10)
	for i := range 100 {
		name, uid := fmt.Sprint("n", i), number(i+1).uid(3)
		c.putBoth(name, uid, 0)
		if got, ok := c.forward(name, 3); !ok || got != uid {
			t.Errorf("%s is %x, %v", name, got, ok)
		}
		if got, ok := c.reverse(uid); !ok || got != name {
			t.Errorf("%x is %s, %v", uid, got, ok)
		}
	}
}
