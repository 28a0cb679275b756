// Package aggregate computes what a TSD computes of the points of series: it downsamples, turns
// values into rates, and aggregates the members of a group, with a TSD's interpolations and its
// arithmetic of integers. Equal points give results that are equal in every bit.
//
// It knows no store, no names and no request.
package aggregate
