// Package load makes the data that the benchmarks, the kill drill and the soak send, and sends it:
// the same shape always gives the same bytes. The series look like those of node_exporter, 500 a
// host. It knows the wire forms of the protocols and no server.
package load
