// Package blocks reads the data directory of a Prometheus, and blocks of Thanos and Mimir, without
// changing it, and writes blocks. It uses the packages of the Prometheus module, stores nothing and
// sends nothing.
package blocks
