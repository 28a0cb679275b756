package storage

import (
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/read"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/series"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

type ( // The data of the contract; see packages series, read, catalog, documents and write.
	Tag       = series.Tag
	Series    = series.Series
	Ref       = series.Ref
	Kind      = series.Kind
	Form      = series.Form
	Object    = series.Object
	Batch     = series.Batch
	Filter    = series.Filter
	Found     = series.Found
	Query     = series.Query
	Points    = series.Points
	NewSeries = series.NewSeries

	Plan        = read.Plan
	SeriesScan  = catalog.SeriesScan
	SeriesIndex = catalog.SeriesIndex
	Cardinality = catalog.Cardinality
	NamedCount  = catalog.NamedCount
	Metadata    = documents.Metadata
	CustomEdit  = documents.CustomEdit

	Observer      = register.Observer
	WriteMode     = write.Mode
	BufferOptions = write.BufferOptions
	SeriesLimits  = register.SeriesLimits
)

// Where a store learns which series exist; see package catalog.
const (
	IndexAuto = catalog.IndexAuto
	IndexMeta = catalog.IndexMeta
)

// When a point is durable; see package write.
const (
	WriteThrough  = write.Through
	WriteBuffered = write.Buffered
)

// Bounds of what can be stored; see package series.
const (
	MaxNameLength = series.MaxNameLength
	MaxTags       = series.MaxTags
	MaxTime       = series.MaxTime
)

// The kinds of objects; see package series.
const (
	KindHistogram = series.KindHistogram
	KindExemplar  = series.KindExemplar
	KindStartTime = series.KindStartTime
)

// The forms of values; see package series.
const (
	FormFloat   = series.FormFloat
	FormInteger = series.FormInteger
	FormDouble  = series.FormDouble
	FormMillis  = series.FormMillis
)
