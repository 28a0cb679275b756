package kv

// A Table is a table with its column families.
type Table struct {
	Name     string
	Families []string
}
