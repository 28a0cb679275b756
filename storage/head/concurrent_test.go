package head

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	senders      = 4
	sentSeries   = 300 // of each sender: ids s, s+senders, …, so that senders meet in every shard
	sentSteps    = 120
	sentInterval = 45_000 // two hours of steps
)

// valueAt returns a value that identifies its series and time.
func valueAt(id uint32, time int64) float64 { return float64(int64(id)*1e7+(time-begin)/1000) / 8 }

// table is where rows are put; a lock makes it slow.
type table struct {
	mu   sync.Mutex
	rows map[uint32]map[int64]float64 // by series and time
}

func (tb *table) put(s *Sealed) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, r := range s.Rows {
		if tb.rows[r.ID] == nil {
			tb.rows[r.ID] = map[int64]float64{}
		}
		for _, p := range r.Points {
			tb.rows[r.ID][int64(r.Base)*1000+int64(p.Offset)] = p.Float()
		}
	}
}

// TestReadersSeeWhatWasAppended runs senders, flushes that fail half of the time, and readers at
// once. A reader that reads the head first and the table second finds every point that was appended
// before, with its own value.
func TestReadersSeeWhatWasAppended(t *testing.T) {
	h := New(DefaultOptions())
	tb := &table{rows: map[uint32]map[int64]float64{}}
	var acked [senders]atomic.Int64 // steps that are appended
	var sending, others sync.WaitGroup
	var over atomic.Bool
	for s := range senders {
		sending.Go(func() { send(h, s, &acked[s]) })
	}
	others.Go(func() { flush(h, tb, rand.New(rand.NewPCG(5, 5)), &over) })
	others.Go(func() { flush(h, tb, rand.New(rand.NewPCG(6, 6)), &over) })
	for n := range uint64(2) {
		others.Go(func() {
			rng := rand.New(rand.NewPCG(7, n))
			for !over.Load() {
				s := rng.IntN(senders)
				if !readBack(t, h, tb, uint32(s+senders*rng.IntN(sentSeries)), acked[s].Load()) {
					return
				}
			}
		})
	}
	sending.Wait()
	over.Store(true)
	others.Wait()
	for id := range uint32(senders * sentSeries) {
		if !readBack(t, h, tb, id, sentSteps) {
			return
		}
	}
	for s := range h.Seal(Everything()) {
		s.Drop()
	}
	if st := h.Stats(); st.Rows != 0 || st.Bytes != 0 || st.SealedBytes != 0 {
		t.Errorf("an empty head has %+v", st)
	}
}

// send appends step after step; every third step comes after the one that follows it.
func send(h *Head, sender int, acked *atomic.Int64) {
	for step := int64(0); step < sentSteps; step += 3 {
		for _, n := range []int64{step, step + 2, step + 1} {
			var b Batch
			for i := range uint32(sentSeries) {
				id, time := uint32(sender)+senders*i, begin+n*sentInterval
				b.IDs, b.Times, b.Values = append(b.IDs, id), append(b.Times, time), append(b.Values, valueAt(id, time))
			}
			h.Append(&b, uint64(n))
		}
		acked.Store(step + 3)
	}
}

func flush(h *Head, tb *table, rng *rand.Rand, over *atomic.Bool) {
	for !over.Load() {
		for s := range h.Seal(Policy{EndedBefore: begin + rng.Int64N(4*hour), Rows: 100}) {
			if rng.IntN(2) == 0 {
				s.Keep()
				continue
			}
			tb.put(s)
			s.Drop()
		}
	}
}

// readBack reports whether a series has all its steps.
func readBack(t *testing.T, h *Head, tb *table, id uint32, steps int64) bool {
	var p Points
	h.Read(id, begin, begin+3*hour, &p)
	got := map[int64]float64{}
	for i, time := range p.Times {
		if i > 0 && time <= p.Times[i-1] {
			t.Errorf("series %d: time %d after %d", id, time, p.Times[i-1])
			return false
		}
		got[time] = p.Values[i]
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for step := range steps {
		time := begin + step*sentInterval
		v, ok := got[time]
		if !ok {
			v, ok = tb.rows[id][time]
		}
		if want := valueAt(id, time); !ok || v != want {
			t.Errorf("series %d, step %d of %d: %v, %v, want %v", id, step, steps, v, ok, want)
			return false
		}
	}
	return true
}
