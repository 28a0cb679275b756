// Package put takes points, histograms and rolled up values by OpenTSDB's telnet and HTTP, as a TSD 2.4 does,
// with its statuses and texts. It never opens a port, answers no queries, and translates no name.
package put
