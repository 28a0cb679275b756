// Package expression computes with the series of queries as a TSD does: the requests of
// /api/query/exp, whose expressions join the series of metrics by their tags, and the functions of
// /api/query/gexp in Graphite's manner. Refusals are in a TSD's words.
//
// It reads no series itself: the caller gets those of the sub queries that a request needs.
package expression
