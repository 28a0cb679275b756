package storage

import (
	"time"
)

// NamedCount is how many there are of something with a stored name.
type NamedCount struct {
	Key   string // metric or tag key
	Value string // tag value; of tags alone
	Count int
}

// Cardinality tells how many series a store has and what they have most of. Lists are descending.
type Cardinality struct {
	Series, Metrics, Tags int // Tags: pairs of key and value
	Rows                  int // open hours in memory
	// First and Last are the days in which there may be points, in milliseconds; where other
	// processes write that is not known, and both are 0.
	First, Last int64

	SeriesByMetric, ValuesByKey, BytesByKey, SeriesByTag []NamedCount
}

// SeriesIndex tells where the store learns which series exist.
type SeriesIndex string

// Where the store learns of series.
const (
	// IndexAuto takes tsdb-meta, and the row keys of the data table for what tsdb-meta may lack:
	// other writers (a TSD with its meta tracking off, which is the default) leave no row there.
	IndexAuto SeriesIndex = "auto"
	// IndexMeta takes tsdb-meta alone: right where every writer keeps it, and the fastest.
	IndexMeta SeriesIndex = "meta"
)

// SeriesShares is how many of some series have a metric, a tag key, a tag: what most of them have, descending.
type SeriesShares struct {
	Series int

	ByMetric, ByKey, ByTag []NamedCount
}

// A Growth tells when the series were registered that there are.
type Growth struct {
	// Since is when this process had read which series there are, if others write to the tables too: of those that
	// were there before, the day is not known. Zero: of all series it is.
	Since  time.Time
	Series int // now
	// ByDay are the series registered in each day that was asked for, Unknown those of which the day is
	// not known.
	ByDay   []int
	Unknown int
	// Registered are those of the days from one to another.
	Registered SeriesShares
}

// A GrowthQuery asks for days, which are numbered since 1970 (UTC).
type GrowthQuery struct {
	First, Last int // of ByDay, inclusive
	From, To    int // of Registered, inclusive
	Limit       int // of its lists
}

// DayOf returns the number of the day of a time.
func DayOf(t time.Time) int { return int(t.UnixMilli() / (24 * time.Hour).Milliseconds()) }

// A Silence tells which series have no points since a day.
type Silence struct {
	// Known is false on tables that other processes write to: all below is 0.
	Known  bool
	Series int // now
	Never  int // series without points at all
	Silent SeriesShares
	// Examples are some of the silent series, with the last day in which each may have points; -1: none.
	Examples []SilentSeries
}

// A SilentSeries is a series without points since a day.
type SilentSeries struct {
	Series
	Last int
}

// A SeriesScan tells which series EachTSUID goes over.
type SeriesScan struct {
	// From is the least TSUID to visit, which need not exist; nil begins with the first series.
	From []byte
	// Rows means that the row keys of all metrics are read, not only those of metrics that
	// tsdb-meta does not have at all. It is for metrics that are shared by writers with and without
	// tsdb-meta, and is as slow as reading the data table.
	Rows bool
}
