package kvtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A change is a put or a deletion of a row that is changed at random.
type change struct {
	qualifier string // empty: of a deletion, the whole row
	value     string // of a put; empty: a deletion
	time      int64
	exact     bool
}

func (c change) hides(put change) bool {
	return (c.qualifier == "" || c.qualifier == put.qualifier) && (put.time == c.time || put.time < c.time && !c.exact)
}

// testRandom changes many rows at random, with few different stamps, so that they collide, and
// compares with a simple implementation of the contract.
func (v *versionedSuite) testRandom() {
	const rows, changes = 150, 9
	rng := rand.New(rand.NewPCG(3, 5))
	made := make([][]change, rows)
	key := func(i int) string { return fmt.Sprintf("random/%03d", i) }
	for n := range changes {
		var step []kv.Mutation
		for i := range made {
			c := randomChange(rng, n)
			made[i] = append(made[i], c)
			if c.exact {
				v.exact(key(i), c)
				continue
			}
			step = append(step, c.mutation(v.key(key(i))))
		}
		v.apply(step...)
	}
	for i := range made {
		h := v.history(key(i))[0]
		read, hidden, deletes := expected(made[i])
		got := []string{cellTexts(h.Cells, true), hiddenTexts(h.Hidden), sortedWords(tombstoneTexts(h.Deletes))}
		if want := []string{read, hidden, deletes}; !slices.Equal(got, want) {
			v.Fatalf("%+v: read, hidden, deletions %q, want %q", made[i], got, want)
		}
	}
}

func randomChange(rng *rand.Rand, n int) change {
	c := change{qualifier: []string{"q", "r"}[rng.IntN(2)], time: 1 + rng.Int64N(8)}
	switch rng.IntN(10) {
	case 0:
		c.qualifier = ""
	case 1, 2:
	case 3:
		c.exact = true
		c.qualifier = c.qualifier[rng.IntN(2):]
	default:
		c.value = fmt.Sprint("v", n)
	}
	return c
}

func (c change) mutation(key []byte) kv.Mutation {
	m := kv.Mutation{Key: key}
	switch {
	case c.value != "":
		m.Puts = []kv.Put{{Qualifier: []byte(c.qualifier), Value: []byte(c.value), Time: c.time}}
	case c.qualifier != "":
		m.Deletes = []kv.Delete{{Qualifier: []byte(c.qualifier), Time: c.time}}
	default:
		m.DeleteRow, m.RowTime = true, c.time
	}
	return m
}

func (v *versionedSuite) exact(key string, c change) {
	var qualifier []byte
	if c.qualifier != "" {
		qualifier = []byte(c.qualifier)
	}
	v.owner.DeleteExact(v.T, v.key(key), qualifier, c.time)
}

// expected returns what is read, hidden and deleted after some changes.
func expected(changes []change) (read, hidden, deletes string) {
	var dead, puts, left []change
	for _, c := range changes {
		same := func(o change) bool { return o.qualifier == c.qualifier && o.time == c.time && o.exact == c.exact }
		if c.value == "" {
			dead = append(slices.DeleteFunc(dead, same), c)
		} else {
			puts = append(slices.DeleteFunc(puts, same), c)
		}
	}
	slices.SortFunc(puts, func(a, b change) int {
		return cmp.Or(strings.Compare(a.qualifier, b.qualifier), cmp.Compare(b.time, a.time))
	})
	for _, p := range puts {
		deleted := slices.ContainsFunc(dead, func(d change) bool { return d.hides(p) })
		newer := slices.ContainsFunc(left, func(l change) bool { return l.qualifier == p.qualifier })
		if deleted || newer {
			hidden += fmt.Sprintf(" %s=%s@%d", p.qualifier, p.value, p.time)
		} else {
			left = append(left, p)
			read += fmt.Sprintf(" %s=%s@%d", p.qualifier, p.value, p.time)
		}
	}
	for _, d := range dead {
		sign := "-"
		if d.exact {
			sign = "!"
		}
		deletes += fmt.Sprintf(" %s%s@%d", sign, d.qualifier, d.time)
	}
	return strings.TrimSpace(read), strings.TrimSpace(hidden), sortedWords(deletes)
}

func sortedWords(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}
