// Package register makes series known: it gives new names their UIDs, shows new series to an
// observer, and writes their rows of tsdb-meta, as far as the limits of new series allow. It stores
// no point.
package register
