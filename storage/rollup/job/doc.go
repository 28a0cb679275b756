// Package job fills rollup tables from points: sum, count, min and max of each closed interval of each
// series that a rule names. Intervals whose points change later are filled anew.
//
// How late points and deletions are noticed depends on the engine. A process that has the tables to
// itself notes the hours of late points before these are there, in memory and in tsdb-tree (late.go). On
// shared tables, others write too: the filler looks for cells with new stamps, and for deletions in the
// journal (shared.go). Its state is in tsdb-tree as well (state.go), so that it goes on there after any
// end of the process.
package job
