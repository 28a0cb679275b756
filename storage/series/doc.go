// Package series holds the data that the contract of a store is about: series and their refs,
// batches of points on their way in, queries and the points that answer them, and the classes of
// errors. It stores and reads nothing.
package series
