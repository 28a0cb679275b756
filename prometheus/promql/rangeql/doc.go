// Package rangeql evaluates PromQL over blocks of series and steps. Its answers are those of the
// library's engine, bit for bit. It leaves a whole query to that engine if the query needs what no
// operator does, or if a limit comes near. It never answers a part of a query. This package has the engine:
// it chooses how a query is evaluated, compares answers, and explains them.
//
// # Packages
//
// columns is the contract with the storage. block has the values of expressions, floats the arithmetic of
// numbers, binop that of binary operators, annotation what operators annotate. rangefn computes the functions
// of ranges. operator evaluates trees of operators; those of functions, aggregations, joins and histograms
// are in instantfn, aggregate, join and histograms. plan makes the tree of a query, and its answer.
//
// # Blocks and operators
//
// A block is the value of an expression: series, each with a value at some of the steps of a grid. A query
// becomes a tree of operators. An operator computes one block from the blocks below it; equal expressions at
// the same steps share one operator, and selectors with the same matchers share one read. The leaves are
// selectors and functions of their ranges. They are evaluated while their samples are read, and an
// aggregation above a leaf takes one series after the other, so that it never holds its input.
//
// # Sources
//
// A Source finds the series of a Selector and reads them as columns: times and values of one series
// after the other, in parts, on several cores. It bounds the parts, and hands them over in the order
// of the series, because sums of floats depend on it. A Source that cannot give columns returns
// columns.ErrHandOver.
//
// # Annotations
//
// An operator keeps the annotations that it makes itself. When the query is evaluated, they are merged in
// the library's order, which decides on positions and counts.
//
// # Memory, end, counts
//
// Values of blocks, cells of aggregations and points of answers are taken from the budget's account
// in the context before they are allocated. A block gives its memory back when the last operator
// above it has used it; the answer keeps its memory until it has been sent. Memory of the library's
// engine is estimated before it begins (limits.Estimate).
//
// A query ends with its context: operators look at it between series, functions after some
// milliseconds of samples, and sources between parts. The error is the library's for a cancellation
// or a timeout.
//
// Each node keeps the series, samples and time of its block, and each read what it read. They are
// counted for nodes, series and parts, never for samples. Explain makes a tree of them.
package rangeql
