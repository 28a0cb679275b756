// Package load generates the data of the benchmarks, the kill drill and the soak, and sends it. The
// same shape always gives the same bytes. The series resemble those of node_exporter, 500 for each
// host. The package knows the wire formats of the protocols, and nothing about particular servers.
package load
