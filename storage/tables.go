package storage

// Tables are the names of the four OpenTSDB tables.
type Tables struct{ Data, UID, Meta, Tree string }
