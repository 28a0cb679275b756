// Package retention deletes points that are older than a rule of their series allows. It finds series
// by the catalogue and deletes by the store's one deletion. It never looks at rows, and it keeps
// series whose points are gone.
package retention
