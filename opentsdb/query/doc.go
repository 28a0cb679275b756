// Package query reads OpenTSDB's queries, in JSON and in the parameters of a URL, finds and reads
// the series that they mean, and prints a TSD's answers. Refusals are in a TSD's words.
//
// It knows HTTP only by the parameters of a URL, and computes nothing itself: package aggregate
// does.
package query
