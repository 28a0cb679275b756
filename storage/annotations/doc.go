// Package annotations keeps OpenTSDB's annotations: notes of a moment or a span of time, about a
// series or about everything. They are cells of the data table with the bytes of a TSD: those of a
// series stand in the rows of its points, global ones in rows of metric 0. It loses no edit that
// others make at the same time. It never registers a series, and never touches points.
package annotations
