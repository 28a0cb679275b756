package kv

import (
	"fmt"
	"slices"
)

// A Moment is a time in the life of tables. Files that are kept beside the tables, and speak of their
// series, have the moment at which they were written last.
type Moment struct {
	Store      uint64 // the name of the tables
	Start      uint64 // Life.Starts; 0: none could be recorded, the disk took no writes
	Generation Generation
}

// A Life is what tables record of their own past.
type Life struct {
	Store              uint64
	Generation, Before Generation
	// Starts has a number for each process that wrote such files, and a new one after each copy of the
	// tables, drawn at random, the latest last. So two copies that both went on have different ones.
	Starts []uint64
	// Adopts means that no process has written such files yet that name the tables: those of earlier
	// versions may be theirs.
	Adopts bool
}

// Now returns the present moment.
func (l Life) Now() Moment {
	m := Moment{Store: l.Store, Generation: l.Generation}
	if n := len(l.Starts); n > 0 {
		m.Start = l.Starts[n-1]
	}
	return m
}

// Differs tells why a file of a moment does not belong to the tables; empty: it does.
func (l Life) Differs(m Moment) string {
	g := m.Generation
	switch {
	case m.Store == 0:
		return "it does not name an embedded store"
	case m.Store != l.Store:
		return fmt.Sprintf("it is that of another store (%016x; this one is %016x)", m.Store, l.Store)
	case g.Number > l.Generation.Number:
		return fmt.Sprintf("the tables are older than it: they are of generation %v, it has seen %v", l.Generation, g)
	case g.Number == l.Generation.Number && g != l.Generation, g.Number == l.Before.Number && g != l.Before:
		return fmt.Sprintf("it is that of a copy of this store that went on by itself: generation %v, the tables have %v", g, l.Generation)
	case m.Start != 0 && !slices.Contains(l.Starts, m.Start):
		return "it is that of a copy of this store that went on by itself, or the tables are those of a backup that is older than it"
	}
	return ""
}
