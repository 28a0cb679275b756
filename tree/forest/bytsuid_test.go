package forest

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestText keeps strings of all lengths, some longer than a block, under places of their own.
func TestText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x text
	var kept [][]byte
	places := map[uint32]int{0: -1} // 0 is the place of no string
	for i := range 30_000 {
		n := r.IntN(200)
		switch i % 3000 {
		case 7:
			n = textBlock - 20 + r.IntN(40)
		case 8:
			n = 3 * textBlock
		case 9:
			n = 0
		}
		b := make([]byte, n)
		for j := range min(n, 16) {
			b[j] = byte(r.Uint32())
		}
		place, err := x.add(b)
		if err != nil {
			t.Fatal(err)
		}
		if before, taken := places[place]; taken {
			t.Fatalf("strings %d and %d are both at %d", before, i, place)
		}
		places[place] = i
		kept = append(kept, b)
	}
	for place, i := range places {
		if i >= 0 && !bytes.Equal(x.at(place), kept[i]) {
			t.Fatalf("string %d of %d bytes is not what was added", i, len(kept[i]))
		}
	}
}
