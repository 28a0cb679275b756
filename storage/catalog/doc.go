// Package catalog is the catalogue of series: which there are, by their names, tags and active
// days, how they are called, and which are registered in tsdb-meta. It reads tables and the index
// of series. It assigns no UID, and reads and writes no point.
package catalog
