package ingest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

// findAll looks keys up in one run.
func findAll(c *Cache, keys ...string) []storage.Ref {
	var l Lookup
	c.Begin(&l)
	defer l.End()
	var refs []storage.Ref
	for _, k := range keys {
		refs = append(refs, l.Find([]byte(k)))
	}
	return refs
}

func wantRefs(t *testing.T, got []storage.Ref, want ...storage.Ref) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestCacheFindsInAnyOrder(t *testing.T) {
	c := NewCache(100)
	c.Add([]string{"a", "b", "c", "bad"}, []storage.Ref{1, 2, 3, 0})
	for range 2 { // the second time along the chain
		wantRefs(t, findAll(c, "a", "b", "c", "bad", "a"), 1, 2, 3, 0, 1)
	}
	wantRefs(t, findAll(c, "a", "c", "b", "b", "", "c"), 1, 3, 2, 2, 0, 3)
	wantRefs(t, findAll(c, "a", "b", "c"), 1, 2, 3)
}

func TestCacheForgetsUnusedKeys(t *testing.T) {
	c := NewCache(4)
	c.Add([]string{"a", "b"}, []storage.Ref{1, 2})
	c.Add([]string{"c"}, []storage.Ref{3}) // a and b are old now
	wantRefs(t, findAll(c, "a", "c"), 1, 3)
	c.Add([]string{"d"}, []storage.Ref{4}) // b is dropped; a and c were young
	wantRefs(t, findAll(c, "a", "b", "c", "d"), 1, 0, 3, 4)
}

func TestCacheBoundsBytes(t *testing.T) {
	c := NewCache(4)
	long := strings.Repeat("x", 2*usualKey)
	c.Add([]string{"1" + long, "2" + long, "3" + long}, []storage.Ref{1, 2, 3})
	wantRefs(t, findAll(c, "1"+long, "2"+long, "3"+long), 0, 2, 3)
}

// The entries in memory stay bounded while many goroutines ask for more series than fit.
func TestCacheConcurrently(t *testing.T) {
	const limit = 64
	c := NewCache(limit)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				key := fmt.Sprintf("series %d", (i*(g+1))%100)
				want := storage.Ref(i*(g+1)%100 + 1)
				switch got := findAll(c, key, key); {
				case got[0] == 0:
					c.Add([]string{key}, []storage.Ref{want})
				case got[0] != want:
					t.Errorf("%s is %d, want %d", key, got[0], want)
				}
			}
		})
	}
	wg.Wait()
	if n := c.len(); n > limit {
		t.Errorf("%d entries, want at most %d", n, limit)
	}
}

// len returns the number of entries. It needs mu.
func (c *Cache) len() int { return c.young.keys.Len() + c.old.keys.Len() }
