// Package rollup keeps values of longer intervals, each made of all points of a series in its
// interval by one aggregation, in tables of their own: the rollup tables of OpenTSDB 2.4. Its tables of
// pre-aggregates hold values of several series together. Whoever writes them computes them.
//
// The source of the format and of the rules is OpenTSDB's RollupConfig, RollupInterval, RollupUtils and
// TSDB.addAggregatePoint.
package rollup
