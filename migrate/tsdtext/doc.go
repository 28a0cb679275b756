// Package tsdtext writes what a store has as OpenTSDB's import text, and reads such text into a store:
// points, histograms, rolled up values and annotations. It also prints rows and answers as the commands
// of a TSD do. It never speaks HTTP and opens no store.
package tsdtext
