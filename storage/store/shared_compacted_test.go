package store_test

import (
	"fmt"
	"testing"
)

// A TSD compacts a row, for the second time, while an adapter holds a correction of one of its
// points that was acknowledged before. Whatever happens to the row before the adapter puts the
// correction, the correction stays.
func TestHeldCorrectionsOfCompactedRows(t *testing.T) {
	const held, through = 0, 2 // of the adapters of a world
	compact := func(w *world) { w.clock.Add(1000); w.compact(w.keys[0]) }
	for _, c := range []struct {
		name string
		run  func(w *world)
	}{
		{"under way", compact},
		{"over", func(w *world) { compact(w); w.finish() }},
		{"others corrected while it was under way", func(w *world) {
			compact(w)
			w.acknowledge(w.adapters[through], 0, 7.5)
			w.clock.Add(100)
			w.finish()
		}},
		{"all others corrected one by one", func(w *world) {
			compact(w)
			w.finish()
			w.acknowledge(w.adapters[through], 1000, 7.5)
			w.acknowledge(w.adapters[through], 0, 8.5)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 1, 0)
			w.putSeconds(1, 3, 1.5)
			compact(w)
			w.clock.Add(1000)
			w.finish()
			w.putSeconds(0, 1, 1.5)
			w.clock.Add(1000)
			w.acknowledge(w.adapters[held], 2000, 4.5)
			c.run(w)
			w.clock.Add(1000)
			w.adapters[held].flush()
			w.clock.Add(1000)
			w.finish()
			w.check()
		})
	}
}

// A TSD's compaction deletes a cell by its qualifier, which the cell of an earlier compaction had as
// well. An adapter replaced the earlier one before its sources were deleted, so nothing shows any
// more that it was a compaction's: its points count as written with it. It was no source of the
// second compaction, so a correction from before the first one stays.
func TestSecondCompactionWithTheSameQualifier(t *testing.T) {
	const held, through = 0, 2
	w := newWorld(t, 1, 0)
	w.putSeconds(1, 3, 1.5)
	w.clock.Add(1000)
	w.acknowledge(w.adapters[held], 1000, 4.5)
	w.clock.Add(1000)
	w.compact(w.keys[0])
	w.acknowledge(w.adapters[through], 3000, 5.5)
	w.clock.Add(1000)
	w.finish()
	w.acknowledge(w.adapters[through], 3000, 6.5) // 1000 and 2000 have a cell of their own again
	w.clock.Add(1000)
	w.compact(w.keys[0])
	w.clock.Add(1000)
	w.finish()
	w.adapters[held].flush()
	w.check()
}

// A value that is written again while a TSD's compaction is under way is as new as the last write.
func TestSameValueDuringCompaction(t *testing.T) {
	const held, through = 0, 2
	w := newWorld(t, 1, 0)
	w.putSeconds(1, 3, 0.1)
	w.clock.Add(1000)
	w.acknowledge(w.adapters[held], 1000, 4.5)
	w.clock.Add(1000)
	w.compact(w.keys[0])
	w.acknowledge(w.adapters[through], 1000, 0.1)
	w.clock.Add(1000)
	w.finish()
	w.adapters[held].flush()
	w.check()
}

// A TSD puts a value next to the cell that has it already, and its compaction deletes what it put:
// the value is as new as that all the same, and never lost.
func TestSameValueNextToItsCell(t *testing.T) {
	const held, through = 0, 2
	end := func(w *world) { w.clock.Add(1000); w.finish(); w.clock.Add(1000) }
	for _, c := range []struct {
		name string
		run  func(w *world)
	}{
		{"correction flushed after the compaction", end},
		{"correction flushed during the compaction", func(w *world) { w.adapters[held].flush(); end(w) }},
		{"row written during the compaction", func(w *world) { w.acknowledge(w.adapters[through], 2000, 7.5); end(w) }},
		{"next compaction puts all together", func(w *world) {
			end(w)
			w.putSeconds(5, 6, 1.5)
			w.clock.Add(1000)
			w.compact(w.keys[0])
			end(w)
		}},
	} {
		for _, ages := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cell with ages %v", c.name, ages), func(t *testing.T) {
				w := newWorld(t, 1, 0)
				if ages {
					for offset := range int64(3) {
						w.clock.Add(100)
						w.acknowledge(w.adapters[1], offset*1000, 1.5)
					}
					w.adapters[1].flush()
				} else {
					w.putSeconds(0, 3, 1.5)
					w.clock.Add(1000)
					w.compact(w.keys[0])
					end(w)
				}
				w.clock.Add(1000)
				w.acknowledge(w.adapters[held], 1000, 4.5)
				w.clock.Add(1000)
				w.putSeconds(1, 2, 1.5)
				w.clock.Add(1000)
				w.compact(w.keys[0])
				c.run(w)
				w.adapters[held].flush()
				w.check()
			})
		}
	}
}

// A point that was put after a cell with ages counts as newer than what adapters have held since
// before, though the cell is gone and HBase has forgotten it.
func TestAgesOfForgottenCells(t *testing.T) {
	const held, other, through = 0, 1, 2
	w := newWorld(t, 1, 0)
	for offset := range int64(3) { // a cell with ages
		w.clock.Add(100)
		w.acknowledge(w.adapters[other], offset*1000, 1.5)
	}
	w.adapters[other].flush()
	w.clock.Add(1000)
	w.acknowledge(w.adapters[held], 0, 2.5)
	w.clock.Add(1000)
	w.replace(w.adapters[through], 3, 3.5)
	w.db.Flush()
	w.clock.Add(1000)
	w.adapters[held].flush()
	w.check()
}
