// Package row holds what a row of the data table contains: the points and objects of one series in
// one hour, as cells tell them, and the changes that bring new ones in. It is the one home of
// "newest write wins". It reads and writes no table, and knows no series by name.
package row
