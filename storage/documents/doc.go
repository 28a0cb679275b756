// Package documents keeps the documents that OpenTSDB has of metrics and series: the metadata of a
// metric in its UIDMeta, and keys in the custom map of a series' TSMeta. It loses no edit that
// others make at the same time. It assigns no UID and registers no series by itself.
package documents
