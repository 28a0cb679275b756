// Package own has the records that tsdbridge adds to the tables of OpenTSDB: objects, ages, deletions,
// leases, elections, the layout, the marks of rollups. OpenTSDB ignores and keeps them; README.md of
// package schema draws them.
//
// It is pure, as package schema is.
package own
