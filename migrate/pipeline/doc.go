// Package pipeline reads files of points, block by block, and has something store them: several
// files at once, each in its order. It remembers how much of each file is durable, so an import that
// was interrupted goes on where it was, and it tells how far it is. It knows no format but that of
// lines of text, and no store.
package pipeline
