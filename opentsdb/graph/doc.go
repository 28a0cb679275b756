// Package graph draws the pictures of /q: lines over time, with axes on both sides, a grid and a key. A TSD
// runs gnuplot with the texts of the request; here nothing but this package sees them, and what it draws is
// bounded by Options.
package graph
