// Package putline has what OpenTSDB's puts and the lines of its imports have in common: a point as text, its
// numbers, times, names and tags, and what a TSD says of those that it refuses. It stores nothing.
package putline
