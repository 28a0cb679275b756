// Package ingest brings points of every protocol into a store. It finds series by the bytes that a
// protocol names them with, asks the store once for those that it does not know, keeps what the
// store refuses apart from what it cannot take now, and appends what comes at once together.
//
// It knows no protocol, never translates a name and never answers a client.
package ingest
