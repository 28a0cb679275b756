package own

import "crypto/sha256"

// Leases with names lie in tsdb-tree, as Lease does.
const (
	namedLeasePrefix = "\x00\x00tsdbridge.leases:"
	// NamedLeaseQualifier is the column of a lease with a name.
	NamedLeaseQualifier = "tsdbridge.lease"
)

// NamedLeaseKey is the row of the lease with a name, which may have any length.
func NamedLeaseKey(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return append([]byte(namedLeasePrefix), sum[:]...)
}
