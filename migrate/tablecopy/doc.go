// Package tablecopy copies what a store holds into another one, whatever engines, UIDs, widths and salts they have: points,
// objects, annotations, series, documents, trees, slots of archives and rolled up values. What goes over are names and
// values in blocks; UIDs, row keys and branches of trees are made anew. It remembers what is durable, so that a copy goes
// on where it was interrupted. It opens no store and knows no flag.
package tablecopy
